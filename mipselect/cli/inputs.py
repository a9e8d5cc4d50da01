"""Inputs of the commands: an instance, moments or a table, with a question about them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
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
class InstanceFile:
    """An instance by its name or the path of its file."""

    name: str

    @property
    def files(self) -> tuple[Path, ...]:
        """The instance's own file, and those of its data."""
        return files_of(self.name)

    def problem(self) -> tuple[Problem, int | None]:
        """See `Source`."""
        return public_problem(self.name)

    def data(self) -> StoredData:
        """See `Source`."""
        return load_problem(self.name)

    def expected(self) -> Expected | None:
        """Return what a search must find."""
        return expected(self.name)


@dataclass(frozen=True)
class SchemaTable:
    """A table with a schema: its path, and what is asked of it.

    Attributes
    ----------
    path : Path
    table : ScoredTable
    files : tuple of Path
        The table and its schema.
    ranges : str
        The source of the ranges of the columns, in words.
    """

    path: Path
    table: ScoredTable
    files: tuple[Path, ...] = ()
    ranges: str = ""

    def expected(self) -> None:
        """Return None: nobody knows what a search finds."""

    def problem(self) -> tuple[Problem, int | None]:
        """See `Source`."""
        return self.table.problem()

    def data(self) -> StoredData:
        """See `Source`."""
        return StoredData.of_made(self.path, self.table.made(), self.table.of_loss)


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
        """See `Source`."""
        names = header(self.source, self.target, self.features)
        self._check_size(len(names))
        with about(str(self.source.path)):
            problem = Problem.of_columns(len(names), names, **self.settings)
            return (self.blocks.problem_of_arrays(problem) if self.blocks else problem), None

    def data(self) -> StoredData:
        """See `Source`."""
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


@dataclass(frozen=True)
class MomentsFile:
    """Moments in a file, and arguments of `Instance.from_moments`."""

    path: Path
    question: dict[str, Any]

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def expected(self) -> None:
        """Return None: nobody knows what a search finds."""

    def problem(self) -> tuple[Problem, int | None]:
        """See `Source`; the file is read, and of its sums the number of rows is used."""

        moments = Moments.load(self.path)
        with about(str(self.path)):
            return problem_of_moments(moments, **self.question), moments.n

    def data(self) -> StoredData:
        """See `Source`."""

        moments = Moments.load(self.path)
        with about(str(self.path)):
            made = Instance.from_moments(moments, **self.question)
        return StoredData(self.path, made.problem, made.data, self.question)


def asked_of(source: SourceOptions, sizes: str | None) -> InstanceFile | MomentsFile:
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
        return InstanceFile(instance)
    support_size = moments.support_size
    if (support_size is None) == (sizes is None):
        raise InvalidInput(
            "moments need one of --support-size, how many to pick, and --sizes, to choose it "
            "privately"
        )
    # A default coef_bound is that of the largest size.
    size = parse_sizes(sizes)[-1] if support_size is None else support_size  # type: ignore[arg-type]
    question = {**moments.question.keywords, **stated(**asdict(moments.regularisation))}
    return MomentsFile(Path(instance), {"support_size": size, **question})


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
) -> NumberTable | SchemaTable:
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
        return NumberTable(table.source, table.target, numbers.chosen, settings, named, blocks)
    if blocks is not None:
        refuse(replace(question, always=None, never=None, unit_rule=None), NO_RANGE)
    note_of_the_target(schema, table.target)
    asked = question.question_about(schema, table.target)
    return SchemaTable(Path(table.data), ScoredTable(table.source, asked, size, settings, blocks))


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
