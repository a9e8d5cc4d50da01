"""Dual points for whole families of supports, in place of the optimum on their common base.

The bound of any dual point α on the supports B ∪ T, T of m live features, is decreasing in
Σ_{j∈B∪T} w_j². The optimum on B leaves large weights to features that would enter gainfully, and
to all that correlate with them. The optimum of the problem in which every live feature may enter
in part, feature j with the ridge λ/z_j for weights 0 ≤ z ≤ 1 with Σ z = m, does not: for the best z
it is the best dual point of the whole family (docs/mathematics/cuts.md, (16)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.fenchel import FenchelBounds, ScaledFenchelLoss
from mipselect.search.simplex import largest_sum, on_capped_simplex, step_along

PRECISION = 1e-5
"""Of the centres: relative duality gap that is aimed at."""

STEPS = 10
"""Centres that are tried for one family."""

HOPELESS = 4
"""Steps that are taken towards a bound that no centre reaches, to bound more of the features."""

ADMITTED = 6
"""Features that a centre is made of, in those that are to be added."""


@dataclass(frozen=True, eq=False)
class Choice:
    """So many of these features are in.

    Attributes
    ----------
    features : ndarray of int
    count : int
    """

    features: IntArray
    count: int

    def largest(self, weights: FloatArray) -> float:
        """The largest Σ w_j² of so many of them."""
        return largest_sum(weights[self.features], self.count)

    def likely(self, weights: FloatArray, count: int) -> IntArray:
        """Positions of those with the largest weights."""
        own = weights[self.features]
        count = min(count, len(own))
        return np.argpartition(-own, count - 1)[:count]


def proven(bounds: FenchelBounds, base: IntArray, choices: Sequence[Choice]) -> float:
    """Bound R from below on all supports of the family by the only dual point of `bounds`."""
    own = bounds.own(0, base)
    largest = sum(choice.largest(bounds.weights[0]) for choice in choices)
    return float(bounds.bound(0, np.asarray(own + largest)))


def best_centred(
    problem: ScaledFenchelLoss,
    base: IntArray,
    choices: Sequence[Choice],
    first: FenchelBounds,
    enough: float,
    *,
    steps: int = STEPS,
) -> FenchelBounds:
    """A dual point whose bound on a family of supports is high: `first` or a better one.

    Parameters
    ----------
    problem : ScaledFenchelLoss
    base : ndarray of int, shape (k,)
        In every support.
    choices : sequence of Choice
        Disjoint.
    first : FenchelBounds
        One dual point, where the centre begins.
    enough : float
        A bound on R that needs no improvement.
    steps : int
    """
    best, highest = first, proven(first, base, choices)
    features = np.concatenate([choice.features for choice in choices])
    ends = np.cumsum([len(choice.features) for choice in choices])
    places = np.split(np.arange(len(features)), ends[:-1])
    z, admitted = np.zeros(len(features)), np.zeros(len(features), dtype=bool)
    for choice, place in zip(choices, places, strict=True):
        start = place[choice.likely(first.weights[0], 2 * choice.count)]
        z[start] = choice.count / len(start)
        admitted[place[choice.likely(first.weights[0], ADMITTED * choice.count)]] = True
    before: tuple[FloatArray, FloatArray] | None = None
    for step in range(steps):
        if highest >= enough:
            break
        inside = np.flatnonzero(z)
        scales = np.sqrt(np.concatenate([np.ones(len(base)), z[inside]]))
        bounds = problem.scaled_bounds(
            np.concatenate([base, features[inside]]), scales, reach=1.0, precision=PRECISION
        )
        value = proven(bounds, base, choices)
        if value > highest:
            best, highest = bounds, value
        weights = bounds.weights[0]
        shares = weights[features]
        reachable = float(bounds.bound(0, np.asarray(bounds.own(0, base) + z @ shares)))
        if reachable < enough and step >= HOPELESS:
            break
        for choice, place in zip(choices, places, strict=True):
            admitted[place[choice.likely(weights, choice.count + 4)]] = True
        length = step_along(z, shares, before)
        before = z, shares
        z = np.zeros_like(z)
        for choice, place in zip(choices, places, strict=True):
            here = place[admitted[place]]
            z[here] = on_capped_simplex(before[0][here] + length * shares[here], choice.count)
    return best
