"""What was typed after `mipselect fit` as a plan, which reads no row; its draw is a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rich.console import Console

from mipselect import privacy, regression
from mipselect.blocks.scores import LOSS
from mipselect.cli import output
from mipselect.cli.inputs import ProblemSource
from mipselect.cli.options import option_named
from mipselect.cli.releasing import ReleasePlan, default_method
from mipselect.cli.report import released_features
from mipselect.cli.select import LOSS_OF_CLASSES, LOSS_OF_NUMBERS, FitArguments
from mipselect.cli.start import say
from mipselect.errors import InvalidInput, about
from mipselect.mechanisms.base import Mechanism
from mipselect.privacy.guarantee import Guarantee, amount
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData
from mipselect.regression import plan, ranges
from mipselect.regression.evaluation import Measuring, kept_apart_of_table
from mipselect.reports.release_report import ReportedRelease
from mipselect.search.progress import ProgressCallback
from mipselect.selectors import BY_NAME
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.tables import TableSchema, numbers
from mipselect.tables.public_map import TableQuestion
from mipselect.validation import checked_integer, listed


def plan_of(arguments: FitArguments) -> tuple[FitPlan, ProblemSource]:
    """Check all that can be checked before a row is drawn from, and divide ε.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded, RelationMismatch
        From the ledger.
    """
    table, drawing, size = arguments.table, arguments.drawing, arguments.support_size
    schema, ledger = table.described(arguments), drawing.charge.opened()
    if (size is None) == (arguments.features_of is None):
        raise InvalidInput("--support-size or --features-of must be given: one of them")
    two = schema is not None and len(schema.field(table.target, "target").category_names) == 2
    private = schema is None or arguments.ranges is not None
    fitter = _fitter(arguments, ledger, of_classes=two, private=private)
    rows, question = _table(arguments, schema)
    released, read = None, table.files
    if arguments.features_of is not None:
        released = released_features(arguments.features_of, table.target)
        question, read = _about(question, released, table.data), [*read, arguments.features_of]
    p = len(question.without_ranges.features)
    size = p if size is None else checked_integer(size, f"{table.data}: --support-size", 1, p)
    fitter.selector.set_params(n_features_to_select=size)
    drawn = fitter.plan_of_table(question, drawing.charge.source())
    made = FitPlan(
        head={"command": "fit", **table.head},
        drawing=drawing,
        ledger=ledger,
        method=drawn.method,
        fitter=fitter,
        drawn=drawn,
        rows=rows,
        released=released,
    )
    if drawn.ranges is not None:
        drawn_with = "are drawn with a part of epsilon, and released"
        say(f"note: ranges that nobody stated {drawn_with}. {ranges.ADVICE}.")
    of_rows = drawn.scored(rows).problem, lambda: drawn.scored(made.fitted[0]).made()
    return made, ProblemSource.of_made(table.data, *of_rows, read)


def _fitter(
    arguments: FitArguments, ledger: privacy.Ledger | None, *, of_classes: bool, private: bool
) -> regression.SelectThenRegress:
    """Make what draws features and coefficients, which divides ε; its size is still to be set.

    Raises
    ------
    InvalidInput
        Naming the option.
    """
    drawing, score = arguments.drawing, arguments.scores.score
    relation = drawing.charge.relation_of(ledger)
    if private and (score == LOSS or relation != "replace-one"):
        raise InvalidInput(
            "ranges that nobody stated can be drawn only where features are drawn from blocks, "
            "under replace-one: leave out --score loss and --relation add-remove, or state the "
            "ranges, by --schema (begin one with 'mipselect describe')"
        )
    intercept = not arguments.question.no_intercept
    shared: dict[str, Any] = {"relation": relation, "fit_intercept": intercept}
    loss = arguments.model_loss or (LOSS_OF_CLASSES if of_classes else LOSS_OF_NUMBERS)
    regressor: Any = regression.ObjectivePerturbationClassifier(**shared)
    if loss != LOSS_OF_CLASSES:
        regressor = regression.ObjectivePerturbationRegressor(loss=loss, **shared)
    with about("--model-loss"):
        regressor.check()
        if of_classes != (loss == LOSS_OF_CLASSES):
            kind, other = ("a number", "two classes") if of_classes else ("two classes", "a number")
            raise InvalidInput(f"{loss} is for a target of {kind}; this one is {other}")
    selector: Any = BY_NAME[default_method(ledger)](score=score)  # type: ignore[call-arg]
    fitter = regression.SelectThenRegress(
        selector.check(option_named),
        regressor,
        epsilon=drawing.epsilon,
        quality_share=arguments.quality_share,
        ranges=ranges.PRIVATE if private else ranges.PUBLIC,
    )
    return fitter.check(option_named)


def _table(arguments: FitArguments, schema: TableSchema | None) -> tuple[Any, TableQuestion]:
    """Return what rows are read from and what is asked of them.

    Of a table with a schema nothing is read. One of numbers is read whole, but for a dry run its
    header alone.
    """
    table = arguments.table
    if schema is not None:
        return table.source, arguments.question.question_about(schema, table.target)
    named = table.source, table.target, table.chosen
    rows = None if arguments.drawing.dry_run else numbers.number_table(*named)
    names = numbers.header(*named) if rows is None else rows.column_names
    with about(table.data):
        schema = TableSchema.of_numbers(dict.fromkeys([*names, table.target]))
        return rows, TableQuestion(schema, table.target)


def _about(question: TableQuestion, released: ReportedRelease, data: str) -> TableQuestion:
    """Return the question about the features of a release and no other.

    Raises
    ------
    InvalidInput
        For a feature that the table has not, or that --never leaves out.
    """
    known = {encoder.field.name for encoder in question.without_ranges.features}
    names = (*released.names, *released.always)
    for name in names:
        if name not in known.union(question.always):
            raise InvalidInput(
                f"{released.name}: its feature {name!r} is none of {data} here; features: "
                f"{listed(sorted(known))}"
            )
    return question.about({*names, *question.always, question.target})


@dataclass(frozen=True, kw_only=True, eq=False)
class FitPlan(ReleasePlan):
    """A selection, and a model on what it selects.

    Attributes
    ----------
    fitter : SelectThenRegress
    drawn : TablePlan
    rows : object
        What rows are read from; None where no row was read.
    released : ReportedRelease or None
        Where the features are from, if they were not to be drawn.
    """

    drawn_is = "model"

    fitter: regression.SelectThenRegress
    drawn: plan.TablePlan
    rows: Any = field(repr=False)
    released: ReportedRelease | None

    def recorded(self, problem: Problem, n: int | None) -> dict[str, Any]:
        """See `ReleasePlan`; with parts, and the model."""
        drawn, one, target = self.drawn, self.released, self.drawn.public.target
        selects = not isinstance(self.method, AllFeaturesSelector)
        share = plan.SHARE_OF_OTHERS if drawn.blocks is None else plan.SHARE_OF_BLOCKS
        is_open = drawn.ranges is not None and drawn.public.target_name in drawn.ranges.open
        regressor: Any = drawn.model_on(drawn.widest)
        return {
            **super().recorded(problem, n),
            "selection_share": share if selects else 0.0,
            "target_scale": None if is_open else target.scale,
            "target_offset": None if is_open else target.offset,
            "model_loss": regressor.loss,
            "model_coef_bound": regressor.coef_bound,
            "ranges": None if drawn.ranges is None else self.fitter.ranges,
            "quality_share": self.fitter.quality_share,
            "features_of": None if one is None else {"file": one.name, "sha256": one.digest},
        }

    def doubts(self, n: int | None) -> list[str]:
        """See `ReleasePlan`."""
        return [*super().doubts(n), *filter(None, [self.drawn.doubt(n)])]

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """See `ReleasePlan`."""
        return replace(self.drawn.promised(stated), private=not self.seeded)

    def parts(self, total: Guarantee) -> Mapping[str, Guarantee]:
        """See `ReleasePlan`: the selection, ranges that are drawn, and the model."""
        drawn = self.drawn
        ranged = {} if drawn.ranges is None else {"guarantee_of_ranges": drawn.ranges.guarantee}
        return {
            "guarantee": total,
            "guarantee_of_selection": self.method.guarantees[drawn.regressor.relation],
            **ranged,
            "guarantee_of_model": drawn.model_promise,
        }

    def price(self, total: Guarantee) -> str:
        """See `ReleasePlan`."""
        features = f"the features by {self.method.name}"
        if self.released is not None:
            features = f"the features, which {self.released.name} released"
        what = {
            "guarantee_of_selection": features,
            "guarantee_of_ranges": "ranges that nobody stated",
            "guarantee_of_model": "where most values lie within the ranges, and the coefficients",
        }
        parts = self.parts(total)
        return ", ".join(f"{amount(parts[key])} for {what[key]}" for key in what if key in parts)

    @cached_property
    def fitted(self) -> tuple[Any, Measuring]:
        """Rows that a model is fitted to, and what measures it on those that are kept apart."""
        share, relation = self.fitter.quality_share, self.drawn.regressor.relation
        return kept_apart_of_table(self.rows, self.drawn.question, share, relation, self.source)

    def law(self, data: StoredData, progress: ProgressCallback) -> Mechanism[Any]:
        """See `ReleasePlan`."""
        return self.drawn.law(data.made(), self.source, progress)

    def draw(self, law: Mechanism[Any], data: StoredData, ledger: privacy.Ledger | None) -> Any:
        """See `ReleasePlan`."""
        rows, measuring = self.fitted
        model_of, sources = self.drawn.model_of(rows, data.made()), (self.source,) * 2
        private = not self.seeded
        return measuring(self.drawn.draw(law, model_of, ledger, sources, private=private))

    def entries(self, release: Any) -> dict[str, Any]:
        """See `ReleasePlan`."""
        return {
            "model": release.to_dict(),
            "in_units": release.in_units.to_dict(),
            **({"drawn_ranges": release.drawn_ranges} if release.drawn_ranges else {}),
        }

    def show(self, console: Console, release: Any) -> None:
        """Print the model in the units of its table."""
        for text in release.summary().splitlines():
            output.line(console, text)
