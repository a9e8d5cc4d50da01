"""What was typed after `mipselect fit` as a plan, which reads no row; its draw is a model."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from mipselect.blocks.scores import LOSS
from mipselect.cli.charging import Result, check_ledger, note_of_the_target, opened, relation_of
from mipselect.cli.declared import refuse
from mipselect.cli.fit import FitArguments
from mipselect.cli.inputs import ProblemSource
from mipselect.cli.options import option_named
from mipselect.cli.output import NOT_PRIVATE, heading, line
from mipselect.cli.releasing import ReleasePlan, default_method
from mipselect.cli.report import released_features
from mipselect.cli.start import say
from mipselect.cli.table_options import (
    HAS_SCHEMA,
    LOSS_OF_CLASSES,
    LOSS_OF_NUMBERS,
    NEEDS_SCHEMA,
)
from mipselect.errors import InvalidInput, about
from mipselect.mechanisms.base import Mechanism
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.guarantee import amount
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData
from mipselect.regression import (
    ModelRelease,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.regression.evaluation import Measuring, kept_apart_of_table
from mipselect.regression.perturbed_objective import regression_loss
from mipselect.regression.plan import SHARE_OF_BLOCKS, SHARE_OF_OTHERS, TablePlan
from mipselect.regression.ranges import ADVICE, PRIVATE, PUBLIC
from mipselect.reports.release_report import ReportedRelease
from mipselect.search.progress import ProgressCallback
from mipselect.selectors import BY_NAME
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.tables.numbers import header, read_table
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_integer, listed

NO_RANGES = "ranges that nobody stated are drawn with a part of epsilon, and released"


def plan_of(arguments: FitArguments) -> tuple[FitPlan, ProblemSource]:
    """Check all that can be checked before a row is drawn from, and divide ε.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded, RelationMismatch
        From the ledger.
    """
    table, charge = arguments.table, arguments.charge
    schema = None if table.schema is None else TableSchema.read(table.schema)
    ledger = opened(charge.ledger)
    if (arguments.support_size is None) == (arguments.features_of is None):
        raise InvalidInput("--support-size or --features-of must be given: one of them")
    two = schema is not None and len(schema.field(table.target, "target").category_names) == 2
    private = schema is None or arguments.ranges is not None
    fitter = _fitter(arguments, ledger, of_classes=two, private=private)
    source, question = _table(arguments, schema)
    size, released = arguments.support_size, None
    read = table.files
    if arguments.features_of is not None:
        released = released_features(arguments.features_of, table.target)
        question, read = _about(question, released, table.data), [*read, arguments.features_of]
        size = len(question.without_ranges.features)
    p = len(question.without_ranges.features)
    size = checked_integer(size or 0, f"{table.data}: --support-size", 1, p)
    fitter.selector.set_params(n_features_to_select=size)
    seeded = random.SystemRandom() if charge.seed is None else random.Random(charge.seed)
    drawn = fitter.plan_of_table(question, seeded)
    plan = FitPlan(
        head={"command": "fit", **table.head},
        seed=charge.seed,
        ledger=ledger,
        method=drawn.method,
        epsilon=arguments.epsilon,
        fitter=fitter,
        drawn=drawn,
        rows=source,
        released=released,
    )
    with about("--epsilon"):
        promise = drawn.promise
    check_ledger(ledger, promise)
    if drawn.ranges is not None:
        say(f"note: {NO_RANGES}. {ADVICE}.")
    note_of_the_target(question.schema, table.target)
    return plan, ProblemSource(plan.problem, plan.data, read)


def _fitter(
    arguments: FitArguments, ledger: Ledger | None, *, of_classes: bool, private: bool
) -> SelectThenRegress:
    """Make what draws features and coefficients, which divides ε; its size is still to be set.

    Raises
    ------
    InvalidInput
        Naming the option.
    """
    relation, score = relation_of(ledger, arguments.charge.relation), arguments.scores.score
    if private and (score == LOSS or relation != "replace-one"):
        raise InvalidInput(
            "ranges that nobody stated can be drawn only where features are drawn from blocks, "
            "under replace-one: leave out --score loss and --relation add-remove, or state the "
            "ranges, by --schema (begin one with 'mipselect describe')"
        )
    intercept = not arguments.question.no_intercept
    shared: dict[str, Any] = {"relation": relation, "fit_intercept": intercept}
    regressor: ObjectivePerturbationRegressor | ObjectivePerturbationClassifier
    loss = arguments.model_loss or (LOSS_OF_CLASSES if of_classes else LOSS_OF_NUMBERS)
    with about("--model-loss"):
        if loss != LOSS_OF_CLASSES:
            regression_loss(loss)
            regressor = ObjectivePerturbationRegressor(loss=loss, **shared)
        else:
            regressor = ObjectivePerturbationClassifier(**shared)
        if of_classes != (loss == LOSS_OF_CLASSES):
            kind, other = ("a number", "two classes") if of_classes else ("two classes", "a number")
            raise InvalidInput(f"{loss} is for a target of {kind}; this one is {other}")
    selector: Any = BY_NAME[default_method(ledger)](score=score)  # type: ignore[call-arg]
    fitter = SelectThenRegress(
        selector.check(option_named),
        regressor,
        epsilon=arguments.epsilon,
        quality_share=arguments.quality_share,
        ranges=PRIVATE if private else PUBLIC,
    )
    return fitter.check(option_named)


def _table(arguments: FitArguments, schema: TableSchema | None) -> tuple[Any, TableQuestion]:
    """Return what rows are read from and what is asked of them.

    Of a table with a schema nothing is read. One of numbers is read whole, but for a dry run its
    header alone.
    """
    table, numbers = arguments.table, arguments.numbers
    if schema is not None:
        refuse(numbers, HAS_SCHEMA)
        return table.source, arguments.question.question_about(schema, table.target)
    refuse(arguments.question, NEEDS_SCHEMA)
    source: Any = None
    if arguments.dry_run:
        names = header(table.source, table.target, numbers.chosen)
    else:
        X, y, names = read_table(table.source, table.target, numbers.chosen)
        source = pa.table({**{name: X[:, j] for j, name in enumerate(names)}, table.target: y})
    with about(table.data):
        ranges = dict.fromkeys((*names, table.target))
        return source, TableQuestion(TableSchema.of_numbers(ranges), table.target)


def _about(question: TableQuestion, released: ReportedRelease, data: str) -> TableQuestion:
    """Return the question about the features of a release and no other.

    Raises
    ------
    InvalidInput
        For a feature that the table has not, or that --never leaves out.
    """
    known = {encoder.field.name for encoder in question.without_ranges.features}
    drawn = () if released.drawn is None else released.drawn.feature_names
    names = (*drawn, *released.always)
    for name in names:
        if name not in known.union(question.always):
            raise InvalidInput(
                f"{released.name}: its feature {name!r} is none of {data} here; features: "
                f"{listed(sorted(known))}"
            )
    return question.about({*names, *question.always, question.target})


@dataclass(frozen=True, kw_only=True, eq=False)
class FitPlan(ReleasePlan):
    """A selection and a model of a table, which is its own source.

    Attributes
    ----------
    fitter : SelectThenRegress
    drawn : TablePlan
    rows : object
        What rows are read from; None where no row was read.
    released : ReportedRelease or None
        Where the features are from, if they were not to be drawn.
    """

    fitter: SelectThenRegress
    drawn: TablePlan
    rows: Any = field(repr=False)
    released: ReportedRelease | None

    @property
    def selects(self) -> bool:
        """False where all features are in, and nothing is drawn of them."""
        return not isinstance(self.method, AllFeaturesSelector)

    @property
    def parts(self) -> dict[str, Guarantee]:
        """Guarantees of the parts, by name: the selection, ranges that are drawn, the model."""
        relation, ranges = self.drawn.regressor.relation, self.drawn.ranges
        selection = self.method.guarantees[relation]
        drawn = {} if ranges is None else {"ranges": ranges.guarantee}
        return {"selection": selection, **drawn, "model": self.drawn.model_promise}

    def stating(self, total: Guarantee) -> dict[str, Any]:
        """See `ReleasePlan`; with the guarantees of the parts."""
        return {
            "private": total.private,
            "guarantee": total.to_dict(),
            **{f"guarantee_of_{name}": part.to_dict() for name, part in self.parts.items()},
        }

    @property
    def settings(self) -> Mapping[str, Any]:
        """Public settings besides those of the problem and the method: parts, and the model."""
        fitter, public, one = self.fitter, self.drawn.public, self.released
        share = SHARE_OF_OTHERS if self.drawn.blocks is None else SHARE_OF_BLOCKS
        regressor: Any = self.drawn.model_on(self.drawn.widest)
        ranges = self.drawn.ranges
        found = {
            "method": self.method.name,
            "selection_share": share if self.selects else 0.0,
            "target_scale": public.target.scale,
            "target_offset": public.target.offset,
            "model_loss": regressor.loss,
            "model_coef_bound": regressor.coef_bound,
        }
        if ranges is not None:
            found["ranges"] = fitter.ranges
            if public.target_name in ranges.open:
                found |= {"target_scale": None, "target_offset": None}
        if fitter.quality_share is not None:
            found["quality_share"] = fitter.quality_share
        if one is not None:
            found["features_of"] = {"file": one.name, "sha256": one.digest}
        return found

    def doubts(self, n: int | None) -> tuple[str, ...]:
        """See `ReleasePlan`."""
        return (self.drawn.doubt(n),)

    @cached_property
    def fitted(self) -> tuple[Any, Measuring]:
        """Rows that a model is fitted to, and what measures it on those that are kept apart."""
        share, relation = self.fitter.quality_share, self.drawn.regressor.relation
        return kept_apart_of_table(self.rows, self.drawn.question, share, relation, self.source)

    def problem(self) -> tuple[Problem, int | None]:
        """See `ProblemSource`; the number of rows is told where the score depends on it."""
        problem, n = self.drawn.scored(self.rows).problem()
        return problem, None if self.drawn.blocks is None else n

    def data(self) -> StoredData:
        """See `ProblemSource`; nothing is raised because of the rows."""
        made = self.drawn.scored(self.fitted[0]).made()
        return StoredData(Path(self.head["data"]), made.problem, made)

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """See `ReleasePlan`."""
        return replace(self.drawn.promised(stated), private=self.seed is None)

    @property
    def cost(self) -> list[str]:
        """See `ReleasePlan`."""
        parts = self.parts
        features = "nothing for the features, which are all that there are"
        if self.selects:
            features = f"{amount(parts['selection'])} for the features by {self.method.name}"
        elif self.released is not None:
            paid = amount(self.released.guarantee)
            features = f"nothing for the features, which {self.released.name} released for {paid}"
        if "ranges" in parts:
            features += f", {amount(parts['ranges'])} for ranges that nobody stated"
        found = [
            f"Cost: {features}, {amount(parts['model'])} for where most values lie within the "
            "ranges, and the coefficients by objective perturbation."
        ]
        if (share := self.fitter.quality_share) is not None:
            apart = f"{100.0 * share:.6g} % of the rows"
            found.append(f"Quality: on {apart}, kept apart from the fit, at no further ε.")
        return found

    def law(self, data: StoredData, progress: ProgressCallback) -> Mechanism[Any]:
        """See `ReleasePlan`."""
        return self.drawn.law(data.made(), self.source, progress)

    def draw(self, law: Mechanism[Any], data: StoredData, ledger: Ledger | None) -> Result:
        """See `ReleasePlan`."""
        rows, measuring = self.fitted
        model_of, sources = self.drawn.model_of(rows, data.made()), (self.source,) * 2
        model = self.drawn.draw(law, model_of, ledger, sources, private=self.seed is None)
        return self._answer(measuring(model))

    def _answer(self, model: ModelRelease) -> Result:
        """Say what is in a model."""
        report = {
            **({} if model.private else {"warning": NOT_PRIVATE}),
            **self.stating(model.guarantee),
            "model": model.to_dict(),
            "in_units": model.in_units.to_dict(),
            **({"drawn_ranges": model.drawn_ranges} if model.drawn_ranges else {}),
        }

        def show(console: Console) -> None:
            """Print the model in the units of its table."""
            kind = "released model" if model.private else "drawn model, not private"
            heading(console, f"{self.title}: {kind}")
            for text in model.summary().splitlines():
                line(console, text)
            for text in self.cost:
                line(console, text)

        quality = model.quality
        warnings = () if quality is None or quality.beats_chance else (quality.verdict,)
        return Result(report=report, show=show, warnings=warnings)
