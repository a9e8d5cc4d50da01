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
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.descriptions import Expected, expected, files_of
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData, load_problem, public_problem
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

    @classmethod
    def of_made(
        cls,
        path: str,
        problem: Callable[[], tuple[Problem, int | None]],
        made: Callable[[], Instance | BlockScores],
        files: Sequence[Path],
    ) -> ProblemSource:
        """Name what is made of moments or of a table with a schema, of which no row is kept."""

        def data() -> StoredData:
            found = made()
            return StoredData(Path(path), found.problem, found)

        return cls(problem, data, files)


def asked_of(source: SourceOptions, sizes: Sequence[int] | None) -> ProblemSource:
    """Choose moments where the instance ends in .npz, else an instance, which has its own question.

    Parameters
    ----------
    source : SourceOptions
    sizes : sequence of int, optional
        Of the method; the largest takes the place of a support size.
    """
    instance = source.instance
    if not instance.endswith(ENDING):
        refuse(
            source, f"is for moments (a file ending in {ENDING}); an instance has it in its file"
        )
        return ProblemSource(
            partial(public_problem, instance),
            partial(load_problem, instance),
            files_of(instance),
            partial(expected, instance),
        )
    # A default coef_bound is that of the largest size.
    size = size_of(source.support_size, sizes)
    question = {**source.question.keywords, **stated(**asdict(source.bounds))}
    if source.question.no_intercept:
        question["intercept"] = False

    def made() -> Instance:
        summed = Moments.load(instance)
        with about(instance):
            return Instance.from_moments(summed, support_size=size, **question)

    def problem() -> tuple[Problem, int | None]:
        found = made()
        return found.problem, found.n

    return ProblemSource.of_made(instance, problem, made, [Path(instance)])


def size_of(support_size: int | None, sizes: Sequence[int] | None) -> int:
    """Return the size that was given, or the largest of --sizes; one of them must be."""
    if support_size is not None and sizes is None:
        return support_size
    if support_size is None and sizes is not None:
        return max(sizes)
    raise InvalidInput(
        "--support-size, or --sizes to choose it privately, must be given: one of them"
    )
