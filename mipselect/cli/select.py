"""`mipselect select` and `mipselect release`: private supports of a table, or of an instance."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mipselect.blocks.scores import LOSS
from mipselect.cli.declared import command, group, option, options, refuse
from mipselect.cli.options import SupportDrawOptions, option_named, stated
from mipselect.cli.output import Delivery
from mipselect.cli.table_options import (
    HAS_SCHEMA,
    NEEDS_SCHEMA,
    NO_RANGE,
    NumbersOptions,
    Regularisation,
    SchemaOptions,
    ScoreOptions,
    SourceOptions,
    TableOptions,
)
from mipselect.errors import InvalidInput, about
from mipselect.validation import checked_integer

if TYPE_CHECKING:  # --help imports none of them.
    from mipselect.cli.inputs import ProblemSource
    from mipselect.cli.releasing import SupportPlan
    from mipselect.problem.block_scores import BlockOptions
    from mipselect.problem.problem import Problem
    from mipselect.problem.stored import StoredData
    from mipselect.selectors.base import PrivateSelector
    from mipselect.selectors.problem import ProblemSelector
    from mipselect.tables.schema import TableSchema

EXAMPLES = """Examples:

mipselect select patients.csv --target score --support-size 3 --epsilon 1

mipselect select patients.csv --target score --sizes 1-8 --epsilon 1

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --x-bound 1 --y-bound 2 --coef-bound 1.5 --ridge 10

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --method sis --x-bound 1 --y-bound 2

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --method kendall --dry-run

mipselect select patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 3 --epsilon 1 --always age,sex

mipselect release diabetes --epsilon 1

mipselect release paper-p100 --epsilon 1 --sizes 1-8

mipselect release paper-p100 --method mistakes --epsilon 1 \\
    --test-epsilon 0.5 --delta 1e-6

