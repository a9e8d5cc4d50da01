"""Cuts: lower bounds on R that are affine in the 0/1 vector z of a support.

A cut says R(S) ≥ constant + Σ_{j∈S} coefficients_j for every S in the family it was made for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.fenchel import FenchelBounds
from mipselect.search.least_squares.additions import Additions, dominated_diagonal


@dataclass(frozen=True, eq=False)
class Cut:
    """constant + Σ_{j∈S} coefficients_j, in the units of the objective.

    Attributes
    ----------
    constant : float
    coefficients : ndarray of shape (L,)
        One per column of the master.
    """

    constant: float
    coefficients: FloatArray

    def at(self, positions: IntArray) -> FloatArray:
        """Bound at chosen columns, shape (m,) or (k, m)."""
        return np.asarray(self.constant + self.coefficients[positions].sum(axis=-1))

    def minimum(self, count: int) -> float:
        """Smallest bound over all choices of `count` columns: a sort."""
        return self.constant + float(np.sort(self.coefficients)[:count].sum())

    def tightened(self, floor: float) -> Cut:
        """The same cut with its coefficients, all ≤ 0, raised as far as a lower bound allows.

        Where every value is at least `floor`, nothing is lost by letting one column alone pull
        the cut down to it; the relaxation gets stronger and the numbers smaller.
        """
        lowest = min(floor - self.constant, 0.0)
        return Cut(self.constant, np.maximum(self.coefficients, lowest))


def fenchel_cut(
    bounds: FenchelBounds, row: int, own: float, credits: FloatArray, length: float
) -> Cut:
    """The bound of any dual point α as a cut (3.1), affine in the choice.

    R(B ∪ T') ≥ (1/n) [Σ_i -ℓ*(y_i, -α_i) - νr²/2 - Σ_{j∈B∪T'} w_j² / (2(λ+ν))], w = Xᵀα.

    The function h of the bound is concave in the sum of squares where the norm constraint is
    active; (λ+ν)⁻¹Σw²/2 + νr²/2 lies above it for every ν ≥ 0 and touches it where
    √Σw² = `length` and ν = max(0, length/r - λ). At the dual optimum on S and its own length the
    cut equals R(S) at S.

    Parameters
    ----------
    bounds : FenchelBounds
    row : int
        The dual point.
    own : float
        Σ w_j² over the base B.
    credits : ndarray of shape (L,)
        w_j² of the columns.
    length : float
        Where the cut is to be tightest.
    """
    nu = max(0.0, length / bounds.radius - bounds.ridge)
    shrink = 1.0 / (2.0 * (bounds.ridge + nu) * bounds.n)
    constant = bounds.constants[row] / bounds.n - nu * bounds.radius**2 / (2.0 * bounds.n)
    return Cut(float(constant) - shrink * own, -shrink * credits)


def sparse_diagonal_cut(sub: Additions, H: FloatArray, chosen: IntArray) -> Cut:
    """The cut (3.2) on the Schur-complemented problem, at any set T of live features.

    R(B ∪ T') ≥ R_ν(B ∪ T) + (1/2n) [Σ_{j∈T\\T'} M_j β_j² - Σ_{j∈T'\\T} w_j²/M_j] for |T'| = m,
    with β = H_TT⁻¹ g_T, w = g - H_·T β and a diagonal M such that H - M is positive semidefinite
    on T ∪ T'. With M = λ + ν this is (3.1); with T = ∅ it is the bound by shares.

    Parameters
    ----------
    sub : Additions
    H : ndarray of shape (L, L)
        ``sub.dense()``.
    chosen : ndarray of int
        Positions of T among the live features; its size need not be m.
    """
    L = len(sub.live)
    beta = np.linalg.solve(H[np.ix_(chosen, chosen)], sub.g[chosen])
    w = sub.g - H[:, chosen] @ beta
    M = dominated_diagonal(sub.h, _off_sums(np.abs(H), chosen, min(sub.size, L)), sub.ridge)
    kept = M[chosen] * beta**2
    coefficients = -(w**2) / M
    coefficients[chosen] = -kept
    doubled = sub.base_value - float(sub.g[chosen] @ beta) + float(kept.sum()) - sub.slack
    return Cut(doubled / (2.0 * sub.problem.n), coefficients / (2.0 * sub.problem.n))


def _off_sums(size_H: FloatArray, chosen: IntArray, count: int) -> FloatArray:
    """Row sums of |H_jl| over the l ≠ j of T ∪ T', for the worst T' of `count` features."""
    L = len(size_H)
    off = size_H.copy()
    np.fill_diagonal(off, 0.0)
    sums = off[:, chosen].sum(axis=1)
    off[:, chosen] = 0.0
    inside = np.zeros(L, dtype=bool)
    inside[chosen] = True
    for rows, worst in ((inside, count), (~inside, count - 1)):
        worst = min(worst, L - len(chosen))
        if worst > 0 and rows.any():
            part = np.partition(off[rows], L - worst, axis=1)[:, L - worst :]
            sums[rows] += part.sum(axis=1)
    return np.asarray(sums)
