"""A good support to start from: forward selection, then the best swap until none helps."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import IntArray
from mipselect.losses.squared import PreparedSquared
from mipselect.search.least_squares.additions import additions_to, greedy_completion
from mipselect.search.progress import Run


def forward_selection(problem: PreparedSquared, size: int) -> IntArray:
    """Add the feature that gains most, `size` times; sorted indices, shape (s,)."""
    none, everything = np.empty(0, dtype=np.intp), np.arange(problem.features.count)
    return greedy_completion(additions_to(problem, none, size, everything, 0.0, None))


def best_by_swaps(
    problem: PreparedSquared, size: int, run: Run, *, most: int = 200
) -> tuple[IntArray, float]:
    """A support that no single swap improves, and its value; after `most` swaps any support.

    Any support would do as the centre of the search; a better one makes it faster.
    """
    support = forward_selection(problem, size)
    value = float(problem.values(support[None])[0])
    outside = np.setdiff1d(np.arange(problem.features.count), support)
    for _ in range(most if len(outside) else 0):
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
