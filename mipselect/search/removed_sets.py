"""Removed sets: level i splits into one subproblem for every set of i features that leave."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from mipselect.arrays import FloatArray, IntArray


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
