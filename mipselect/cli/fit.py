"""`mipselect fit`: private features and coefficients of a table, as one release."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa

from mipselect.cli.arguments import asked_score, check_sizes, chosen_loss, refuse_bounds
from mipselect.cli.cautions import note_of_the_target
from mipselect.cli.declared import given, refuse
from mipselect.cli.fit_division import FitOptions, model_of_numbers
from mipselect.cli.fit_options import FitArguments
from mipselect.cli.fitting import FitPlan
from mipselect.cli.ledger_entry import opened, relation_of
from mipselect.cli.options import stated
from mipselect.cli.output import check_output
from mipselect.cli.release_file import ReleasedFeatures
from mipselect.cli.releasing import default_method
from mipselect.cli.start import say
from mipselect.cli.table_options import (
    HAS_SCHEMA,
    NEEDS_SCHEMA,
    NumbersOptions,
    ScoreOptions,
    TableOptions,
)
from mipselect.cli.task import Task, deliver_task
from mipselect.errors import InvalidInput, about
from mipselect.problem.scores import LOSS
from mipselect.regression.plan import TablePlan
from mipselect.regression.ranges import ADVICE, PRIVATE, WAYS, PrivateRanges
from mipselect.selectors import BY_NAME
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.numbers import header, read_table
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.validation import (
    LARGEST_SCALE,
    checked_choice,
    checked_integer,
    checked_number,
    checked_scale,
    listed,
)

NO_RANGES = "ranges that nobody stated are drawn with a part of epsilon, and released"

FOR_DELTA = (
    "--delta is spent on --regression adassp, which has intervals; without it --regression "
    "objective has none and mostly predicts better"
)


def fit(arguments: FitArguments) -> None:
    """Run the command."""
    table, drawing, delivery = arguments.table, arguments.drawing, arguments.delivery
    schema = None if table.schema is None else TableSchema.read(table.schema)
    options = _options(arguments, schema)
    options.selection()
    size, released = arguments.support_size, None
    chosen = (size, drawing.of_the_method.sizes, arguments.features_of)
    if sum(each is not None for each in chosen) != 1:
        raise InvalidInput("--support-size, --sizes or --features-of must be given: one of them")
    source, question = _table(arguments, schema, private=options.private_ranges)
    read = [*table.files, *drawing.ledger.files]
    if arguments.features_of is not None:
        released = ReleasedFeatures.read(arguments.features_of, table.target)
        question, read = _about(question, released, table.data), [*read, arguments.features_of]
        size = len(question.without_ranges.features)
    check_output(delivery.output, read, replace=delivery.replace)
    intercept = not arguments.question.no_intercept
    drawn = _plan(options, question, size, table.data, intercept)
    if drawn.ranges is not None:
        say(f"note: {NO_RANGES}. {ADVICE}.")
    if options.model.way is not arguments.model.way:
        say(f"note: {FOR_DELTA}.")
    note_of_the_target(question.schema, table.target)
    plan = FitPlan(options, drawn, table.data, source, released)
    task = Task(
        title=table.title,
        head={"command": "fit", **table.head},
        source=plan,
        plan=plan,
        asked=given(arguments.question),
    )
    deliver_task(task, delivery, dry_run=drawing.dry_run)


def _options(arguments: FitArguments, schema: TableSchema | None) -> FitOptions:
    """Open the ledger and check what does not depend on the table."""
    budget, drawing = arguments.budget, arguments.drawing
    ledger = opened(drawing.ledger)
    method = drawing.method or default_method(ledger)
    relation = relation_of(ledger, budget.relation)
    scales = stated(**asdict(arguments.regularisation))
    private = _ranges_are_private(arguments)
    of_rows = not private and (bool(scales) or relation != "replace-one")
    in_blocks = _in_blocks(arguments.scores, method, of_rows=of_rows)
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
        method=method,
        of_the_method=drawing.of_the_method,
        model=model,
        epsilon=budget.epsilon,
        division=budget.division,
        private_ranges=private,
        in_blocks=in_blocks,
        scores=arguments.scores,
        scales=scales,
        relation=relation,
        seed=drawing.seed,
        ledger=ledger,
    )


def _ranges_are_private(arguments: FitArguments) -> bool:
    """Tell whether ranges are drawn: where it is asked, or none is given and there is no schema."""
    asked, numbers = arguments.budget.ranges, arguments.numbers
    if asked is not None:
        return checked_choice(asked, "--ranges", WAYS) == PRIVATE
    stated = (arguments.table.schema, numbers.x_bound, numbers.y_bound)
    return all(bound is None for bound in stated)


def _in_blocks(scores: ScoreOptions, method: str, *, of_rows: bool) -> bool:
    """Tell whether features are drawn from blocks; refuse scores that the method has not."""
    if not issubclass(BY_NAME[method], ProblemSelector):
        refuse(replace(scores, loss=None), f"does not apply to --method {method}")
        return False
    return asked_score(scores, stated=of_rows) != LOSS


def _table(
    arguments: FitArguments, schema: TableSchema | None, *, private: bool
) -> tuple[Any, TableQuestion]:
    """Return what rows are read from and what is asked of them.

    A table of numbers is read here, but for a dry run its header alone; of a schema nothing is.
    """
    if schema is not None:
        refuse(arguments.numbers, HAS_SCHEMA)
        question = arguments.question.question_about(schema, arguments.table.target)
        return arguments.table.source, question
    refuse(arguments.question, NEEDS_SCHEMA)
    read = not arguments.drawing.dry_run
    return _numbers(arguments.table, arguments.numbers, read=read, private=private)


def _numbers(
    table: TableOptions, numbers: NumbersOptions, *, read: bool, private: bool
) -> tuple[Any, TableQuestion]:
    """Take a table of numbers, which is read whole unless only its header is wanted.

    Raises
    ------
    InvalidInput
        For what is wrong with a bound, and then with the file.
    """
    ends = ends_of_bounds(numbers.x_bound, numbers.y_bound, numbers.target_shift)
    if None in ends and not private:
        raise InvalidInput(
            "--schema (begin one with 'mipselect describe') or, for a table of numbers, "
            "--x-bound and --y-bound must be given: the bounds are public assumptions, chosen "
            "without looking at the data; or none of them, or --ranges private, and ranges are "
            "drawn with a part of epsilon"
        )
    of_features, of_target = ends
    file, target, features = table.source, table.target, numbers.chosen
    source: Any = None
    if read:
        X, y, names = read_table(file, target, features)
        source = pa.table({**{name: X[:, j] for j, name in enumerate(names)}, target: y})
    else:
        names = header(file, target, features)
    with about(table.data):
        ranges = {**dict.fromkeys(names, of_features), target: of_target}
        schema = TableSchema.of_numbers(ranges)
    return source, TableQuestion(schema, target)


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


def _plan(
    options: FitOptions, question: TableQuestion, size: int | None, data: str, intercept: bool
) -> TablePlan:
    """Check the question against the schema, and the cost against the ledger.

    Parameters
    ----------
    options : FitOptions
    question : TableQuestion
    size : int or None
        The support size; None if the sizes are an option of the method.
    data : str
        The path of the table as it was given.
    intercept : bool
        True if there is a column of ones.
    """
    ranges = None
    if options.private_ranges:
        ranges = PrivateRanges(question, options.epsilon_of_ranges)
        question = ranges.placed
    k = len(question.public.features)
    size = 1 if size is None else checked_integer(size, f"{data}: --support-size", 1, k)
    plan = options.table_plan(question, size, fit_intercept=intercept, ranges=ranges)
    check_sizes(plan.method, k, data)
    name = options.name_of(plan.method)
    refuse_bounds(options.scales, plan.method, name)
    chosen_loss(options.scores.loss, plan.method, name)
    return plan


def ends_of_bounds(
    x_bound: float | None, y_bound: float | None, target_shift: float
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Return the ranges of the features and of the target of a table of numbers.

    Raises
    ------
    InvalidInput
    """
    for bound, option in ((x_bound, "--x-bound"), (y_bound, "--y-bound")):
        if bound is not None:
            checked_scale(bound, option)
    within = f"a number between ±{LARGEST_SCALE:g}"
    checked_number(target_shift, "--target-shift", within, lambda v: abs(v) <= LARGEST_SCALE)
    of_features = None if x_bound is None else (-x_bound, x_bound)
    if y_bound is None:
        if target_shift:
            raise InvalidInput("--target-shift goes with --y-bound, which is meant around it")
        return of_features, None
    low, high = target_shift - y_bound, target_shift + y_bound
    if not low < target_shift < high:
        raise InvalidInput(
            f"--target-shift {target_shift:g} is so far from 0 that --y-bound {y_bound:g} is "
            "lost beside it; choose other units"
        )
    return of_features, (low, high)
