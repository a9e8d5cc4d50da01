"""Bounds on the gain around any coefficients: a constant and one share for every feature.

With P, D of `Convexity` and Q = H - P ⪰ 0, for every x and every set T of live features,

    g_Tᵀ H_TT⁻¹ g_T ≤ xᵀQx + Σ_{j∈T} (g - Qx)_jᵀ D_j⁻¹ (g - Qx)_j

(docs/mathematics/cuts.md, (9)). x = 0 gives the bound by shares alone; where columns are
correlated, x near the coefficients of good supports gives a far better one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.squared import EPS
from mipselect.search.least_squares.additions import Additions
from mipselect.search.least_squares.curvature import Convexity
from mipselect.search.simplex import largest_sum, on_capped_simplex, step_along

STEPS = 15
"""Centres that are tried for one bound."""

MEMBERS = 192
"""Most features that a centre is made of."""

ADMITTING = (0, 1, 3, 6)
"""Steps after which further features may become part of the centre."""

CLOSE = 0.02
"""Of what is missing to the needed bound: a centre that is so close to the best is kept."""


@dataclass(frozen=True, eq=False)
class GainBound:
    """gain(T) ≤ constant + Σ_{j∈T} shares_j.

    Attributes
    ----------
    constant : float
        ``inf`` where nothing is known: a number that is none bounds nothing.
    shares : ndarray of shape (L,)
    """

    constant: float
    shares: FloatArray

    def __post_init__(self) -> None:
        if not (self.constant > -math.inf and (self.shares > -math.inf).all()):
            object.__setattr__(self, "constant", math.inf)
            object.__setattr__(self, "shares", np.zeros(len(self.shares)))


@dataclass(frozen=True, eq=False)
class Budget:
    """So many features of T are among these.

    Attributes
    ----------
    positions : ndarray of int
        Among the live features.
    count : int
    """

    positions: IntArray
    count: int

    def worst(self, bound: GainBound) -> float:
        """The largest sum of their shares."""
        return largest_sum(bound.shares[self.positions], self.count)


def worst_gain(bound: GainBound, budgets: Sequence[Budget]) -> float:
    """The largest bound on the gain of a set within the budgets."""
    return bound.constant + sum(budget.worst(bound) for budget in budgets)


class Rounding:
    """By how much rounding may lower a doubled gain that is bounded around x.

    The computed g and Q belong to moments that are off by about k·EPS of their size, and products
    with x add K·EPS. What this changes is at most 2·e(√d + Σ|β_j|√G_jj + Σ|x_j|√G_jj)², at the β
    that has to be bounded.

    Parameters
    ----------
    sub : Additions
    """

    def __init__(self, sub: Additions) -> None:
        problem = sub.problem
        self._longest_column = math.sqrt(float(problem.gram.diagonal.max()))
        longest = min(problem.radius, math.sqrt(problem.target_norm / problem.ridge))
        lengths = math.sqrt(problem.features.most_columns(sub.size)) * longest
        self._reach = math.sqrt(problem.target_norm) + self._longest_column * lengths

    def allowance(self, x: FloatArray, eliminated: int) -> FloatArray:
        """For x in the last axis, when so many columns have been eliminated before."""
        terms = x.shape[-1] + eliminated + 8
        reach = self._reach + self._longest_column * np.abs(x).sum(axis=-1)
        return np.asarray(4.0 * EPS * terms * reach**2)


class Centring:
    """The bounds of one subproblem around centres made of some of its features.

    Parameters
    ----------
    sub : Additions
    convexity : Convexity
    """

    def __init__(self, sub: Additions, convexity: Convexity) -> None:
        self._sub, self._convexity = sub, convexity
        self._rounding = Rounding(sub)
        self.members: IntArray = np.empty(0, dtype=np.intp)
        self._Q: FloatArray = np.empty((len(sub.g), 0))

    def admit(self, positions: IntArray) -> None:
        """Let centres be made of these features as well."""
        sub = self._sub
        known = np.zeros(len(sub.live), dtype=bool)
        known[self.members] = True
        new = np.flatnonzero(np.bincount(positions, minlength=len(known)).astype(bool) & ~known)
        X = sub.places(new)
        H = sub.problem.gram.columns(sub.columns[X])[sub.columns]
        H -= sub.whitened.T @ sub.whitened[:, X]
        H[X, np.arange(len(X))] = sub.h[X]
        self.members = np.concatenate([self.members, new])
        self._Q = np.hstack([self._Q, H - self._convexity.columns(X)])

    def around(self, weights: FloatArray) -> tuple[GainBound, float]:
        """The bound at x = (Q + D/z)⁻¹ g for weights z ≥ 0 of the members, and gᵀx.

        gᵀx is what the best x could do at most: it is below the bound of every x on sets whose
        members are in with these weights.
        """
        sub, features = self._sub, self._sub.problem.features
        chosen = sub.live[self.members]
        X = sub.places(self.members)
        root = np.sqrt(np.repeat(weights, features.widths[chosen]))
        system = root[:, None] * self._Q[X] * root + self._convexity.block(self.members)
        x = root * np.linalg.solve(system, root * sub.g[X])
        Qx = self._Q @ x
        left = sub.g - Qx
        constant = float(x @ Qx[X] + self._rounding.allowance(x, len(sub.whitened)))
        return GainBound(constant, self._convexity.gains(left)), float(sub.g[X] @ x)


def best_centred(
    sub: Additions,
    convexity: Convexity,
    budgets: Sequence[Budget],
    start: FloatArray,
    enough: float,
) -> GainBound:
    """A centre whose bound on all T within the budgets is small.

    The best weights maximise a concave function of z on {0 ≤ z ≤ 1, Σ z = count} whose gradient
    are the shares: projected steps of Barzilai and Borwein. Every step ends in a valid bound.

    Parameters
    ----------
    sub : Additions
    convexity : Convexity
    budgets : sequence of Budget
        Disjoint.
    start : ndarray of shape (L,)
        Weights to begin with, each within its budget.
    enough : float
        A bound on the gain that needs no improvement.
    """
    centring = Centring(sub, convexity)
    centring.admit(np.flatnonzero(start))
    z = start
    best, lowest = GainBound(np.inf, np.zeros(len(start))), np.inf
    before: tuple[FloatArray, FloatArray] | None = None
    for step in range(STEPS):
        bound, reachable = centring.around(z[centring.members])
        worst = worst_gain(bound, budgets)
        if worst < lowest:
            best, lowest = bound, worst
        if lowest <= enough or lowest - reachable <= CLOSE * (lowest - enough):
            break
        if step in ADMITTING and len(centring.members) < MEMBERS:
            _admit_promising(centring, budgets, bound)
        length = step_along(z, bound.shares, before)
        before = z, bound.shares
        z = np.zeros_like(start)
        admitted = np.zeros(len(start), dtype=bool)
        admitted[centring.members] = True
        for budget in budgets:
            here = budget.positions[admitted[budget.positions]]
            moved = before[0][here] + length * bound.shares[here]
            z[here] = on_capped_simplex(moved, budget.count)
    return best


def _admit_promising(centring: Centring, budgets: Sequence[Budget], bound: GainBound) -> None:
    promising = []
    for budget in budgets:
        count = min(len(budget.positions), budget.count + 4)
        shares = bound.shares[budget.positions]
        top = np.argpartition(-shares, count - 1)[:count]
        promising.append(budget.positions[top])
    centring.admit(np.concatenate(promising))
