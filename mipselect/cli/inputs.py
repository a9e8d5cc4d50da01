"""Inputs of the commands: an instance, moments or a table, with a question about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from mipselect.cli.declared import refuse
from mipselect.cli.options import stated
from mipselect.cli.table_options import SourceOptions
from mipselect.errors import InvalidInput, about
from mipselect.problem.descriptions import Expected, expected, files_of
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData, load_problem, public_problem
from mipselect.tables.instances import ScoredTable
from mipselect.tables.moments import Moments

ENDING = ".npz"


@dataclass(frozen=True)
class ProblemSource:
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
    """

    problem: Callable[[], tuple[Problem, int | None]]
    data: Callable[[], StoredData]
    files: Sequence[Path] = ()
    expected: Callable[[], Expected | None] = lambda: None


def asked_of(source: SourceOptions, sizes: Sequence[int] | None) -> ProblemSource:
    """Choose moments where the instance ends in .npz, else an instance, which has its own question.

    Parameters
    ----------
    source : SourceOptions
    sizes : sequence of int, optional
        Of the method; the largest takes the place of a support size.
    """
    instance, moments = source.instance, source.moments
    if not instance.endswith(ENDING):
        refuse(
            moments, f"is for moments (a file ending in {ENDING}); an instance has it in its file"
        )
        return ProblemSource(
            partial(public_problem, instance),
            partial(load_problem, instance),
            files_of(instance),
            partial(expected, instance),
        )
    # A default coef_bound is that of the largest size.
    size = size_of(moments.support_size, sizes)
    question = {**moments.question.keywords, **stated(**asdict(moments.regularisation))}
    path, settings = Path(instance), {"support_size": size, **question}

    def data() -> StoredData:
        summed = Moments.load(path)
        with about(str(path)):
            made = Instance.from_moments(summed, **settings)
        return StoredData(path, made.problem, made)

    def problem() -> tuple[Problem, int | None]:
        held = data()
        return held.problem, held.data.n

    return ProblemSource(problem, data, (path,))


def size_of(support_size: int | None, sizes: Sequence[int] | None) -> int:
    """Return the size that was given, or the largest of --sizes; one of them must be."""
    if support_size is not None and sizes is None:
        return support_size
    if support_size is None and sizes is not None:
        return max(sizes)
    raise InvalidInput(
        "--support-size, or --sizes to choose it privately, must be given: one of them"
    )


def scored_table(path: str, table: ScoredTable, files: Sequence[Path]) -> ProblemSource:
    """Name a table with a schema, what is asked of it, and the files that are read."""

    def data() -> StoredData:
        made = table.made()
        return StoredData(Path(path), made.problem, made)

    return ProblemSource(table.problem, data, files)
