"""A good support to start from: forward selection, then the best swap until none helps."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import IntArray
from mipselect.losses.squared import PreparedSquared
from mipselect.search.progress import Run


def forward_selection(problem: PreparedSquared, size: int) -> IntArray:
    """Add the feature with the largest gain g_j²/h_j, `size` times; sorted indices, shape (s,)."""
    g = problem.moment.copy()
    h = problem.gram.diagonal + problem.ridge
    rows = np.empty((size, problem.gram.p))
    chosen: list[int] = []
    for k in range(size):
        gain = g**2 / h
        gain[chosen] = -1.0
        j = int(np.argmax(gain))
        pivot = np.sqrt(h[j])
        column = problem.gram.columns(np.asarray([j]))[:, 0]
        rows[k] = (column - rows[:k, j] @ rows[:k]) / pivot
        g = g - rows[k] * (g[j] / pivot)
        h = np.maximum(h - rows[k] ** 2, problem.ridge)
        chosen.append(j)
    return np.sort(np.asarray(chosen))


def best_by_swaps(
    problem: PreparedSquared, size: int, run: Run, *, most: int = 200
) -> tuple[IntArray, float]:
    """A support that no single swap improves, and its value; after `most` swaps any support.

    Any support would do as the centre of the search; a better one makes it faster.
    """
    support = forward_selection(problem, size)
    value = float(problem.values(support[None])[0])
    outside = np.setdiff1d(np.arange(problem.gram.p), support)
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
