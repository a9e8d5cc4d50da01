"""Inputs of the commands: an instance, moments or a table, with a question about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mipselect.cli.arguments import blocks_for, chosen_loss, flags_of, refuse_bounds
from mipselect.cli.cautions import note_of_the_target
from mipselect.cli.declared import refuse
from mipselect.cli.options import option_named, parse_sizes, require_positive, stated
from mipselect.cli.table_options import HAS_SCHEMA, NEEDS_SCHEMA, NO_RANGE, SourceOptions
from mipselect.errors import InvalidInput, about
from mipselect.problem.block_scores import BlockOptions
from mipselect.problem.data import Rows
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.stored import (
    Expected,
    StoredData,
    expected,
    files_of,
    load_problem,
    public_problem,
)
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import ExactDrawSelector, asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.instances import ScoredTable
from mipselect.tables.moments import Moments
from mipselect.tables.numbers import header, read_table
from mipselect.tables.problems import problem_of_moments
from mipselect.tables.schema import TableSchema
from mipselect.tables.table_file import TableFile
from mipselect.validation import checked_integer

if TYPE_CHECKING:
    from mipselect.cli.releasing import SupportPlan
    from mipselect.cli.select import SelectArguments

ENDING = ".npz"


@dataclass(frozen=True)
class Source:
    """Source of a problem and its data: an instance, moments or a table.

    Attributes
    ----------
    problem : callable
        Returns the problem, and the number of rows where it is known; no row is read.
    data : callable
        Returns all of it; sensitive.
    files : sequence of Path
        What is read, which no output may replace.
    expected : callable
        Returns what a search must find, if that is known.
    ranges : str
        The source of the ranges of the columns of a table to solve, in words.
    """

    problem: Callable[[], tuple[Problem, int | None]]
    data: Callable[[], StoredData]
    files: Sequence[Path] = ()
    expected: Callable[[], Expected | None] = lambda: None
    ranges: str = ""


def asked_of(source: SourceOptions, sizes: str | None) -> Source:
    """Choose moments where the instance ends in .npz, else an instance, which has its own question.

    Parameters
    ----------
    source : SourceOptions
    sizes : str, optional
        From the method's options; the largest size takes the place of a support size.
    """
    instance, moments = source.instance, source.moments
    if not instance.endswith(ENDING):
        refuse(
            moments, f"is for moments (a file ending in {ENDING}); an instance has it in its file"
        )
        return Source(
            partial(public_problem, instance),
            partial(load_problem, instance),
            files_of(instance),
            partial(expected, instance),
        )
    support_size = moments.support_size
    if (support_size is None) == (sizes is None):
        raise InvalidInput(
            "moments need one of --support-size, how many to pick, and --sizes, to choose it "
            "privately"
        )
    # A default coef_bound is that of the largest size.
    size = parse_sizes(sizes)[-1] if support_size is None else support_size  # type: ignore[arg-type]
    question = {**moments.question.keywords, **stated(**asdict(moments.regularisation))}
    path, settings = Path(instance), {"support_size": size, **question}

    def problem() -> tuple[Problem, int | None]:
        summed = Moments.load(path)
        with about(str(path)):
            return problem_of_moments(summed, **settings), summed.n

    def data() -> StoredData:
        summed = Moments.load(path)
        with about(str(path)):
            made = Instance.from_moments(summed, **settings)
        return StoredData(path, made.problem, made.data, settings)

    return Source(problem, data, (path,))


def scored_table(path: str, table: ScoredTable, **more: Any) -> Source:
    """Name a table with a schema, and what is asked of it; see `Source` for `more`."""

    def data() -> StoredData:
        return StoredData.of_made(Path(path), table.made(), table.of_loss)

    return Source(table.problem, data, **more)


def number_table(
    source: TableFile,
    target: str,
    features: list[str] | None,
    blocks: BlockOptions | None,
    size_named: str,
    settings: Mapping[str, Any],
) -> Source:
    """Name a table of numbers, with public bounds or scored from blocks of rows.

    Parameters
    ----------
    source : TableFile
    target : str
    features : list of str or None
        None is all columns but the target.
    blocks : BlockOptions or None
        Score from blocks, which uses no range; None for the loss.
    size_named : str
        What messages call its support size.
    settings : mapping
        The other arguments of `Instance`.
    """
    path = Path(source.path)

    def checked(p: int) -> None:
        checked_integer(settings["support_size"], f"{path}: {size_named}", 1, p)

    def problem() -> tuple[Problem, int | None]:
        names = header(source, target, features)
        checked(len(names))
        with about(str(path)):
            found = Problem.of_columns(len(names), names, **settings)
            return (found if blocks is None else blocks.problem_of_arrays(found)), None

    def data() -> StoredData:
        arrays = read_table(source, target, features)
        checked(arrays[0].shape[1])
        stored = StoredData.of_arrays(path, arrays, settings)
        if blocks is None:
            return stored
        rows = stored.rows()
        assert isinstance(rows, Rows)
        with about(str(path)):
            made = blocks.of_rows(stored.problem, rows)
        return StoredData.of_made(path, made, settings)

    return Source(problem, data)


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
) -> Source:
    """Name a table of numbers, or one with a schema, and the score of what is selected from it."""
    table, numbers, question = arguments.table, arguments.numbers, arguments.question
    scales = stated(**asdict(arguments.regularisation))
    bounds = {**stated(x_bound=numbers.x_bound, y_bound=numbers.y_bound), **scales}
    size, method = _support_size(arguments, plan.method), plan.method
    settings: dict[str, Any] = {}
    of_loss, blocks = bool(bounds), None
    if schema is None:
        refuse(question, NEEDS_SCHEMA)
    else:
        refuse(numbers, HAS_SCHEMA)
        refuse_bounds(bounds, method, plan.name)
        of_loss = bool(bounds or question.ranges or question.no_intercept)
    if not isinstance(method, ProblemSelector):
        refuse(replace(arguments.scores, loss=None), f"does not apply to --method {plan.name}")
    else:
        of_loss = of_loss or plan.one.relation == "add-remove"
        blocks = blocks_for(arguments.scores, scales, method, of_loss=of_loss, seed=plan.seed)
    if blocks is None:
        settings |= chosen_loss(arguments.scores.loss, method, plan.name)
        if schema is None:
            settings |= _checked_bounds(bounds, plan)
        else:
            settings |= {**bounds, "intercept": not question.no_intercept}
    if schema is None:
        if blocks is not None:
            refuse(replace(numbers, features=None), NO_RANGE)
        settings = {"support_size": size, "loss": None, **settings}
        named = "the largest of --sizes" if arguments.support_size is None else "--support-size"
        return number_table(table.source, table.target, numbers.chosen, blocks, named, settings)
    if blocks is not None:
        refuse(replace(question, always=None, never=None, unit_rule=None), NO_RANGE)
    note_of_the_target(schema, table.target)
    asked = question.question_about(schema, table.target)
    return scored_table(table.data, ScoredTable(table.source, asked, size, settings, blocks))


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
