"""`mipselect select`: private supports straight from a table."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mipselect.cli.arguments import chosen_loss, flags_of, of_blocks, refuse_bounds
from mipselect.cli.cautions import note_of_the_target
from mipselect.cli.declared import refuse
from mipselect.cli.inputs import NumberTable, SchemaTable, TaskSource
from mipselect.cli.options import option_named, require_positive
from mipselect.cli.options import stated as stated_options
from mipselect.cli.output import check_output
from mipselect.cli.releasing import SupportPlan, plan_draws
from mipselect.cli.select_options import SelectArguments
from mipselect.cli.start import say
from mipselect.cli.table_options import (
    HAS_SCHEMA,
    NEEDS_SCHEMA,
    NO_RANGE,
)
from mipselect.cli.task import Task, deliver_task
from mipselect.errors import InvalidInput
from mipselect.problem.block_scores import BlockOptions
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import ExactDrawSelector, asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.instances import ScoredTable
from mipselect.tables.schema import TableSchema

BY_LOSS = (
    "--range is for the loss of rows within ranges, so fields are compared by that; without it "
    "they are by blocks of rows, which need no range and mostly find more"
)


def select(arguments: SelectArguments) -> None:
    """Run the command."""
    table, delivery, drawing = arguments.table, arguments.delivery, arguments.drawing
    plan = plan_draws(drawing)
    size = _support_size(arguments, plan.method)
    source = (_of_numbers if table.schema is None else _of_schema)(arguments, plan, size)
    read = [*table.files, *drawing.ledger.files]
    check_output(delivery.output, read, replace=delivery.replace)
    task = Task(
        title=table.title,
        head={"command": "select", **table.head, **_titles(table.schema)},
        source=source,
        plan=plan,
    )
    deliver_task(task, delivery, dry_run=drawing.dry_run)


def _titles(path: Path | None) -> dict[str, Any]:
    """Return titles and units by field for the JSON object of a release; empty without any."""
    if path is None:
        return {}
    found = {}
    for entry in TableSchema.read(path).content["fields"]:
        told = {key: entry[key] for key in ("title", "unit") if isinstance(entry.get(key), str)}
        if told:
            found[entry["name"]] = told
    return {"titles": found} if found else {}


def _support_size(arguments: SelectArguments, method: PrivateSelector) -> int:
    """Return the size that was given, or the largest of --sizes."""
    size, sizes = arguments.support_size, arguments.drawing.of_the_method.sizes
    if size is not None and sizes is not None:
        raise InvalidInput("--support-size and --sizes: give one of them, not both")
    if size is None and sizes is None:
        exact = isinstance(method, ExactDrawSelector)
        or_sizes = ", or --sizes to choose it privately," if exact else ""
        raise InvalidInput(f"--support-size{or_sizes} must be given")
    if (drawn := asked_sizes(method)) is not None:
        return max(drawn)
    assert size is not None
    return size


def _of_numbers(arguments: SelectArguments, plan: SupportPlan, size: int) -> TaskSource:
    """Name a table of numbers, with what is public about it."""
    refuse(arguments.question, NEEDS_SCHEMA)
    table, numbers, bounds = arguments.table, arguments.numbers, arguments.bounds()
    blocks = _blocks(arguments, plan, stated=bool(bounds))
    given = (table.source, table.target, numbers.chosen)
    if blocks is not None:
        refuse(replace(numbers, features=None), NO_RANGE)
        settings: dict[str, Any] = {"loss": None}
    else:
        settings = {**chosen_loss(arguments.scores.loss, plan.method, plan.name)}
        settings |= _checked_bounds(bounds, plan)
    named = "the largest of --sizes" if arguments.support_size is None else "--support-size"
    return NumberTable(*given, {"support_size": size, **settings}, named, blocks)


def _of_schema(arguments: SelectArguments, plan: SupportPlan, size: int) -> TaskSource:
    """Name a table with a schema, and its problem."""
    refuse(arguments.numbers, HAS_SCHEMA)
    table, bounds, options = arguments.table, arguments.bounds(), arguments.question
    assert table.schema is not None
    refuse_bounds(bounds, plan.method, plan.name)
    schema = TableSchema.read(table.schema)
    stated = bool(bounds) or bool(options.ranges) or options.no_intercept
    blocks = _blocks(arguments, plan, stated=stated)
    note_of_the_target(schema, table.target)
    of_loss: dict[str, Any] = {}
    if blocks is not None:
        refuse(replace(options, always=None, never=None, unit_rule=None), NO_RANGE)
    else:
        of_loss = {**chosen_loss(arguments.scores.loss, plan.method, plan.name), **bounds}
        of_loss |= {"intercept": not options.no_intercept}
    question = options.question_about(schema, table.target)
    by_ranges = question.ranges and not (bounds or options.no_intercept) and blocks is None
    if by_ranges and _blocks(arguments, plan, stated=False) is not None:
        _ = question.public  # Mistakes first.
        say(f"note: {BY_LOSS}.")

    scored = ScoredTable(table.source, question, size, of_loss, blocks)
    return SchemaTable(Path(table.data), scored)


def _blocks(arguments: SelectArguments, plan: SupportPlan, *, stated: bool) -> BlockOptions | None:
    """Return the score from blocks; None for the loss, as for what has a guarantee for it alone."""
    if not isinstance(plan.method, ProblemSelector):
        refuse(replace(arguments.scores, loss=None), f"does not apply to --method {plan.name}")
        return None
    scales = stated_options(**asdict(arguments.regularisation))
    of_the_loss = stated or plan.one.relation == "add-remove"
    return of_blocks(arguments.scores, scales, plan.method, stated=of_the_loss, seed=plan.seed)


def _checked_bounds(given: dict[str, float], plan: SupportPlan) -> dict[str, float]:
    """Return the bounds that the method needs, all given and in their range, and no other."""
    needed = plan.method.bounds
    refuse_bounds(given, plan.method, plan.name)
    missing = [option_named(name) for name in needed if name not in given]
    if (
        "--mcmc-radius" in flags_of(type(plan.method))
        and "coef_bound" not in given
        and "coef_bound" in needed
    ):
        missing[-1] += " (or --mcmc-radius)"
    if missing:
        raise InvalidInput(
            "--schema (begin one with 'mipselect describe') or, for a table of numbers, "
            f"{', '.join(missing)} must be given: the bounds are public assumptions, chosen "
            "without looking at the data; a default derived from the data would leak"
            + ("; --score blocks needs none" if isinstance(plan.method, ProblemSelector) else "")
        )
    for name, value in given.items():
        require_positive(option_named(name), value)
    return given
