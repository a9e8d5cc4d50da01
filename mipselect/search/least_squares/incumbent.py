"""The incumbent of a search: forward selection, and then the best swap until none helps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
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


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A support, its value, and the values of all supports that differ from it by one feature.

    Attributes
    ----------
    support : ndarray of int, shape (s,)
        Sorted.
    value : float
    swapped : ndarray of shape (s, p-s) or None
        R with a feature of the support replaced by one that is not in it, both in rising order;
        None where they have not been evaluated, or one of them is no number.
    """

    support: IntArray
    value: float
    swapped: FloatArray | None = None


def best_by_swaps(
    problem: PreparedSquared, size: int, run: Run, tuning: Tuning = TUNING
) -> Incumbent:
    """Find a support that no single swap improves; after many swaps any support.

    Any support would do as the incumbent of the search; a better one makes it faster. All of G is
    held from now on where columns are few.
    """
    few = problem.features.size <= tuning.few_columns
    if problem.gram.fits and (few or not problem.features.singles):
        problem.gram.full()
    support = forward_selection(problem, size)
    value = float(problem.values(support[None])[0])
    if not tuning.uses(Strategy.SWAPS) or size == problem.features.count:
        return Incumbent(support, value)
    with run.accounts.trying(Strategy.SWAPS) as account:
        for _ in range(tuning.swaps):
            outside = np.setdiff1d(np.arange(problem.features.count), support)
            swapped = np.empty((size, len(outside)))
            for place in range(size):
                run.tick()
                swapped[place] = problem.values_of_additions(np.delete(support, place), outside)
            k, j = np.unravel_index(np.argmin(np.nan_to_num(swapped, nan=np.inf)), swapped.shape)
            if not swapped[k, j] < value:
                known = np.isfinite(swapped).all()
                return Incumbent(support, value, swapped if known else None)
            value, account.successes = float(swapped[k, j]), 1
            support = np.sort(np.append(np.delete(support, k), outside[j]))
    return Incumbent(support, value)


def offer_swapped(support: IntArray, swapped: FloatArray, collector: Collector) -> None:
    """Offer all supports that differ from this one by one feature, by their values, (s, p-s)."""
    outside = np.setdiff1d(np.arange(len(support) + swapped.shape[1]), support)
    for k, values in enumerate(swapped):
        kept = np.tile(np.delete(support, k), (len(outside), 1))
        collector.offer(np.sort(np.column_stack([kept, outside]), axis=1), values)
