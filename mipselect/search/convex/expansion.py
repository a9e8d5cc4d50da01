"""Dual points for whole families of supports, in place of the optimum on their common base.

The bound of any dual point α on the supports B ∪ T, T of m live features, is decreasing in
Σ_{j∈B∪T} w_j². The optimum on B leaves large weights to features that would enter gainfully, and
to all that correlate with them. The optimum of the problem in which every live feature may enter
in part, feature j with the ridge λ/z_j for weights 0 ≤ z ≤ 1 with Σ z = m, does not: for the best z
it is the best dual point of the whole family (docs/mathematics/cuts.md, (16)).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.fenchel import FenchelBounds, ScaledFenchelLoss
from mipselect.search.bounds.expansion import Expansion
from mipselect.search.bounds.modular import Budget
from mipselect.search.tuning import TUNING, DualPoints


def proven(bounds: FenchelBounds, base: IntArray, budgets: Sequence[Budget]) -> float:
    """Bound R from below on all supports of the family by the only dual point of `bounds`."""
    own = bounds.own(0, base)
    largest = sum(budget.largest(bounds.weights[0]) for budget in budgets)
    return float(bounds.bound(0, np.asarray(own + largest)))


class DualExpansion(Expansion):
    """The best dual point of one family; terms are the squares of its weights.

    Parameters
    ----------
    problem : ScaledFenchelLoss
    base : ndarray of int, shape (k,)
    budgets : sequence of Budget
        Disjoint; positions are features.
    first : FenchelBounds
        One dual point.
    cutoff : float
        A bound on R that needs no improvement.
    limits : DualPoints
    """

    def __init__(
        self,
        problem: ScaledFenchelLoss,
        base: IntArray,
        budgets: Sequence[Budget],
        first: FenchelBounds,
        cutoff: float,
        limits: DualPoints = TUNING.dual_points,
    ) -> None:
        self._problem, self._base, self._families, self._limits = problem, base, budgets, limits
        self._features = np.concatenate([budget.positions for budget in budgets])
        ends = np.cumsum([len(budget.positions) for budget in budgets])
        places = np.split(np.arange(len(self._features)), ends[:-1])
        own = [Budget(place, budget.count) for place, budget in zip(places, budgets, strict=True)]
        super().__init__(own, np.array([-cutoff]), limits.steps, limits.promising)
        self.admitted = np.zeros((1, len(self._features)), dtype=bool)
        self.best, self.lowest[0] = first, -proven(first, base, budgets)

    def improved(self) -> FenchelBounds:
        """Find the best dual point by the features with the largest weights: `first` or better."""
        terms = self.best.weights[0][self._features]
        z = np.zeros((1, len(terms)))
        for budget in self.budgets:
            start = budget.positions[budget.likely(terms, self._limits.likely * budget.count)]
            z[0, start] = budget.count / len(start)
            begun = budget.likely(terms, self._limits.admitted * budget.count)
            self.admitted[0, budget.positions[begun]] = True
        if not self.lowest[0] <= self.needed[0]:
            self.improve(z)
        return self.best

    def tried(self, rows: IntArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Try the optimum of the problem in which feature j has the ridge λ/z_j."""
        inside = np.flatnonzero(z[0])
        bounds = self._problem.scaled_bounds(
            np.concatenate([self._base, self._features[inside]]),
            np.sqrt(np.concatenate([np.ones(len(self._base)), z[0, inside]])),
            reach=1.0,
            precision=self._limits.precision,
        )
        value = proven(bounds, self._base, self._families)
        if -value < self.lowest[0]:
            self.best, self.lowest[0] = bounds, -value
        terms = bounds.weights[0][self._features]
        own = np.asarray(bounds.own(0, self._base) + z[0] @ terms)
        return terms[None], -np.atleast_1d(bounds.bound(0, own))

    def enough(self, step: int, rows: IntArray, reachable: FloatArray) -> NDArray[np.bool_]:
        """Tell where the bound is enough, or no point will be enough and some have been tried."""
        hopeless = (reachable > self.needed) & (step >= self._limits.hopeless)
        return (self.lowest <= self.needed) | hopeless

    def admits(self, step: int) -> bool:
        """Return True at every step."""
        return True

    def admit(self, positions: IntArray) -> None:
        """Let points be made of these features as well."""
        self.admitted[0, positions] = True
