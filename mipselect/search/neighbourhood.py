"""Protocols of a search for its drivers, `top_supports` and `mistake_levels`, and of its engine."""

from __future__ import annotations

import itertools
import math
from typing import Protocol, TypeVar

import numpy as np

from mipselect.arrays import IntArray
from mipselect.restricted.prepared import PreparedLoss
from mipselect.search.collectors import Collector
from mipselect.search.progress import Run
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import Tuning

Sub = TypeVar("Sub", contravariant=True)
"""The subproblems of a kind of search, as `FenchelNode`."""


class Engine(Protocol[Sub]):
    """Solver of subproblems that are small enough for it."""

    @property
    def name(self) -> str:
        """The solver's name."""

    def takes(self, sub: Sub) -> bool:
        """Tell whether this screened subproblem (size ≥ 2) should be settled, not divided."""

    def settle(self, sub: Sub, collector: Collector, run: Run) -> bool:
        """Offer every support below the threshold, and settle a bound for all the others.

        The threshold is finite. False if it gives up: then the subproblem is divided.
        """


class Neighbourhood(Protocol):
    """A support Ŝ and the levels around it: level i are the supports at distance i."""

    @property
    def support(self) -> IntArray:
        """Ŝ, sorted, shape (s,)."""

    @property
    def value(self) -> float:
        """R(Ŝ)."""

    @property
    def levels(self) -> int:
        """L = min(s, p-s) + 1."""

    def fill(self, collector: Collector, count: int, run: Run) -> None:
        """Offer `count` supports, so that the search of a pool starts with a threshold."""

    def level_bound(self, level: int) -> float:
        """Bound R from below on a whole level, at the cost of a sort."""

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer every support of a level below the threshold; settle a bound for the rest.

        Where it is stopped, it settles what is proven of all that is open.
        """


class Method(Protocol):
    """A kind of search, tied to one problem and one engine."""

    @property
    def name(self) -> str:
        """The name of the engine."""

    def center(self, size: int, run: Run) -> Neighbourhood:
        """Find a support that no swap improves; a better one only makes the search faster."""

    def center_at(self, support: IntArray, value: float, run: Run) -> Neighbourhood:
        """Return the neighbourhood of a support whose value is known."""


def offer_nearby(
    support: IntArray,
    entering: IntArray,
    problem: PreparedLoss,
    collector: Collector,
    count: int,
    run: Run,
    tuning: Tuning,
) -> None:
    """Offer supports around Ŝ: with its one-swap neighbours at least `count`.

    Parameters
    ----------
    support : ndarray of int, shape (s,)
        Ŝ.
    entering : ndarray of int, shape (p-s,)
        The features outside it, the most gainful first; as few of them as give so many are used.
    problem : PreparedLoss
    collector : Collector
    count : int
    run : Run
    tuning : Tuning
    """
    if not tuning.uses(Strategy.NEARBY):
        return
    s = len(support)
    used = next(
        q
        for q in range(len(entering) + 1)
        if s * (len(entering) - q) + math.comb(s + q, s) >= count
    )
    for removed_count in range(2, min(s, used) + 1):
        pairs = itertools.product(
            itertools.combinations(support, s - removed_count),
            itertools.combinations(entering[:used], removed_count),
        )
        while some := list(itertools.islice(pairs, tuning.nearby)):
            run.tick()
            supports: IntArray = np.sort([kept + added for kept, added in some], axis=1)
            collector.offer(supports, problem.values(supports))
