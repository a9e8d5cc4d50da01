"""`mipselect fit`: private features and coefficients of a table, as one release.

What was typed becomes a `FitPlan`, which reads no row; its draw is a `FittedModel`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console

from mipselect.cli.arguments import (
    asked_score,
    check_sizes,
    chosen_loss,
    of_blocks,
    refuse_bounds,
)
from mipselect.cli.cautions import note_of_the_target
from mipselect.cli.declared import refuse
from mipselect.cli.fit_division import FitOptions, model_of_numbers
from mipselect.cli.fit_options import FitArguments
from mipselect.cli.ledger_entry import check_ledger, opened, relation_of
from mipselect.cli.options import check_seed, stated
from mipselect.cli.output import NOT_PRIVATE, check_output, heading, line
from mipselect.cli.releasing import (
    NOT_SPENT,
    default_method,
    spent_by,
    without_numbers,
)
from mipselect.cli.start import say
from mipselect.cli.table_options import HAS_SCHEMA, NEEDS_SCHEMA
from mipselect.cli.task import Task, deliver_task
from mipselect.errors import InvalidInput, about
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.guarantee import amount
from mipselect.problem.problem import Problem
from mipselect.problem.scores import LOSS
from mipselect.problem.stored import StoredData
from mipselect.regression import ModelRelease, TukeyRegressor
from mipselect.regression.coefficients import LEVEL, CoefficientTable, summary_text
from mipselect.regression.evaluation import HeldOut
from mipselect.regression.plan import TablePlan
from mipselect.regression.ranges import ADVICE, PRIVATE, WAYS, PrivateRanges
from mipselect.regression.tukey import FAILS
from mipselect.search.progress import ProgressCallback
from mipselect.selectors import BY_NAME
from mipselect.selectors.all_features import AllFeaturesSelector, in_place_of
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.numbers import header, read_table
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_choice, checked_integer, checked_scale, listed

if TYPE_CHECKING:  # Reading releases takes long to import.
    from mipselect.cli.release_file import ReleasedFeatures

ALL_FEATURES = "all-features"
"""Name of the method in reports and ledgers where nothing is drawn."""

NO_RANGES = "ranges that nobody stated are drawn with a part of epsilon, and released"

FOR_DELTA = (
    "--delta is spent on --regression adassp, which has intervals; without it --regression "
    "objective has none and mostly predicts better"
)

NO_MODEL = (
    "no model was released, for the private test failed; the features and the budget are spent all "
    "the same: take more rows, a larger --epsilon or --delta, or another --regression"
)

ELSEWHERE = "the file of --output has them"


def fit(arguments: FitArguments) -> None:
    """Run the command."""
    table, plan = arguments.table, plan_of(arguments)
    if plan.drawn.ranges is not None:
        say(f"note: {NO_RANGES}. {ADVICE}.")
    if plan.options.model.way is not arguments.model.way:
        say(f"note: {FOR_DELTA}.")
    note_of_the_target(plan.drawn.question.schema, table.target)
    head = {"command": "fit", **table.head}
    task = Task(title=table.title, head=head, source=plan, plan=plan)
    deliver_task(task, arguments.delivery, dry_run=arguments.drawing.dry_run)


def plan_of(arguments: FitArguments) -> FitPlan:
    """Check all that can be checked before a row is drawn from, and divide ε and δ.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded, RelationMismatch
        From the ledger.
    """
    table, drawing = arguments.table, arguments.drawing
    schema = None if table.schema is None else TableSchema.read(table.schema)
    ledger = opened(drawing.ledger)
    options = _options(arguments, schema, ledger)
    check_seed(drawing.seed)
    asked = options.selection()
    chosen = (arguments.support_size, drawing.of_the_method.sizes, arguments.features_of)
    if sum(each is not None for each in chosen) != 1:
        raise InvalidInput("--support-size, --sizes or --features-of must be given: one of them")
    source, question = _table(arguments, schema, private=options.private_ranges)
    size, released = arguments.support_size, None
    read = [*table.files, *drawing.ledger.files]
    if arguments.features_of is not None:
        from mipselect.cli.release_file import ReleasedFeatures

        released = ReleasedFeatures.read(arguments.features_of, table.target)
        question, read = _about(question, released, table.data), [*read, arguments.features_of]
        size = len(question.without_ranges.features)
    check_output(arguments.delivery.output, read, replace=arguments.delivery.replace)
    ranges = None
    if options.private_ranges:
        ranges = PrivateRanges(question, options.epsilon_of_ranges)
        question = ranges.placed
    p = len(question.public.features)
    size = 1 if size is None else checked_integer(size, f"{table.data}: --support-size", 1, p)
    size = max(asked_sizes(asked) or (size,))
    # What the selection does not need of its share goes to the model.
    method = in_place_of(asked, size, p)
    regressor = options.regressor(
        method,
        of_classes=question.public.target.classes is not None,
        fit_intercept=not arguments.question.no_intercept,
    )
    scales, blocks = stated(**asdict(arguments.regularisation)), None
    scored = options.in_blocks and (ranges is not None or method is asked)
    if scored and isinstance(asked, ProblemSelector):
        blocks = of_blocks(arguments.scores, scales, asked, stated=False, seed=drawing.seed)
    drawn = TablePlan(
        question,
        method,
        regressor,
        size,
        blocks,
        arguments.budget.division.range_share,
        ranges,
        of_loss={**scales, **stated(loss=arguments.scores.loss)},
    )
    plan = FitPlan(options, drawn, table.data, source, drawing.seed, ledger, released)
    with about("--epsilon and --delta"):
        promise = drawn.promise
    check_ledger(ledger, promise)
    check_sizes(method, p, table.data)
    refuse_bounds(scales, method, plan.method_name)
    chosen_loss(arguments.scores.loss, method, plan.method_name)
    return plan


def _options(
    arguments: FitArguments, schema: TableSchema | None, ledger: Ledger | None
) -> FitOptions:
    """Divide ε and δ, and check what does not depend on the table."""
    budget, drawing, numbers = arguments.budget, arguments.drawing, arguments.numbers
    method = drawing.method or default_method(ledger)
    relation = relation_of(ledger, budget.relation)
    # Ranges are drawn where it is asked, or none is given and there is no schema.
    bounds = (arguments.table.schema, numbers.x_bound, numbers.y_bound)
    private = all(bound is None for bound in bounds)
    if budget.ranges is not None:
        private = checked_choice(budget.ranges, "--ranges", WAYS) == PRIVATE
    of_rows = bool(stated(**asdict(arguments.regularisation))) or relation != "replace-one"
    in_blocks = issubclass(BY_NAME[method], ProblemSelector)
    if in_blocks:
        in_blocks = asked_score(arguments.scores, stated=of_rows and not private) != LOSS
    else:
        refuse(replace(arguments.scores, loss=None), f"does not apply to --method {method}")
    if private and not in_blocks:
        raise InvalidInput(
            "ranges that nobody stated can be drawn only where features are drawn from blocks: "
            "leave out --score loss, --loss and other methods, or state the ranges, by --schema or "
            "by --x-bound and --y-bound"
        )
    model = arguments.model
    if schema is None or len(schema.field(arguments.table.target, "target").category_names) != 2:
        model = model_of_numbers(model, budget.division.delta, method, drawing.of_the_method)
    return FitOptions(
        model=model,
        division=budget.division,
        in_blocks=in_blocks,
        method=method,
        of_the_method=drawing.of_the_method,
        epsilon=budget.epsilon,
        relation=relation,
        private_ranges=private,
    )


def _table(
    arguments: FitArguments, schema: TableSchema | None, *, private: bool
) -> tuple[Any, TableQuestion]:
    """Return what rows are read from and what is asked of them.

    Of a table with a schema nothing is read. One of numbers is read whole, but for a dry run its
    header alone.

    Raises
    ------
    InvalidInput
        For what is wrong with a bound, and then with the file.
    """
    table, numbers = arguments.table, arguments.numbers
    if schema is not None:
        refuse(numbers, HAS_SCHEMA)
        return table.source, arguments.question.question_about(schema, table.target)
    refuse(arguments.question, NEEDS_SCHEMA)
    bounds = {"--x-bound": numbers.x_bound, "--y-bound": numbers.y_bound}
    for option, bound in bounds.items():
        if bound is not None:
            checked_scale(bound, option)
    if not private and None in bounds.values():
        raise InvalidInput(
            "--schema (begin one with 'mipselect describe') or, for a table of numbers, "
            "--x-bound and --y-bound must be given: the bounds are public assumptions, chosen "
            "without looking at the data; or none of them, or --ranges private, and ranges are "
            "drawn with a part of epsilon"
        )
    source: Any = None
    if arguments.drawing.dry_run:
        names = header(table.source, table.target, numbers.chosen)
    else:
        X, y, names = read_table(table.source, table.target, numbers.chosen)
        source = pa.table({**{name: X[:, j] for j, name in enumerate(names)}, table.target: y})
    with about(table.data):
        of_features, of_target = (None if b is None else (-b, b) for b in bounds.values())
        ranges = {**dict.fromkeys(names, of_features), table.target: of_target}
        return source, TableQuestion(TableSchema.of_numbers(ranges), table.target)


def _about(question: TableQuestion, released: ReleasedFeatures, data: str) -> TableQuestion:
    """Return the question about the features of a release and no other.

    Raises
    ------
    InvalidInput
        For a feature that the table has not, or that --never leaves out.
    """
    known = {encoder.field.name for encoder in question.without_ranges.features}
    for name in released.names:
        if name not in known.union(question.always):
            raise InvalidInput(
                f"{released.file}: its feature {name!r} is none of {data} here; features: "
                f"{listed(sorted(known))}"
            )
    return question.about({*released.names, *question.always, question.target})


@dataclass(frozen=True, eq=False)
class FitPlan:
    """A selection and a model of a table, as `SupportPlan` is one of draws, and its own source.

    Attributes
    ----------
    options : FitOptions
    drawn : TablePlan
    path : str
        That of the table, as it was given.
    source : object
        What its rows are read from; None where no row was read.
    seed : int or None
    ledger : Ledger or None
    released : ReleasedFeatures or None
        Where the features are from, if they were not to be drawn.
    """

    options: FitOptions
    drawn: TablePlan
    path: str
    source: Any = field(repr=False)
    seed: int | None
    ledger: Ledger | None
    released: ReleasedFeatures | None

    @property
    def method(self) -> PrivateSelector:
        """Method that selects the features."""
        return self.drawn.method

    @property
    def selects(self) -> bool:
        """False where all features are in, and nothing is drawn of them."""
        return not isinstance(self.method, AllFeaturesSelector)

    @property
    def method_name(self) -> str:
        """Name of the method in reports and ledgers."""
        return self.options.method if self.selects else ALL_FEATURES

    @property
    def together(self) -> Guarantee:
        """See `SupportPlan`; not private if seeded."""
        return replace(self.drawn.promise, private=self.seed is None)

    @property
    def parts(self) -> dict[str, Guarantee]:
        """Guarantees of the parts, by name: the selection, ranges that are drawn, the model."""
        selection, ranges = self.method.guarantees[self.options.relation], self.drawn.ranges
        drawn = {} if ranges is None else {"ranges": ranges.guarantee}
        return {"selection": selection, **drawn, "model": self.drawn.model_promise}

    def of_parts(self, together: Guarantee) -> dict[str, Any]:
        """Return a guarantee as part of a JSON object, and those of its parts."""
        return {
            "guarantee": together.to_dict(),
            **{f"guarantee_of_{name}": part.to_dict() for name, part in self.parts.items()},
        }

    @property
    def settings(self) -> Mapping[str, Any]:
        """Public settings besides those of the problem and the method: parts, and the model."""
        division, public, one = self.options.division, self.drawn.public, self.released
        regressor = self.drawn.model_on(self.drawn.widest)
        model = regressor.get_params(deep=False)
        bounded = ("coef_bound", "residual_bound", "rounds")
        ranges = self.drawn.ranges
        found = {
            "method": self.method_name,
            "regression": self.options.model.way.value,
            "selection_share": self.options.share if self.selects else 0.0,
            "range_share": division.range_share,
            "target_scale": public.target.scale,
            "target_offset": public.target.offset,
            "model_loss": getattr(regressor, "loss", None),
            **{f"model_{name}": model[name] for name in bounded if name in model},
        }
        if ranges is not None:
            found["ranges"] = PRIVATE
            if public.target_name in ranges.open:
                found |= {"target_scale": None, "target_offset": None}
        if division.quality_share is not None:
            found["quality_share"] = division.quality_share
        if one is not None:
            found["features_of"] = {"file": one.file, "sha256": one.digest}
        return found

    @property
    def noted(self) -> Mapping[str, Any]:
        """Entries of a ledger besides the settings of the problem."""
        told = {name: value for name, value in self.settings.items() if value is not None}
        delta = self.options.division.delta or 0.0
        return {**told, "epsilon": self.options.epsilon, "delta": delta}

    def doubts(self, n: int | None) -> tuple[str, ...]:
        """See `SupportPlan`; of unknown rows also how many the test of Tukey's mechanism needs."""
        told, widest = self.drawn.doubts(n), self.drawn.widest
        model = self.drawn.model_on(widest)
        if n is not None or not isinstance(model, TukeyRegressor):
            return told
        enough = float(f"{model.enough_rows(len(self.drawn.columns_of(widest))):.2g}")
        needs = f"--regression tukey needs about {enough:,.0f} rows at this ε"
        return (*told, f"{needs}: with far fewer {FAILS}")

    @cached_property
    def apart(self) -> HeldOut | None:
        """Rows that are kept apart from the fit; None where nothing is to be measured."""
        share, relation = self.options.division.quality_share, self.options.relation
        if share is None:
            return None
        source = (
            random.SystemRandom() if self.seed is None else random.Random(f"quality {self.seed}")
        )
        return HeldOut.of_table(self.source, self.drawn.question, share, relation, source)

    @property
    def rows(self) -> Any:
        """Rows that a model is fitted to: all but those that are kept apart."""
        return self.source if self.apart is None else self.apart.fitted

    def problem(self) -> tuple[Problem, int | None]:
        """See `TaskSource`; the number of rows is told where the score depends on it."""
        problem, n = self.drawn.scored(self.source).problem()
        return problem, None if self.drawn.blocks is None else n

    def data(self) -> StoredData:
        """See `TaskSource`; nothing is raised because of the rows."""
        made = self.drawn.scored(self.rows).made()
        return StoredData.of_made(Path(self.path), made, self.drawn.of_loss)

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """See `SupportPlan`."""
        return self.drawn.promised(stated)

    def report(self, stated: Mapping[str, Guarantee]) -> Mapping[str, Any]:
        """See `SupportPlan`."""
        return {"private": self.seed is None, **self.of_parts(self.together)}

    def show(self, console: Console, stated: Mapping[str, Guarantee], unit: str) -> None:
        """See `SupportPlan`."""
        self.show_terms(console)
        if self.ledger is not None:
            before, after = self.ledger.remaining, self.ledger.after(self.total(stated))
            line(console, f"The ledger has {amount(before)} left, and would have {amount(after)}.")
        line(console, f"Guarantee: {self.together.of_unit(unit)}.")

    def show_terms(self, console: Console) -> None:
        """See `SupportPlan`."""
        parts, options = self.parts, self.options
        features = "nothing for the features, which are all that there are"
        if self.selects:
            features = f"{amount(parts['selection'])} for the features by {options.method}"
        elif self.released is not None:
            paid = amount(self.released.guarantee)
            features = f"nothing for the features, which {self.released.file} released for {paid}"
        if "ranges" in parts:
            features += f", {amount(parts['ranges'])} for ranges that nobody stated"
        what = "the coefficients"
        if self.drawn.looks_for_ranges:
            what = "where most values lie within the ranges, and the coefficients"
        model = f"{amount(parts['model'])} for {what} by {options.model.way.value}"
        line(console, f"Cost: {features}, {model}.")
        if (share := options.division.quality_share) is not None:
            apart = f"{100.0 * share:.6g} % of the rows"
            line(console, f"Quality: on {apart}, kept apart from the fit, at no further ε.")

    def draw(
        self, data: StoredData, ledger: Ledger | None, progress: ProgressCallback
    ) -> FittedModel:
        """See `SupportPlan`."""
        private = self.seed is None
        source = random.SystemRandom() if private else random.Random(self.seed)
        scored, drawn = data.drawn_from(), self.drawn
        made = drawn.rows_of_model(self.rows, scored)
        with without_numbers(self.method, NOT_SPENT):
            law = drawn.law(scored, source, progress)
            law.prepare()
        with without_numbers(self.method, spent_by(ledger)):
            sources = (source, source)
            model = drawn.release(law, scored, made, self.rows, ledger, sources, private=private)
            if self.apart is not None:
                model = self.apart.measured(model)
        return FittedModel(model, self.of_parts(model.guarantee))


