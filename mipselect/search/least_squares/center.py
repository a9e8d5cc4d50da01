"""The incumbent of a search: a support, and what the bounds around it need.

It is found by forward selection, and then by the best swap until none helps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.gram import Gram
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.node import (
    SquaredNode,
    gains_alone,
    greedy_completion,
    squared_node,
    squared_nodes,
)
from mipselect.search.progress import Run
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Tuning


class RowTops:
    """Sums of the largest entries of the rows of G, found when a search cannot do without.

    Parameters
    ----------
    gram : Gram
    candidates : ndarray of int, shape (L,)
    count : int
        How many entries at most are summed.

    Attributes
    ----------
    known : ndarray of shape (p, count) or None
        See `Gram.row_tops`; None before `find`.
    """

    def __init__(self, gram: Gram, candidates: IntArray, count: int) -> None:
        self._gram, self._candidates, self._count = gram, candidates, count
        self.known: FloatArray | None = None

    def find(self, tick: Callable[[], None]) -> None:
        """Look at all of G once."""
        self.known = self._gram.row_tops(self._candidates, self._count, tick)


@dataclass(frozen=True, eq=False)
class Center:
    """A support Ŝ around which all others are sorted by their distance.

    Attributes
    ----------
    problem : PreparedSquared
    support : ndarray of int, shape (s,)
        Sorted.
    value : float
        R(Ŝ).
    coef : ndarray of shape (c,)
        Coefficients of the columns of Ŝ.
    multiplier : float
        ν.
    whole : SquaredNode
        All supports of its size, with the ν of Ŝ.
    candidates : ndarray of int, shape (p-s,)
        The features outside Ŝ.
    tops : RowTops
        Tops of G among the candidates.
    """

    problem: PreparedSquared
    support: IntArray
    value: float
    coef: FloatArray
    multiplier: float
    whole: SquaredNode
    candidates: IntArray
    tops: RowTops

    @property
    def tuning(self) -> Tuning:
        """The numbers of the search."""
        return self.whole.tuning

    @property
    def ridge(self) -> float:
        """λ + ν."""
        return self.problem.ridge + self.multiplier

    def node(
        self, base: IntArray, size: int, candidates: IntArray, multiplier: float
    ) -> SquaredNode:
        """Return the node of `size` candidates added to a base, with what is known of G."""
        known = self.tops.known
        return squared_node(self.problem, base, size, candidates, multiplier, known, self.tuning)

    def nodes(self, bases: IntArray, size: int) -> list[SquaredNode]:
        """Return the nodes of `size` candidates added to bases, shape (m, k), with the ν of Ŝ."""
        known = self.tops.known
        given = self.problem, bases, size, self.candidates, self.multiplier, known, self.tuning
        return squared_nodes(*given)

    @cached_property
    def across(self) -> FloatArray:
        """H between all features and those of Ŝ, of one column each; shape (p, s)."""
        columns = self.problem.gram.columns(self.support)[: self.problem.features.count]
        whitened = self.whole.whitened
        return np.asarray(columns - whitened.T @ whitened[:, self.support])

    @cached_property
    def outside(self) -> SquaredNode:
        """The node of all candidates without a base."""
        return self.whole.restricted(self.candidates)

    @property
    def lean(self) -> bool:
        """True if little is known of G among the candidates, because it takes time to compute."""
        return self.problem.features.singles and self.tops.known is None

    @property
    def floor(self) -> float:
        """R(Ŝ), less what is lost where columns that are always in are eliminated first."""
        if self.problem.features.plain:
            return self.value
        return self.value - self.whole.slack / (2.0 * self.problem.n)


def center_at(
    problem: PreparedSquared, support: IntArray, value: float, run: Run, tuning: Tuning = TUNING
) -> Center:
    """Solve the restricted problem at `support` and gather what its cut needs."""
    fit = problem.fit(support)
    everything = np.arange(problem.features.count)
    candidates = np.setdiff1d(everything, support)
    none = np.empty(0, dtype=np.intp)
    whole = squared_node(problem, none, len(support), everything, fit.multiplier, None, tuning)
    tops = RowTops(problem.gram, candidates, max(1, min(len(support), len(candidates))))
    if problem.gram.held and problem.features.singles:
        tops.find(run.tick)
    return Center(problem, support, value, fit.coef, fit.multiplier, whole, candidates, tops)


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
            swapped = values_of_swaps(problem, support, outside, run)
            k, j = np.unravel_index(np.argmin(np.nan_to_num(swapped, nan=np.inf)), swapped.shape)
            if not swapped[k, j] < value:
                known = np.isfinite(swapped).all()
                return Incumbent(support, value, swapped if known else None)
            value, account.successes = float(swapped[k, j]), 1
            support = np.sort(np.append(np.delete(support, k), outside[j]))
    return Incumbent(support, value)


def values_of_swaps(
    problem: PreparedSquared, support: IntArray, outside: IntArray, run: Run
) -> FloatArray:
    """Compute R with each feature of a support replaced by each one outside, shape (s, p-s)."""
    values = np.empty((len(support), len(outside)))
    for k in range(len(support)):
        run.tick()
        values[k] = problem.values_of_additions(np.delete(support, k), outside)
    return values


def offer_swapped(support: IntArray, swapped: FloatArray, collector: Collector) -> None:
    """Offer all supports that differ from this one by one feature, by their values, (s, p-s)."""
    outside = np.setdiff1d(np.arange(len(support) + swapped.shape[1]), support)
    for k, values in enumerate(swapped):
        kept = np.tile(np.delete(support, k), (len(outside), 1))
        collector.offer(np.sort(np.column_stack([kept, outside]), axis=1), values)
