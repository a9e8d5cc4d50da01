"""The cut of the search for the squared loss: a diagonal that the matrix dominates."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.squared import EPS
from mipselect.search.cuts import Cut
from mipselect.search.least_squares.additions import Additions, dominated_diagonal


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
    rounding = EPS * (len(chosen) + 2) * (np.abs(sub.g) + np.abs(H[:, chosen]) @ np.abs(beta))
    M = dominated_diagonal(sub.h, _off_sums(np.abs(H), chosen, min(sub.size, L)), sub.ridge)
    # Any β will do if the gradient on T, which is zero at the exact one, is not left out.
    kept = beta * (M[chosen] * beta + 2.0 * w[chosen])
    slope = np.abs(w)
    slope[chosen] = np.abs(M[chosen] * beta + w[chosen])
    coefficients = -((slope + rounding) ** 2) / M
    fitted = float((sub.g[chosen] + w[chosen]) @ beta)
    doubled = sub.base_value - fitted + float(kept.sum()) - sub.slack
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