mipselect release visits.npz --support-size 4 --epsilon 1 --always age,sex
"""


@options
class SelectArguments:
    """Arguments of `select`."""

    table: TableOptions = group(TableOptions)
    support_size: int | None = option(
        "--support-size", "How many columns to pick.", show_default="none; or give --sizes"
    )
    numbers: NumbersOptions = group(NumbersOptions)
    regularisation: Regularisation = group(Regularisation)
    question: SchemaOptions = group(SchemaOptions)
    scores: ScoreOptions = group(ScoreOptions)
    drawing: SupportDrawOptions = group(SupportDrawOptions)
    delivery: Delivery = group(Delivery)


@command
def select(arguments: SelectArguments) -> None:
    """Release supports straight from a table, with differential privacy.

    Target, size and ε are enough for a table of numbers. One with categories
    needs --schema, a public description of it (see 'mipselect describe').

    Sets of columns are compared within blocks of a few rows, by R² where all sets
    can be listed, else by least squares: no range of any column is needed. With
    public bounds they are compared by a loss of the rows: permute-and-flip,
    exponential, top-r and mistakes need --x-bound, --y-bound, --coef-bound and
    --ridge. mcmc needs all but the ridge, sis the first two; kendall and
    sample-aggregate need none. Without --schema no bound has a default: one
    derived from the data would leak.
    """
    from mipselect.cli.releasing import plan_draws
    from mipselect.tables.schema import TableSchema

    table, drawing = arguments.table, arguments.drawing
    schema = None if table.schema is None else TableSchema.read(table.schema)
    head = {"command": "select", **table.head, **titles_of(schema)}
    plan = plan_draws(drawing, head)
    source = table_asked_of(arguments, schema, plan)
    plan.deliver(source, arguments.delivery, dry_run=drawing.dry_run)


@options
class ReleaseArguments:
    """Arguments of `release`."""

    drawing: SupportDrawOptions = group(SupportDrawOptions)
    source: SourceOptions = group(SourceOptions)
    delivery: Delivery = group(Delivery)


@command
def release(arguments: ReleaseArguments) -> None:
    """Release supports of INSTANCE with differential privacy.

    Only the releases and their guarantee are printed.

    Running time, and whether a run ends, depend on the data and are not covered.
    """
    from mipselect.cli.inputs import ENDING, asked_of
    from mipselect.cli.releasing import plan_draws
    from mipselect.selectors.base import RowsSelector

    drawing, instance = arguments.drawing, arguments.source.instance
    plan = plan_draws(drawing, {"command": "release", "instance": instance})
    source = asked_of(arguments.source, plan.method.sizes)
    if instance.endswith(ENDING) and isinstance(plan.method, RowsSelector):
        plan.method.require_sums()
    plan.deliver(source, arguments.delivery, dry_run=drawing.dry_run)


def titles_of(schema: TableSchema | None) -> dict[str, Any]:
    """Return titles and units by field for the JSON object of a release; empty without any."""
    found = {}
    for entry in () if schema is None else schema.content["fields"]:
        told = {key: entry[key] for key in ("title", "unit") if isinstance(entry.get(key), str)}
        if told:
            found[entry["name"]] = told
    return {"titles": found} if found else {}


def table_asked_of(
    arguments: SelectArguments, schema: TableSchema | None, plan: SupportPlan
) -> ProblemSource:
    """Name a table of numbers, or one with a schema, and the score of what is selected from it."""
    from mipselect.cli.charging import note_of_the_target
    from mipselect.cli.inputs import scored_table, size_of
    from mipselect.selectors.problem import ProblemSelector
    from mipselect.tables.instances import ScoredTable

    table, numbers, question = arguments.table, arguments.numbers, arguments.question
    method, size = plan.method, size_of(arguments.support_size, plan.method.sizes)
    bounds = stated(x_bound=numbers.x_bound, y_bound=numbers.y_bound)
    bounds |= stated(**asdict(arguments.regularisation))
    if schema is None:
        refuse(question, NEEDS_SCHEMA)
    else:
        refuse(numbers, HAS_SCHEMA)
    _refuse_bounds(bounds, method)
    settings, blocks = dict[str, Any](), None
    if not isinstance(method, ProblemSelector):
        refuse(arguments.scores, f"does not apply to --method {method.name}")
    elif (scored := _scored(arguments, plan, method, bounds)).asked_score != LOSS:
        blocks = scored.block_options(plan.source)
    else:
        settings["loss"] = scored.loss
    if blocks is None:
        if schema is None:
            _require_bounds(bounds, method)
        else:
            settings["intercept"] = not question.no_intercept
        settings |= bounds
    if schema is None:
        settings = {"support_size": size, "loss": None, **settings}
        return _numbers(arguments, blocks, settings)
    if blocks is not None:
        refuse(replace(question, always=None, never=None, unit_rule=None), NO_RANGE)
    note_of_the_target(schema, table.target)
    asked = question.question_about(schema, table.target)
    scored_by = ScoredTable(table.source, asked, size, settings, blocks)
    return scored_table(table.data, scored_by, files=table.files)


def _scored(
    arguments: SelectArguments,
    plan: SupportPlan,
    method: ProblemSelector,
    bounds: Mapping[str, float],
) -> ProblemSelector:
    """Return a copy of the method with the score that is asked for, and what goes with it."""
    from mipselect.losses import checked_loss

    scores, question = arguments.scores, arguments.question
    given = stated(loss=scores.loss)
    of_loss = scores.loss or question.ranges or question.no_intercept
    score = scores.score
    if score is None and (of_loss or plan.relation == "add-remove"):
        score = LOSS
    with about("--loss"):
        checked_loss(scores.loss or "squared")
    return copy(method).set_params(score=score, **given, **bounds).check(option_named)


def _refuse_bounds(bounds: Mapping[str, float], method: PrivateSelector) -> None:
    """Raise `InvalidInput` for a bound that a method does not know."""
    for name in bounds:
        if name not in method.bounds:
            beside = " beside --mcmc-radius" * (method.name == "mcmc" and name != "ridge")
            raise InvalidInput(
                f"{option_named(name)} does not apply to --method {method.name}{beside}"
            )


def _require_bounds(given: Mapping[str, float], method: PrivateSelector) -> None:
    """Raise `InvalidInput` unless all bounds that the method needs are given."""
    missing = [option_named(name) for name in method.bounds if name not in given]
    if "--coef-bound" in missing and method.name == "mcmc":
        missing[-1] += " (or --mcmc-radius)"
    if missing:
        raise InvalidInput(
            "--schema (begin one with 'mipselect describe') or, for a table of numbers, "
            f"{', '.join(missing)} must be given: the bounds are public assumptions, chosen "
            "without looking at the data; a default derived from the data would leak"
            + "; --score blocks needs none"
            * ("ridge" in method.bounds)
        )


def _numbers(
    arguments: SelectArguments, blocks: BlockOptions | None, settings: Mapping[str, Any]
) -> ProblemSource:
    """Name a table of numbers, with the settings of `Instance` or scored from blocks of rows."""
    from mipselect.cli.inputs import ProblemSource
    from mipselect.problem.data import Rows
    from mipselect.problem.problem import Problem
    from mipselect.problem.stored import StoredData
    from mipselect.tables.numbers import header, read_table

    table, path = arguments.table, Path(arguments.table.data)
    asked = table.source, table.target, arguments.numbers.chosen
    named = "the largest of --sizes" if arguments.support_size is None else "--support-size"

    def problem() -> tuple[Problem, int | None]:
        names = header(*asked)
        checked_integer(settings["support_size"], f"{path}: {named}", 1, len(names))
        with about(str(path)):
            found = Problem.of_columns(len(names), names, **settings)
            return (found if blocks is None else blocks.scored(found)), None

    def data() -> StoredData:
        arrays = read_table(*asked)
        checked_integer(settings["support_size"], f"{path}: {named}", 1, arrays[0].shape[1])
        stored = StoredData.of_arrays(path, arrays, settings)
        if blocks is None:
            return stored
        rows = stored.rows()
        assert isinstance(rows, Rows)
        with about(str(path)):
            made = blocks.of_rows(stored.problem, rows)
        return StoredData(path, made.problem, made)

    return ProblemSource(problem, data, table.files)
