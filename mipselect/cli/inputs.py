"""Inputs of the commands: an instance, or moments with a question about them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mipselect.cli.declared import refuse
from mipselect.cli.options import parse_sizes, stated
from mipselect.cli.table_options import SourceOptions
from mipselect.errors import InvalidInput, about
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
from mipselect.tables.instances import ScoredTable
from mipselect.tables.moments import Moments
from mipselect.tables.problems import problem_of_moments

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
        """See `TaskSource`."""
        return public_problem(self.name)

    def data(self) -> StoredData:
        """See `TaskSource`."""
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
        """See `TaskSource`."""
        return self.table.problem()

    def data(self) -> StoredData:
        """See `TaskSource`."""
        return StoredData.of_made(self.path, self.table.made(), self.table.of_loss)


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
