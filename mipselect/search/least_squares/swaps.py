"""A good support to start from: forward selection, then the best swap until none helps."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import IntArray
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.least_squares.node import greedy_completion, squared_node
from mipselect.search.progress import Run
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Tuning


def forward_selection(problem: PreparedSquared, size: int) -> IntArray:
    """Add the feature that gains most, `size` times; sorted indices, shape (s,)."""
    none, everything = np.empty(0, dtype=np.intp), np.arange(problem.features.count)
    return greedy_completion(squared_node(problem, none, size, everything, 0.0, None))


def best_by_swaps(
    problem: PreparedSquared, size: int, run: Run, tuning: Tuning = TUNING
) -> tuple[IntArray, float]:
    """A support that no single swap improves, and its value; after many swaps any support.

    Any support would do as the centre of the search; a better one makes it faster.
    """
    support = forward_selection(problem, size)
    value = float(problem.values(support[None])[0])
    outside = np.setdiff1d(np.arange(problem.features.count), support)
    most = tuning.swaps if len(outside) and tuning.uses(Strategy.SWAPS) else 0
    for _ in range(most):
        best = (value, -1, -1)
        for k in range(size):
            run.tick()
            values = problem.values_of_additions(np.delete(support, k), outside)
            j = int(np.argmin(values))
            best = min(best, (float(values[j]), k, j))
        if best[1] < 0:
            break
        value, k, j = best
        support[k], outside[j] = outside[j], support[k]
        support = np.sort(support)
    return support, value
