"""Cuts for the squared loss, by a diagonal that the matrix dominates, and the engine of masters."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import ModularBound
from mipselect.restricted.squared import EPS
from mipselect.search.collectors import Collector
from mipselect.search.cuts import OuterApproximation
from mipselect.search.least_squares.branch_and_bound import offer_additions
from mipselect.search.least_squares.node import SquaredNode
from mipselect.search.least_squares.shares import dominated_diagonal
from mipselect.search.progress import Run


def sparse_diagonal_cut(node: SquaredNode, chosen: IntArray) -> ModularBound:
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
    terms = blocks.sums((slope + rounding) ** 2 / M)
    fitted = float((g[inside] + w[inside]) @ beta)
    doubled = node.base_value - fitted + float(kept.sum()) - node.slack
    return ModularBound(-doubled / (2.0 * node.problem.n), terms / (2.0 * node.problem.n))


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


class SquaredMasters(OuterApproximation[SquaredNode]):
    """Engine of sparse-diagonal cuts and a MIP solver."""

    def takes(self, sub: SquaredNode) -> bool:
        """Tell whether it is screened, and a master may have its columns."""
        return sub.bound is not None and len(sub.live) <= self.limits.columns

    def settle(self, sub: SquaredNode, collector: Collector, run: Run) -> bool:
        """Evaluate what is few, or add cuts until nothing below the threshold is left."""
        if sub.number <= self.limits.enumerated:
            run.tick()
            (every,) = sub.sets(sub.number)
            offer_additions(sub, every, collector)
            return True
        none = np.empty(0, dtype=np.intp)
        cuts = [sparse_diagonal_cut(sub, T) for T in (none, sub.greedy_completion())]

        def visit(chosen: IntArray) -> tuple[float, ModularBound]:
            value = float(offer_additions(sub, chosen[None], collector)[0])
            return value, sparse_diagonal_cut(sub, chosen)

        return self.prove(cuts, sub.size, visit, collector, run)
