"""Bounds on the gain around any coefficients: a constant and one share for every feature.

With P, D of `Convexity` and Q = H - P ⪰ 0, for every x and every set T of live features,

    g_Tᵀ H_TT⁻¹ g_T ≤ xᵀQx + Σ_{j∈T} (g - Qx)_jᵀ D_j⁻¹ (g - Qx)_j

(docs/mathematics/cuts.md, (9)). x = 0 gives the bound by shares alone; where columns are
correlated, x near the coefficients of good supports gives a far better one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import EPS
from mipselect.search.bounds.expansion import Before, ascended
from mipselect.search.bounds.modular import Budget, ModularBound
from mipselect.search.least_squares.curvature import Convexity
from mipselect.search.least_squares.node import SquaredNode


class Rounding:
    """By how much rounding may lower a doubled gain that is bounded around x.

    The computed g and Q belong to moments that are off by about k·EPS of their size, and products
    with x add K·EPS. What this changes is at most 2·e(√d + Σ|β_j|√G_jj + Σ|x_j|√G_jj)², at the β
    that has to be bounded.

    Parameters
    ----------
    node : SquaredNode
    """

    def __init__(self, node: SquaredNode) -> None:
        problem = node.problem
        self._longest_column = math.sqrt(float(problem.gram.diagonal.max()))
        longest = min(problem.radius, math.sqrt(problem.target_norm / problem.ridge))
        lengths = math.sqrt(problem.features.most_columns(node.size)) * longest
        self._reach = math.sqrt(problem.target_norm) + self._longest_column * lengths

    def allowance(self, x: FloatArray, eliminated: int) -> FloatArray:
        """For x in the last axis, when so many columns have been eliminated before."""
        terms = x.shape[-1] + eliminated + 8
        reach = self._reach + self._longest_column * np.abs(x).sum(axis=-1)
        return np.asarray(4.0 * EPS * terms * reach**2)


class Centring:
    """The bounds of one node around centres made of some of its features.

    Parameters
    ----------
    node : SquaredNode
    convexity : Convexity
    """

    def __init__(self, node: SquaredNode, convexity: Convexity) -> None:
        self._node, self._convexity = node, convexity
        self._rounding = Rounding(node)
        self.members: IntArray = np.empty(0, dtype=np.intp)
        self._Q: FloatArray = np.empty((len(node.g), 0))

    def admit(self, positions: IntArray) -> None:
        """Let centres be made of these features as well."""
        node = self._node
        known = np.zeros(len(node.live), dtype=bool)
        known[self.members] = True
        new = np.flatnonzero(np.bincount(positions, minlength=len(known)).astype(bool) & ~known)
        X = node.places(new)
        H = node.problem.gram.columns(node.columns[X])[node.columns]
        H -= node.whitened.T @ node.whitened[:, X]
        H[X, np.arange(len(X))] = node.h[X]
        self.members = np.concatenate([self.members, new])
        self._Q = np.hstack([self._Q, H - self._convexity.columns(X)])

    def around(self, weights: FloatArray) -> tuple[ModularBound, float]:
        """The bound at x = (Q + D/z)⁻¹ g for weights z ≥ 0 of the members, and gᵀx.

        gᵀx is what the best x could do at most: it is below the bound of every x on sets whose
        members are in with these weights.
        """
        node, features = self._node, self._node.problem.features
        chosen = node.live[self.members]
        X = node.places(self.members)
        root = np.sqrt(np.repeat(weights, features.widths[chosen]))
        system = root[:, None] * self._Q[X] * root + self._convexity.block(self.members)
        x = root * np.linalg.solve(system, root * node.g[X])
        Qx = self._Q @ x
        left = node.g - Qx
        constant = float(x @ Qx[X] + self._rounding.allowance(x, len(node.whitened)))
        return ModularBound(constant, self._convexity.gains(left)), float(node.g[X] @ x)


def best_centred(
    node: SquaredNode,
    convexity: Convexity,
    budgets: Sequence[Budget],
    start: FloatArray,
    cutoff: float,
) -> ModularBound:
    """A centre whose bound on all T within the budgets is small.

    The best weights maximise a concave function of z on {0 ≤ z ≤ 1, Σ z = count} whose gradient
    are the shares: projected steps of Barzilai and Borwein. Every step ends in a valid bound.

    Parameters
    ----------
    node : SquaredNode
    convexity : Convexity
    budgets : sequence of Budget
        Disjoint.
    start : ndarray of shape (L,)
        Weights to begin with, each within its budget.
    cutoff : float
        A bound on the gain that needs no improvement.
    """
    centring, limits = Centring(node, convexity), node.tuning.centred
    centring.admit(np.flatnonzero(start))
    z = start
    best, lowest = ModularBound(np.inf, np.zeros(len(start))), np.inf
    before: Before = None
    for step in range(limits.steps):
        bound, reachable = centring.around(z[centring.members])
        worst = bound.largest(budgets)
        if worst < lowest:
            best, lowest = bound, worst
        if lowest <= cutoff or lowest - reachable <= limits.close * (lowest - cutoff):
            break
        if step in limits.admitting and len(centring.members) < limits.members:
            _admit_promising(centring, budgets, bound, limits.promising)
        admitted = np.zeros((1, len(start)), dtype=bool)
        admitted[0, centring.members] = True
        here = z[None], bound.terms[None]
        z, before = ascended(*here, before, budgets, admitted)[0], here
    return best


def _admit_promising(
    centring: Centring, budgets: Sequence[Budget], bound: ModularBound, more: int
) -> None:
    promising = [b.positions[b.likely(bound.terms, b.count + more)] for b in budgets]
    centring.admit(np.concatenate(promising))
