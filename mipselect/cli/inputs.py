"""Inputs of the commands: an instance, moments or a table, with a question about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mipselect.blocks.scores import LOSS, BlockOptions
from mipselect.cli import table_options
from mipselect.cli.declared import given, names_of, refuse
from mipselect.cli.options import option_named, stated
from mipselect.cli.releasing import ReleasePlan
from mipselect.cli.select import SelectArguments
from mipselect.errors import InvalidInput, about
from mipselect.losses import checked_loss
from mipselect.problem import block_scores
from mipselect.problem.data import Rows
from mipselect.problem.descriptions import Expected, expected, files_of
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData, load_problem, public_problem
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import BOUNDS, ProblemSelector
from mipselect.tables import TableSchema
from mipselect.tables.instances import ScoredTable
from mipselect.tables.moments import Moments
from mipselect.tables.numbers import header, read_table
from mipselect.validation import checked_integer

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
        made: Callable[[], Instance | block_scores.BlockScores],
        files: Sequence[Path],
    ) -> ProblemSource:
        """Name what is made of moments or of a table with a schema, of which no row is kept."""

        def data() -> StoredData:
            found = made()
            return StoredData(Path(path), found.problem, found)

        return cls(problem, data, files)


def asked_of(source: table_options.SourceOptions, sizes: Sequence[int] | None) -> ProblemSource:
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


def table_asked_of(
    arguments: SelectArguments, schema: TableSchema | None, plan: ReleasePlan
) -> ProblemSource:
    """Name a table of numbers, or one with a schema, and the score of what is selected from it.

    A score from blocks of rows uses no bound; a loss needs all that the method does, which a
    schema has.
    """
    table, question, bounds = arguments.table, arguments.question, asdict(arguments.bounds)
    method, size = plan.method, size_of(arguments.support_size, plan.method.sizes)
    foreign = {option_named(name) for name in set(BOUNDS) - set(method.bounds)}
    bounds, settings, blocks = stated(**bounds), dict[str, Any](), None
    if isinstance(method, ProblemSelector):
        method = _scored(arguments, plan, bounds)
        if method.asked_score != LOSS:
            blocks = method.block_options(plan.source)
        else:
            settings["loss"] = method.loss
    else:
        foreign.update(names_of(table_options.ScoreOptions))
    beside = " beside --mcmc-radius" * ("--mcmc-radius" in given(plan.drawing))
    refuse(arguments, f"does not apply to --method {method.name}{beside}", foreign)
    if blocks is None:
        settings |= bounds
    if schema is None:
        if blocks is None:
            _require_bounds(bounds, method)
        return _numbers(arguments, blocks, {"support_size": size, "loss": None, **settings})
    if blocks is None:
        settings["intercept"] = not question.no_intercept
    else:
        refuse(question, table_options.NO_RANGE, ("--range", "--no-intercept"))
    asked = question.question_about(schema, table.target)
    scored_by = ScoredTable(table.source, asked, size, settings, blocks)
    return ProblemSource.of_made(table.data, scored_by.problem, scored_by.made, table.files)


def _scored(
    arguments: SelectArguments, plan: ReleasePlan, bounds: Mapping[str, float]
) -> ProblemSelector:
    """Return a copy of the method with the score that is asked for, and what goes with it."""
    scores, question, score = arguments.scores, arguments.question, arguments.scores.score
    of_loss = scores.loss or question.ranges or question.no_intercept
    if score is None and (of_loss or plan.relation == "add-remove"):
        score = LOSS
    with about("--loss"):
        checked_loss(scores.loss or "squared")
    made: Any = copy(plan.method).set_params(score=score, **stated(loss=scores.loss), **bounds)
    checked: ProblemSelector = made.check(option_named)
    return checked


def _require_bounds(bounds: Mapping[str, float], method: PrivateSelector) -> None:
    """Raise `InvalidInput` unless all bounds that the method needs are given."""
    missing = [option_named(name) for name in method.bounds if name not in bounds]
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
    table, path = arguments.table, Path(arguments.table.data)
    asked = table.source, table.target, table.chosen
    named = "the largest of --sizes" if arguments.support_size is None else "--support-size"

    def of_columns(names: Sequence[str]) -> Problem:
        checked_integer(settings["support_size"], f"{path}: {named}", 1, len(names))
        with about(str(path)):
            return Problem.of_columns(len(names), names, **settings)

    def problem() -> tuple[Problem, int | None]:
        found = of_columns(header(*asked))
        with about(str(path)):
            return (found if blocks is None else block_scores.scored(blocks, found)), None

    def data() -> StoredData:
        X, y, names = read_table(*asked)
        found = of_columns(names)
        rows = Rows(found.layout.ordered(X), y)
        if blocks is None:
            return StoredData(path, found, rows)
        with about(str(path)):
            made = block_scores.scored_rows(blocks, found, rows)
        return StoredData(path, made.problem, made)

    return ProblemSource(problem, data, table.files)
