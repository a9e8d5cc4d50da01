"""`plan_selection`: what selections would find in a table, before it is opened."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np

from mipselect.arrays import IntArray
from mipselect.errors import InvalidInput, NotCertified
from mipselect.mechanisms.base import Mechanism
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.planning.question import Question
from mipselect.planning.simulation import MOST_TABLES, Simulation, numbers_in_time
from mipselect.problem.block_scores import BlockOptions, BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.scores import BLOCKS, LOSS
from mipselect.search import top_supports
from mipselect.search.progress import Deadline
from mipselect.selectors import BY_NAME
from mipselect.selectors.exact_draws import ExactDrawSelector
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables import TableSchema
from mipselect.tables.instances import ScoredTable
from mipselect.validation import checked_integer, checked_time_limit, listed

WITHOUT_PRIVACY = "without privacy"

Chance = tuple[float, float]
"""Expected share of the right columns in a draw, and the probability of all of them."""

DRAWS, LEAST_DRAWS = 50, 10
"""Draws from a law whose probabilities are not listed, and the least number where time is short."""


@dataclass(frozen=True)
class Found:
    """Expected result of a draw at one ε, the mean over simulated tables.

    Attributes
    ----------
    found : float
        Expected share of the columns that matter.
    standard_error : float or None
        Error of `found`; None for a single table.
    all_found : float
        Probability of all columns that matter.

    Examples
    --------
    >>> from mipselect.planning import Found
    >>> Found(found=0.75, standard_error=None, all_found=0.5).found
    0.75
    """

    found: float
    standard_error: float | None
    all_found: float


@dataclass(frozen=True)
class Line:
    """Expected results of one method.

    Attributes
    ----------
    method : str
        Or "without privacy", for the best support itself.
    score : {"blocks", "loss"}
        From blocks of rows (`SelectionPlan.blocks`), or from rows that are clipped to ranges, be it
        of a loss or the method's own.
    cells : tuple of Found
        One for every ε; empty where no table was done in time.

    Examples
    --------
    >>> from mipselect.planning import Line
    >>> Line("permute-and-flip", "blocks").name, Line("kendall", "loss").name
    ('permute-and-flip, blocks', 'kendall')
    """

    method: str
    score: str
    cells: tuple[Found, ...] = ()

    @property
    def name(self) -> str:
        """Method, with its score where it draws by that of a support."""
        of_supports = self.method in BY_NAME and BY_NAME[self.method].of_supports
        return f"{self.method}, {self.score}" if of_supports else self.method


@dataclass(frozen=True)
class SelectionPlan:
    """Expected results of selections. No data is in it.

    Attributes
    ----------
    question : Question
    tables : int
        How many were simulated.
    blocks : tuple of BlockOptions
        Score from blocks of n rows for every ε; empty where the score in question is the loss.
    lines : tuple of Line
        One for every method, and one of the best support itself, by the score in question.

    Examples
    --------
    >>> from mipselect.planning import Question, SelectionPlan
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("dose", "weight", "days"), (0, 10)))
    >>> question = Question(schema=schema, target="days", rows=500, support_size=1)
    >>> SelectionPlan(question, tables=0, blocks=(), lines=()).chance_level
    0.5
    """

    question: Question
    tables: int
    blocks: tuple[BlockOptions, ...]
    lines: tuple[Line, ...]

    @property
    def features(self) -> int:
        """Number of fields to choose from."""
        return len(self.question.public.features)

    @property
    def chance_level(self) -> float:
        """Expected share of the right columns found without looking: s/p."""
        return self.question.support_size / self.features


def plan_selection(
    schema: TableSchema,
    *,
    methods: Sequence[str] = ("permute-and-flip",),
    tables: int = 20,
    time_limit: float = 10.0,
    **question: Any,
) -> SelectionPlan:
    """Simulate tables with the ranges and categories of a schema, and select from them.

    Nothing of a user's data is read: rows are made up from the schema and from stated guesses, so
    that the public choices of a selection can be made before the table is opened.

    Parameters
    ----------
    schema : TableSchema
    methods : sequence of str
        Methods of `select`; default what it does by itself. Where a field has no range,
        "permute-and-flip" and "exponential" only; with a survey weight no method that draws from
        scores.
    tables : int
        How many are simulated at most.
    time_limit : float
        Seconds for all of it; one table is scored in any case. A method that takes more than its
        share of them for the first table is left out.
    **question
        target, rows, support_size, epsilons and others: see `Question`.

    Returns
    -------
    SelectionPlan

    Raises
    ------
    InvalidInput
        For what is wrong with the schema, the question or a guess.

    Notes
    -----
    Where supports are listed the probabilities of exact draws are computed for every table, so
    that the standard errors are those of the tables alone; else they are relative frequencies.
    Where block R² takes more than half a second of a table, fewer partitions are drawn than by
    `select`, which then finds a little more. A plan guarantees nothing: real columns are correlated
    otherwise, and their effects are not equally strong.

    Examples
    --------
    >>> from mipselect.planning import plan_selection
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("dose", "weight", "days"), (0, 10)))
    >>> plan = plan_selection(
    ...     schema, target="days", rows=500, support_size=1, epsilons=[1.0], tables=2
    ... )
    >>> plan.blocks[0].score, plan.blocks[0].block_rows
    ('block-r2', 12)
    >>> [(line.name, round(line.cells[0].found, 2)) for line in plan.lines]
    [('permute-and-flip, blocks', 1.0), ('without privacy', 1.0)]
    """
    asked = Question(schema=schema, **question)
    limit = Deadline(checked_time_limit(time_limit))
    of_blocks = asked.score != LOSS
    named = (*dict.fromkeys(checked_methods(methods, asked)), WITHOUT_PRIVACY)
    by_any_score = (*methods_of(ExactDrawSelector), WITHOUT_PRIVACY)
    lines = [Line(name, BLOCKS if of_blocks and name in by_any_score else LOSS) for name in named]
    found: dict[Line, list[list[Chance]]] = {line: [] for line in lines}
    blocks = tuple(asked.blocks(epsilon) for epsilon in asked.epsilons if of_blocks)
    simulation = Simulation(asked)
    for number in numbers_in_time(checked_integer(tables, "tables", 1, MOST_TABLES), limit):
        made = SimulatedTable(simulation, number)
        chances: dict[Line, list[Chance]] = {}
        for line in lines:
            sources = [made.source(line.score, epsilon) for epsilon in asked.epsilons]
            # What is slow on the first table takes no time of the others, and is left out.
            share = limit.limit / len(lines) if number == 0 else limit.remaining
            with suppress(NotCertified):
                chances[line] = made.chances(line, sources, Deadline(share))
        if number > 0 and len(chances) < len(lines):
            break
        lines = list(chances)
        for line in lines:
            found[line].append(chances[line])
    return SelectionPlan(
        asked,
        max(map(len, found.values())),
        blocks,
        tuple(
            replace(line, cells=tuple(map(_found, zip(*by_table, strict=True))))
            for line, by_table in found.items()
        ),
    )


def methods_of(kind: type[Any]) -> tuple[str, ...]:
    """Return the methods whose selectors are of a kind."""
    return tuple(name for name in BY_NAME if issubclass(BY_NAME[name], kind))


def checked_methods(methods: Sequence[str], question: Question) -> Sequence[str]:
    """Return the methods.

    Raises
    ------
    InvalidInput
        For a method that is unknown, or that needs ranges where there are none, or that takes no
        weights where there are some.
    """
    for name in methods:
        if name not in BY_NAME:
            raise InvalidInput(
                f"methods: {name!r} is unknown; known to a plan: {', '.join(BY_NAME)}"
            )
        if question.weighted and not issubclass(BY_NAME[name], ProblemSelector):
            raise InvalidInput(
                f"methods: {name!r} counts all rows the same, and the schema has a survey weight: "
                f"{listed(methods_of(ProblemSelector))} take weights"
            )
        if question.without_range and not issubclass(BY_NAME[name], ExactDrawSelector):
            raise InvalidInput(
                f"methods: {name!r} is planned for tables with ranges, and there is none of "
                f"{listed(question.without_range)}"
            )
    return methods


class SimulatedTable:
    """A simulated table, its scores, each computed once, and the columns that matter in it."""

    def __init__(self, simulation: Simulation, number: int) -> None:
        self.question, self.number = simulation.question, number
        self.right = simulation.right(number)
        self._table = simulation.table(number, self.question.rows)
        self._partition_seed = simulation.partition_seed(number)
        self._made: dict[BlockOptions | None, Instance | BlockScores] = {}

    def source(self, score: str, epsilon: float) -> Instance | BlockScores:
        """Return what is drawn from at ε; all supports are scored by block R², in any time."""
        question = self.question
        options = None
        if score != LOSS:
            options = replace(question.blocks(epsilon), partition_seed=self._partition_seed)
        if options not in self._made:
            settings = {"coef_bound": question.bound, "ridge": question.penalty}
            settings |= {"intercept": question.intercept}
            scored = ScoredTable(
                self._table, question.table, question.support_size, settings, options
            )
            made = self._made[options] = scored.made()
            if isinstance(made, BlockScores):
                made.all_scores  # noqa: B018  (computed once, and kept)
        return self._made[options]

    def chances(
        self, line: Line, sources: Sequence[Instance | BlockScores], clock: Deadline
    ) -> list[Chance]:
        """Return what a draw finds from its source at every ε.

        Raises
        ------
        NotCertified
            If time is up.
        """
        words = f"{self.question.seed} {self.number} {line.name}"
        draws, found = random.Random(words), []
        for k, (epsilon, source) in enumerate(zip(self.question.epsilons, sources, strict=True)):
            own = clock.remaining / (len(sources) - k)
            if own <= 0.0:
                raise time_is_up(clock)
            if line.method == WITHOUT_PRIVACY:
                share = float(np.isin(best_support(source, own), self.right).mean())
                found.append((share, float(share == 1.0)))
                continue
            selector = BY_NAME[line.method](epsilon=epsilon)
            known = {"relation": "replace-one", "time_limit": own}
            selector.set_params(**{k: v for k, v in known.items() if k in selector.get_params()})
            law = selector.on(source, draws)  # type: ignore[arg-type]
            found.append(chance(law, self.right, draws, clock))
        return found


def chance(law: Mechanism[Any], right: IntArray, source: random.Random, clock: Deadline) -> Chance:
    """Return what a draw finds.

    The numbers are exact where the law lists all supports, else frequencies.
    """
    if isinstance(law, ExactDraws) and law.listed:
        each = law.inclusion_probabilities()
        return float(each[right].mean()), math.exp(law.log_probability(right))
    drawn: list[tuple[int, ...]] = []
    while len(drawn) < DRAWS and clock.remaining > 0.0:
        drawn.append(tuple(law.sample(source)))
    if len(drawn) < LEAST_DRAWS:
        raise time_is_up(clock)
    shares = np.isin(drawn, right).mean(axis=1)
    return float(shares.mean()), float((shares == 1.0).mean())


def best_support(source: Instance | BlockScores, time_limit: float) -> IntArray:
    """Return the best support itself: what these rows leave unknown without any noise."""
    if isinstance(source, Instance):
        return np.asarray(top_supports(source, 1, time_limit=time_limit).supports[0])
    every = combinations(range(source.n_features), source.support_size)
    return np.array(next(islice(every, int(source.all_scores.argmax()), None)))


def time_is_up(clock: Deadline) -> NotCertified:
    """Return the error for what takes too long."""
    words = f"time limit of {clock.limit:g} s reached"
    return NotCertified(words, bound=-math.inf, incumbent=math.inf)


def standard_error(values: Sequence[float]) -> float | None:
    """Estimate the error of a mean over tables; None for a single one."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def _found(by_table: Sequence[Chance]) -> Found:
    shares, every = zip(*by_table, strict=True)
    return Found(float(np.mean(shares)), standard_error(shares), float(np.mean(every)))
