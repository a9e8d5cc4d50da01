"""Protocols of a search for its drivers, `top_supports` and `mistake_levels`, and of its engine.

Level i splits into one subproblem for every set of i features that leave.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.discovery import NATIVE
from mipselect.search.collectors import Collector
from mipselect.search.progress import Deadline, Run

Sub = TypeVar("Sub")
"""The subproblems of a kind of search, as `FenchelNode`."""


class Engine(Generic[Sub]):
    """Solver of subproblems that are small enough for it; this one leaves all to be divided."""

    name = NATIVE

    def takes(self, sub: Sub) -> bool:
        """Tell whether this screened subproblem (size ≥ 2) should be settled, not divided."""
        return False

    def settle(self, sub: Sub, collector: Collector, run: Run) -> bool:
        """Offer every support below the threshold, and settle a bound for all the others.

        The threshold is finite. False if it gives up: then the subproblem is divided.
        """
        return False


class Neighbourhood(Protocol):
    """A support Ŝ and the levels around it: level i are the supports at distance i."""

    @property
    def support(self) -> IntArray:
        """Ŝ, sorted, shape (s,)."""

    @property
    def value(self) -> float:
        """R(Ŝ)."""

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

    def relaxation(self, size: int, grace: Deadline) -> float:
        """Bound R from below on all supports, and improve that bound until a deadline."""


def removed_sets(costs: FloatArray, count: int) -> Iterator[tuple[float, IntArray]]:
    """Yield all sets of `count` positions in order of their total cost.

    With the costs of the root cut this is the order of its bound, so that a search may stop at
    the first set whose bound is too high: all later ones are higher still.

    Parameters
    ----------
    costs : ndarray of shape (s,)
        Nonnegative.
    count : int
        Between 1 and s.

    Yields
    ------
    total : float
    positions : ndarray of int, shape (count,)
    """
    order = np.argsort(costs, kind="stable")
    ranked = costs[order]
    first = tuple(range(count))
    heap = [(float(ranked[:count].sum()), first)]
    seen = {first}
    while heap:
        total, ranks = heapq.heappop(heap)
        yield total, np.sort(order[list(ranks)])
        for k in range(count):
            after = ranks[k] + 1
            if after < len(ranked) and (k == count - 1 or after < ranks[k + 1]):
                moved = (*ranks[:k], after, *ranks[k + 1 :])
                if moved not in seen:
                    seen.add(moved)
                    heapq.heappush(heap, (float(ranked[list(moved)].sum()), moved))
