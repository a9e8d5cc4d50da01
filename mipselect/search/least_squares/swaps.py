"""A good support to start from: forward selection, then the best swap until none helps."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import IntArray
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.least_squares.node import gains_alone, greedy_completion, squared_node
from mipselect.search.progress import Run
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Tuning


def forward_selection(problem: PreparedSquared, size: int) -> IntArray:
    """Add the feature that gains most, `size` times; sorted indices, shape (s,)."""
    none, everything = np.empty(0, dtype=np.intp), np.arange(problem.features.count)
    whole = squared_node(problem, none, size, everything, 0.0, None)
    promising = np.argsort(-gains_alone(whole), kind="stable")[: whole.tuning.expanding.expected]
    problem.gram.expect(whole.columns[whole.places(promising)])
    return greedy_completion(whole)


def best_by_swaps(
    problem: PreparedSquared, size: int, run: Run, tuning: Tuning = TUNING
) -> tuple[IntArray, float]:
    """Find a support that no single swap improves, and its value; after many swaps any support.

    Any support would do as the incumbent of the search; a better one makes it faster. All of G is
    held from now on where columns are few.
    """
    few = problem.features.size <= tuning.few_columns
    if problem.gram.fits and (few or not problem.features.singles):
        problem.gram.full()
    support = forward_selection(problem, size)
    value = float(problem.values(support[None])[0])
    if not tuning.uses(Strategy.SWAPS) or size == problem.features.count:
        return support, value
    with run.accounts.trying(Strategy.SWAPS) as account:
        for _ in range(tuning.swaps):
            better, lower = best_swap(problem, support, value, run)
            if not lower < value:
                break
            support, value, account.successes = better, lower, 1
    return support, value


def best_swap(
    problem: PreparedSquared, support: IntArray, value: float, run: Run
) -> tuple[IntArray, float]:
    """Find the best support that differs by one feature, and its value, or keep this one."""
    outside = np.setdiff1d(np.arange(problem.features.count), support)
    best = support
    for k in range(len(support)):
        run.tick()
        kept = np.delete(support, k)
        values = problem.values_of_additions(kept, outside)
        j = int(np.argmin(values))
        if values[j] < value:
            best, value = np.sort(np.append(kept, outside[j])), float(values[j])
    return best, value
