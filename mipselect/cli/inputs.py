"""Inputs of the commands: an instance, moments with a question about them, or a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from mipselect.cli.arguments import option_named
from mipselect.cli.declared import refuse
from mipselect.cli.options import stated
from mipselect.cli.sizes import parse_sizes
from mipselect.cli.table_options import SourceOptions
from mipselect.errors import InvalidInput, about
from mipselect.problem.block_options import BlockOptions
from mipselect.problem.data import Rows
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.stored.descriptions import STATED, read_description
from mipselect.problem.stored.files import (
    QUESTION,
    Expected,
    StoredData,
    expected,
    files_of,
    load_problem,
    public_problem,
    schema_data,
    schema_problem,
)
from mipselect.problem.stored.settings import ANY_DRAW, problem_of
from mipselect.problem.stored.sources import load_table
from mipselect.problem.sums import problem_of_moments
from mipselect.tables.frames import numeric_matrix
from mipselect.tables.moments import Moments
from mipselect.tables.numbers import header
from mipselect.tables.schema import TableSchema
from mipselect.tables.table_file import TableFile
from mipselect.validation import checked_integer

ENDING = ".npz"

FIRST = "first"
"""The rule of a table for several rows of a person, if nothing else is asked for."""


class TaskSource(Protocol):
    """Source of a problem and its data."""

    def problem(self) -> tuple[Problem, int | None]:
        """Return the problem, and the number of rows where it is known; no row is read."""
        ...

    def data(self) -> StoredData:
        """Return all of it; sensitive."""
        ...

    @property
    def unit_rule(self) -> str:
        """Rule that makes one row of several rows of a person."""
        ...


class Input(TaskSource, Protocol):
    """Source of a problem that is in files."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of all files that are read."""
        ...

    def expected(self) -> Expected | None:
        """Return what a search must find; None where it is not known, as of a table."""
        return None

    @property
    def unit_rule(self) -> str:
        """See `TaskSource`; that of moments, which take no other."""
        return FIRST


@dataclass(frozen=True)
class InstanceFile(Input):
    """An instance by its name or the path of its file.

    Attributes
    ----------
    name : str
    draw : BlockOptions
        See `load_problem`.
    """

    name: str
    draw: BlockOptions

    @property
    def files(self) -> tuple[Path, ...]:
        """The instance's own file, and those of its data."""
        return files_of(self.name)

    def problem(self) -> tuple[Problem, int | None]:
        """See `TaskSource`."""
        return public_problem(self.name, self.draw)

    def data(self) -> StoredData:
        """See `TaskSource`."""
        return load_problem(self.name, draw=self.draw)

    @property
    def unit_rule(self) -> str:
        """See `TaskSource`."""
        return str(read_description(self.name).data.get("unit_rule", FIRST))

    def expected(self) -> Expected | None:
        """See `Input`; of another score than that of the file nothing is expected."""
        return expected(self.name) if self.draw.score is None else None


@dataclass(frozen=True)
class MomentsFile(Input):
    """Moments in a file, and arguments of `Instance.from_moments`."""

    path: Path
    question: dict[str, Any]

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def problem(self) -> tuple[Problem, int | None]:
        """See `TaskSource`; the file is read, and of its sums the number of rows is used."""
        moments = Moments.load(self.path)
        with about(str(self.path)):
            return problem_of_moments(moments, **self.question), moments.n

    def data(self) -> StoredData:
        """See `TaskSource`."""
        moments = Moments.load(self.path)
        with about(str(self.path)):
            made = Instance.from_moments(moments, **self.question)
        return StoredData(self.path, made.problem, made.data, self.question)


