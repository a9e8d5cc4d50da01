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

from mipselect.arrays import IntArray
from mipselect.restricted.fenchel import FenchelBounds, ScaledFenchelLoss
from mipselect.search.bounds.expansion import Before, ascended
from mipselect.search.bounds.modular import Budget
from mipselect.search.tuning import TUNING, DualPoints


def proven(bounds: FenchelBounds, base: IntArray, budgets: Sequence[Budget]) -> float:
    """Bound R from below on all supports of the family by the only dual point of `bounds`."""
    own = bounds.own(0, base)
    largest = sum(budget.largest(bounds.weights[0]) for budget in budgets)
    return float(bounds.bound(0, np.asarray(own + largest)))


def best_centred(
    problem: ScaledFenchelLoss,
    base: IntArray,
    budgets: Sequence[Budget],
    first: FenchelBounds,
    cutoff: float,
    limits: DualPoints = TUNING.dual_points,
) -> FenchelBounds:
    """A dual point whose bound on a family of supports is high: `first` or a better one.

    Parameters
    ----------
    problem : ScaledFenchelLoss
    base : ndarray of int, shape (k,)
        In every support.
    budgets : sequence of Budget
        Disjoint; positions are features.
    first : FenchelBounds
        One dual point, where the centre begins.
    cutoff : float
        A bound on R that needs no improvement.
    limits : DualPoints
    """
    best, highest = first, proven(first, base, budgets)
    features = np.concatenate([budget.positions for budget in budgets])
    ends = np.cumsum([len(budget.positions) for budget in budgets])
    places = np.split(np.arange(len(features)), ends[:-1])
    z, admitted = np.zeros(len(features)), np.zeros((1, len(features)), dtype=bool)
    for budget, place in zip(budgets, places, strict=True):
        start = place[budget.likely(first.weights[0], limits.likely * budget.count)]
        z[start] = budget.count / len(start)
        begun = budget.likely(first.weights[0], limits.admitted * budget.count)
        admitted[0, place[begun]] = True
    counts = [Budget(place, budget.count) for budget, place in zip(budgets, places, strict=True)]
    before: Before = None
    for step in range(limits.steps):
        if highest >= cutoff:
            break
        inside = np.flatnonzero(z)
        scales = np.sqrt(np.concatenate([np.ones(len(base)), z[inside]]))
        bounds = problem.scaled_bounds(
            np.concatenate([base, features[inside]]),
            scales,
            reach=1.0,
            precision=limits.precision,
        )
        value = proven(bounds, base, budgets)
        if value > highest:
            best, highest = bounds, value
        weights = bounds.weights[0]
        shares = weights[features]
        reachable = float(bounds.bound(0, np.asarray(bounds.own(0, base) + z @ shares)))
        if reachable < cutoff and step >= limits.hopeless:
            break
        for budget, place in zip(budgets, places, strict=True):
            admitted[0, place[budget.likely(weights, budget.count + limits.promising)]] = True
        here = z[None], shares[None]
        z, before = ascended(*here, before, counts, admitted)[0], here
    return best
