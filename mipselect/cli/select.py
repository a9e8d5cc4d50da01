"""`mipselect select`: private supports straight from a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mipselect.cli.arguments import chosen_loss, flags_of, of_blocks, refuse_bounds
from mipselect.cli.cautions import note_of_the_target
from mipselect.cli.declared import refuse
from mipselect.cli.inputs import SchemaTable
from mipselect.cli.options import option_named, require_positive, stated
from mipselect.cli.output import check_output
from mipselect.cli.releasing import SupportPlan, plan_draws
from mipselect.cli.select_options import SelectArguments
from mipselect.cli.table_options import HAS_SCHEMA, NEEDS_SCHEMA, NO_RANGE
from mipselect.cli.task import Task, TaskSource, deliver_task
from mipselect.errors import InvalidInput, about
from mipselect.problem.block_scores import BlockOptions
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import ExactDrawSelector, asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.instances import ScoredTable
from mipselect.tables.numbers import header, read_table
from mipselect.tables.schema import TableSchema
from mipselect.tables.table_file import TableFile
from mipselect.validation import checked_integer


def select(arguments: SelectArguments) -> None:
    """Run the command."""
    table, delivery, drawing = arguments.table, arguments.delivery, arguments.drawing
    plan = plan_draws(drawing)
    size = _support_size(arguments, plan.method)
    head = {"command": "select", **table.head}
    if table.schema is None:
        source = _of_numbers(arguments, plan, size)
    else:
        schema = TableSchema.read(table.schema)
        source = _of_schema(arguments, schema, plan, size)
        head |= _titles(schema)
    read = [*table.files, *drawing.ledger.files]
    check_output(delivery.output, read, replace=delivery.replace)
    task = Task(title=table.title, head=head, source=source, plan=plan)
    deliver_task(task, delivery, dry_run=drawing.dry_run)


def _titles(schema: TableSchema) -> dict[str, Any]:
    """Return titles and units by field for the JSON object of a release; empty without any."""
    found = {}
    for entry in schema.content["fields"]:
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
    blocks = _blocks(arguments, plan, of_loss=bool(bounds))
    settings: dict[str, Any] = {"support_size": size, "loss": None}
    if blocks is None:
        settings |= chosen_loss(arguments.scores.loss, plan.method, plan.name)
        settings |= _checked_bounds(bounds, plan)
    else:
        refuse(replace(numbers, features=None), NO_RANGE)
    named = "the largest of --sizes" if arguments.support_size is None else "--support-size"
    return NumberTable(table.source, table.target, numbers.chosen, settings, named, blocks)


def _of_schema(
    arguments: SelectArguments, schema: TableSchema, plan: SupportPlan, size: int
) -> TaskSource:
    """Name a table with a schema, and its problem."""
    refuse(arguments.numbers, HAS_SCHEMA)
    table, bounds, options = arguments.table, arguments.bounds(), arguments.question
    refuse_bounds(bounds, plan.method, plan.name)
    of_loss = bool(bounds or options.ranges or options.no_intercept)
    blocks = _blocks(arguments, plan, of_loss=of_loss)
    note_of_the_target(schema, table.target)
    settings: dict[str, Any] = {}
    if blocks is None:
        settings |= {**chosen_loss(arguments.scores.loss, plan.method, plan.name), **bounds}
        settings |= {"intercept": not options.no_intercept}
    else:
        refuse(replace(options, always=None, never=None, unit_rule=None), NO_RANGE)
    question = options.question_about(schema, table.target)
    scored = ScoredTable(table.source, question, size, settings, blocks)
    return SchemaTable(Path(table.data), scored)


def _blocks(arguments: SelectArguments, plan: SupportPlan, *, of_loss: bool) -> BlockOptions | None:
    """Return the score from blocks; None for the loss, as for what has a guarantee for it alone."""
    if not isinstance(plan.method, ProblemSelector):
        refuse(replace(arguments.scores, loss=None), f"does not apply to --method {plan.name}")
        return None
    scales = stated(**asdict(arguments.regularisation))
    of_loss = of_loss or plan.one.relation == "add-remove"
    return of_blocks(arguments.scores, scales, plan.method, stated=of_loss, seed=plan.seed)


def _checked_bounds(given: dict[str, float], plan: SupportPlan) -> dict[str, float]:
    """Return the bounds that the method needs, all given and in their range, and no other."""
    refuse_bounds(given, plan.method, plan.name)
    missing = [option_named(name) for name in plan.method.bounds if name not in given]
    if "--coef-bound" in missing and "--mcmc-radius" in flags_of(type(plan.method)):
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


@dataclass(frozen=True)
class NumberTable:
    """A table of numbers, with public bounds or scored from blocks of rows.

    Attributes
    ----------
    source : TableFile
    target : str
    features : list of str or None
        None is all columns but the target.
    settings : mapping
        The other arguments of `Instance`.
    size_named : str
        What messages call its support size.
    blocks : BlockOptions or None
        Score from blocks, which uses no range; None for the loss.
    """

    source: TableFile
    target: str
    features: list[str] | None
    settings: dict[str, Any]
    size_named: str
    blocks: BlockOptions | None

    def problem(self) -> tuple[Problem, int | None]:
        """See `TaskSource`."""
        names = header(self.source, self.target, self.features)
        self._check_size(len(names))
        with about(str(self.source.path)):
            problem = Problem.of_columns(len(names), None, feature_names=names, **self.settings)
            return (self.blocks.problem_of_arrays(problem) if self.blocks else problem), None

    def data(self) -> StoredData:
        """See `TaskSource`."""
        path, arrays = Path(self.source.path), read_table(self.source, self.target, self.features)
        self._check_size(arrays[0].shape[1])
        stored = StoredData.of_arrays(path, arrays, self.settings)
        if self.blocks is None:
            return stored
        rows = stored.rows()
        assert isinstance(rows, Rows)
        with about(str(path)):
            made = self.blocks.of_rows(stored.problem, rows)
        return StoredData.of_made(path, made, self.settings)

    def _check_size(self, p: int) -> None:
        named = f"{self.source.path}: {self.size_named}"
        checked_integer(self.settings["support_size"], named, 1, p)
