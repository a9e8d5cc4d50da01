"""`plan_selection`: what a draw of `select` would find in a table, before it is opened."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np

from mipselect.arrays import IntArray
from mipselect.errors import NotCertified
from mipselect.mechanisms.base import Mechanism
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.mechanisms.supports.permute_and_flip import PermuteAndFlip
from mipselect.planning.simulation import MOST_TABLES, Question, Simulation, numbers_in_time
from mipselect.problem.block_scores import BlockOptions, BlockScores
from mipselect.problem.instance import Instance
from mipselect.search import top_supports
from mipselect.search.progress import Deadline
from mipselect.tables import TableSchema
from mipselect.tables.instances import ScoredTable
from mipselect.validation import checked_integer, checked_time_limit

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
class SelectionPlan:
    """Expected results of a selection. No data is in it.

    Attributes
    ----------
    question : Question
    tables : int
        How many were simulated.
    blocks : tuple of BlockOptions
        Score from blocks of n rows for every ε.
    drawn, best : tuple of Found
        Draws by permute-and-flip, and the best support itself, which is not private: one of each
        for every ε; empty where no table was done in time.

    Examples
    --------
    >>> from mipselect.planning import Question, SelectionPlan
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("dose", "weight", "days"), (0, 10)))
    >>> question = Question(schema=schema, target="days", rows=500, support_size=1)
    >>> SelectionPlan(question, tables=0, blocks=(), drawn=(), best=()).chance_level
    0.5
    """

    question: Question
    tables: int
    blocks: tuple[BlockOptions, ...]
    drawn: tuple[Found, ...]
    best: tuple[Found, ...]

    @property
    def features(self) -> int:
        """Number of fields to choose from."""
        return len(self.question.public.features)

    @property
    def chance_level(self) -> float:
        """Expected share of the right columns found without looking: s/p."""
        return self.question.support_size / self.features


def plan_selection(
    schema: TableSchema, *, tables: int = 20, time_limit: float = 10.0, **question: Any
) -> SelectionPlan:
    """Simulate tables with the ranges and categories of a schema, and select from them.

    Nothing of a user's data is read: rows are made up from the schema and from stated guesses, so
    that the public choices of a selection can be made before the table is opened. The selection is
    what `select` does by itself: permute-and-flip from blocks of rows.

    Parameters
    ----------
    schema : TableSchema
    tables : int
        How many are simulated at most.
    time_limit : float
        Seconds for all of it. What takes longer for the first table is left out.
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
    >>> round(plan.drawn[0].found, 2), plan.best[0].found
    (1.0, 1.0)
    """
    asked = Question(schema=schema, **question)
    limit = Deadline(checked_time_limit(time_limit))
    blocks = tuple(map(asked.blocks, asked.epsilons))
    simulation, done = Simulation(asked), list[list[tuple[Chance, Chance]]]()
    for number in numbers_in_time(checked_integer(tables, "tables", 1, MOST_TABLES), limit):
        clock = Deadline(limit.remaining if number else limit.limit)
        try:
            done.append(chances(simulation, number, blocks, clock))
        except NotCertified:
            break
    drawn, best = (
        tuple(_found([table[k][which] for table in done]) for k in range(len(blocks)) if done)
        for which in (0, 1)
    )
    return SelectionPlan(asked, len(done), blocks, drawn, best)


def chances(
    simulation: Simulation, number: int, blocks: Sequence[BlockOptions], clock: Deadline
) -> list[tuple[Chance, Chance]]:
    """Return what a draw from a table finds at every ε, and what its best support has.

    Raises
    ------
    NotCertified
        If time is up.
    """
    question, right = simulation.question, simulation.right(number)
    table = simulation.table(number, question.rows)
    seed, draws = simulation.partition_seed(number), random.Random(f"{question.seed} {number}")
    made: dict[BlockOptions, tuple[Instance | BlockScores, Chance]] = {}
    found = []
    for k, (epsilon, options) in enumerate(zip(question.epsilons, blocks, strict=True)):
        if options not in made:
            placed = replace(options, partition_seed=seed)
            source = ScoredTable(table, question.table, question.support_size, {}, placed).made()
            share = float(np.isin(best_support(source, left(clock)), right).mean())
            made[options] = source, (share, float(share == 1.0))
        source, best = made[options]
        law = PermuteAndFlip(source, epsilon, time_limit=left(clock) / (len(blocks) - k))
        law.prepare()
        found.append((chance(law, right, draws, clock), best))
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
        left(clock)
    shares = np.isin(drawn, right).mean(axis=1)
    return float(shares.mean()), float((shares == 1.0).mean())


def best_support(source: Instance | BlockScores, time_limit: float) -> IntArray:
    """Return the best support itself: what these rows leave unknown without any noise."""
    if isinstance(source, Instance):
        return np.asarray(top_supports(source, 1, time_limit=time_limit).supports[0])
    every = combinations(range(source.n_features), source.support_size)
    return np.array(next(islice(every, int(source.all_scores.argmax()), None)))


def left(clock: Deadline) -> float:
    """Return the seconds that are left; raise `NotCertified` if there are none."""
    if clock.remaining <= 0.0:
        words = f"time limit of {clock.limit:g} s reached"
        raise NotCertified(words, bound=-math.inf, incumbent=math.inf)
    return clock.remaining


def standard_error(values: Sequence[float]) -> float | None:
    """Estimate the error of a mean over tables; None for a single one."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def _found(by_table: Sequence[Chance]) -> Found:
    """Sum up what was found in each table."""
    shares, every = zip(*by_table, strict=True)
    return Found(float(np.mean(shares)), standard_error(shares), float(np.mean(every)))