@dataclass(frozen=True)
class NumberTable(Input):
    """A table of numbers, with public bounds or scored from blocks of rows.

    Attributes
    ----------
    source : TableFile
    target : str
    features : list of str or None
        None is all columns but the target.
    target_shift : float
        A public constant to subtract from the target.
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
    target_shift: float
    settings: dict[str, Any]
    size_named: str
    blocks: BlockOptions | None = None

    @property
    def path(self) -> Path:
        """Path of the file."""
        return Path(self.source.path)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def problem(self) -> tuple[Problem, int | None]:
        """See `TaskSource`."""
        names = header(self.source, self.target, self.features)
        columns = self._columns(len(names), names)
        if self.blocks is None:
            return columns, None
        with about(str(self.path)):
            return self.blocks.problem_of_arrays(columns), None

    def data(self) -> StoredData:
        """See `TaskSource`."""
        arrays = load_table(self.source, self.target, self.features, self.target_shift)
        X, y, names = arrays
        self._check_size(X.shape[1])
        if self.blocks is None:
            shift = self.target_shift
            return StoredData.of_arrays(self.path, arrays, self.settings, target_shift=shift)
        with about(str(self.path)):
            matrix = numeric_matrix(X)[0]
            columns = self._columns(matrix.shape[1], names)
            made = self.blocks.of_rows(columns, Rows(columns.layout.ordered(matrix), y))
        return StoredData.of_made(self.path, made, self.settings)

    def _columns(self, p: int, names: Sequence[str] | None) -> Problem:
        """Return the problem that the settings describe, on columns of these names."""
        self._check_size(p)
        return problem_of(self.settings, p, names, self.target_shift)

    def _check_size(self, p: int) -> None:
        checked_integer(self.settings["support_size"], f"{self.path}: {self.size_named}", 1, p)


@dataclass(frozen=True)
class SchemaTable(Input):
    """A table with a public schema.

    Attributes
    ----------
    source : TableFile
    question : mapping
        As the [data] section of an instance file.
    settings : mapping
        Further arguments of `Instance.from_table`.
    blocks : BlockOptions or None
        Score from blocks of rows, for which types and categories of the schema are used and no
        range; None for the loss.
    """

    source: TableFile
    question: dict[str, Any]
    settings: dict[str, Any]
    blocks: BlockOptions | None = None

    @property
    def path(self) -> Path:
        """Path of the table."""
        return Path(self.source.path)

    @property
    def schema(self) -> Path:
        """Path of the schema."""
        return Path(self.question["schema"])

    @property
    def files(self) -> tuple[Path, ...]:
        """The table and its schema."""
        return (self.path, self.schema)

    def problem(self) -> tuple[Problem, int | None]:
        """See `TaskSource`."""
        if self.blocks is None:
            return schema_problem(Path(), self.question, self.settings)
        schema = TableSchema.read(self.schema)
        return self.blocks.problem_of_table(self.source, schema, **self._asked)

    def data(self) -> StoredData:
        """See `TaskSource`."""
        if self.blocks is None:
            return schema_data(self.path, Path(), self.question, self.settings)
        schema = TableSchema.read(self.schema)
        made = self.blocks.of_table(self.source, schema, **self._asked)
        return StoredData.of_made(self.path, made, {})

    @property
    def unit_rule(self) -> str:
        """See `TaskSource`."""
        return str(self.question.get("unit_rule", FIRST))

    @property
    def _asked(self) -> dict[str, Any]:
        """Arguments of `BlockOptions.of_table`."""
        return {**self.settings, **{k: v for k, v in self.question.items() if k in QUESTION}}


def asked_of(source: SourceOptions, sizes: str | None, draw: BlockOptions = ANY_DRAW) -> Input:
    """Choose moments where the instance ends in .npz, else an instance, which has its own question.

    Parameters
    ----------
    source : SourceOptions
    sizes : str, optional
        From the method's options; the largest size takes the place of a support size.
    draw : BlockOptions
        See `load_problem`.
    """
    instance, moments = source.instance, source.moments
    if not instance.endswith(ENDING):
        refuse(
            moments, f"is for moments (a file ending in {ENDING}); an instance has it in its file"
        )
        return InstanceFile(instance, draw)
    for name in STATED:
        if getattr(draw, name) is not None:
            raise InvalidInput(
                f"{option_named(name)} is for an instance: moments have the score that they were "
                "made with"
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
    return MomentsFile(Path(instance), {"support_size": size, **question})
