"""The cut of the search for the squared loss: a diagonal that the matrix dominates."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import EPS
from mipselect.search.cuts import Cut
from mipselect.search.least_squares.dominance import dominated_diagonal
from mipselect.search.least_squares.node import SquaredNode


def sparse_diagonal_cut(node: SquaredNode, chosen: IntArray) -> Cut:
    r"""Compute the sparse-diagonal cut on the Schur complement, at any set T of live features.

    R(B ∪ T') ≥ R_ν(B ∪ T) + (1/2n) [Σ_{j∈T\T'} M_j β_j² - Σ_{j∈T'\T} w_j²/M_j] for |T'| = m,
    with β = H_TT⁻¹ g_T, w = g - H_·T β and a diagonal M such that H - M is positive semidefinite
    on T ∪ T' (docs/mathematics/cuts.md, (3)). With M = λ + ν it is the cut of a dual point, (2) of
    that page; with T = ∅ the bound by shares. Sums over features are sums over their columns, in
    the eigenvectors of `FeatureBlocks`.

    Parameters
    ----------
    node : SquaredNode
    chosen : ndarray of int
        Positions of T among the live features; its size need not be m.
    """
    blocks, single = node.blocks, node.problem.features.singles
    H, g = blocks.H, blocks.g
    inside = blocks.columns(chosen)
    beta = np.linalg.solve(H[np.ix_(inside, inside)], g[inside])
    w = g - H[:, inside] @ beta
    rounding = EPS * (len(inside) + 2) * (np.abs(g) + np.abs(H[:, inside]) @ np.abs(beta))
    norms = np.abs(H) if single else blocks.norms
    off_sums = _off_sums(norms, chosen, min(node.size, len(node.live)))
    M = dominated_diagonal(node.h, off_sums, node.ridge) if single else blocks.dominated(off_sums)
    # Any β will do if the gradient on T, which is zero at the exact one, is not left out.
    kept = beta * (M[inside] * beta + 2.0 * w[inside])
    slope = np.abs(w)
    slope[inside] = np.abs(M[inside] * beta + w[inside])
    coefficients = -blocks.sums((slope + rounding) ** 2 / M)
    fitted = float((g[inside] + w[inside]) @ beta)
    doubled = node.base_value - fitted + float(kept.sum()) - node.slack
    return Cut(doubled / (2.0 * node.problem.n), coefficients / (2.0 * node.problem.n))


def _off_sums(size_H: FloatArray, chosen: IntArray, count: int) -> FloatArray:
    """Add up |H_jl| over the l ≠ j of T ∪ T', by rows, for the worst T' of `count` features."""
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
