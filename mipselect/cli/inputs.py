"""Inputs of the commands: an instance, or moments with a question about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mipselect.cli.declared import refuse
from mipselect.cli.options import option_named, parse_sizes, stated
from mipselect.cli.table_options import SourceOptions
from mipselect.disk import toml_text
from mipselect.errors import InvalidInput, about
from mipselect.problem.block_scores import BlockOptions
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.stored.descriptions import STATED, described, read_description
from mipselect.problem.stored.files import (
    ANY_DRAW,
    Expected,
    StoredData,
    expected,
    files_of,
    load_problem,
    public_problem,
    stored_data,
)
from mipselect.tables.moments import Moments
from mipselect.tables.problems import problem_of_moments

ENDING = ".npz"


@dataclass(frozen=True)
class InstanceFile:
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

    def expected(self) -> Expected | None:
        """Return what a search must find; None of another score than that of the file."""
        return expected(self.name) if self.draw.score is None else None


@dataclass(frozen=True)
class SensitiveInstance(InstanceFile):
    """An instance whose ranges may be those of its rows, for a report that is sensitive."""

    def data(self) -> StoredData:
        """See `TaskSource`."""
        return stored_data(read_description(self.name).scored_by(self.draw), self.draw)


@dataclass(frozen=True)
class TableToSolve:
    """A table in place of an instance, for a report that is sensitive.

    Attributes
    ----------
    instance, of_data : mapping
        Sections of the instance file that says the same.
    """

    instance: Mapping[str, Any]
    of_data: Mapping[str, Any]

    @property
    def files(self) -> tuple[Path, ...]:
        """The table and its schema."""
        return tuple(Path(self.of_data[key]) for key in ("path", "schema") if key in self.of_data)

    def expected(self) -> None:
        """Return None: nobody knows what a search finds."""

    def data(self) -> StoredData:
        """Read the table."""
        sections = {"instance": self.instance, "data": self.of_data}
        return stored_data(described(Path("solve"), sections))

    def toml(self, instance: Instance) -> str:
        """Write the instance file that repeats a search, defaults included."""
        public = instance.problem.public()
        stated = {key: public[key] for key in ("coef_bound", "ridge", "loss")}
        return toml_text({"instance": {**self.instance, **stated}, "data": self.of_data})

    @property
    def ranges(self) -> str:
        """The source of the ranges of the columns, in words."""
        if "schema" in self.of_data:
            return f"those of {self.of_data['schema']}"
        return "from the smallest to the largest value of each column, and so SENSITIVE"


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


def asked_of(
    source: SourceOptions, sizes: str | None, draw: BlockOptions = ANY_DRAW
) -> InstanceFile | MomentsFile:
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