@dataclass(frozen=True)
class FittedModel:
    """A released model, or features without one, where the private test failed.

    Attributes
    ----------
    model : ModelRelease
    guarantees : mapping
        Guarantees of all and of its parts, as part of a JSON object.
    """

    model: ModelRelease
    guarantees: Mapping[str, Any]

    @property
    def private(self) -> bool:
        """See `DrawnReleases`."""
        return self.model.private

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `DrawnReleases`."""
        if not self.model.has_model:
            return (NO_MODEL,)
        quality = self.model.quality
        return () if quality is None or quality.beats_chance else (quality.verdict,)

    def report(self) -> Mapping[str, Any]:
        """See `DrawnReleases`."""
        model = self.model
        table = CoefficientTable.of(model) if model.has_model else None
        intervals = None if table is None else table.intervals
        return {
            "private": model.private,
            **({} if model.private else {"warning": NOT_PRIVATE}),
            **self.guarantees,
            "has_model": model.has_model,
            "model": model.to_dict(),
            "in_units": None if table is None else table.rule.to_dict(),
            "intervals": None if intervals is None else intervals.to_dict(),
            **({"drawn_ranges": model.drawn_ranges} if model.drawn_ranges else {}),
        }

    def show(self, console: Console, title: str, unit: str) -> None:
        """Print the model in the units of its table, and its guarantee; it says its own unit."""
        model = self.model
        kind = "released model" if model.private else "drawn model, not private"
        heading(console, f"{title}: {kind}")
        for text in summary_text(model, LEVEL, ELSEWHERE).splitlines():
            line(console, text)
        for drawn in model.drawn_ranges:
            line(
                console,
                f"Range of {drawn['field']}: {drawn['minimum']:g} to {drawn['maximum']:g}, "
                f"private, drawn with ε = {drawn['epsilon']:.6g}.",
            )
