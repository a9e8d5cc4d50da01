"""The subproblem of the search: the m best additions to a base, by Schur complements.

For a base B the doubled value 2n·R(B ∪ T) is at least

    v_B - νr² - g_Tᵀ H_TT⁻¹ g_T,    A = G_BB + (λ+ν)I,   v_B = d - b_BᵀA⁻¹b_B,
    g = b - G_·B A⁻¹ b_B,           H = G + (λ+ν)I - G_·B A⁻¹ G_B·

for every ν ≥ 0, with equality where ν is the multiplier of the norm constraint on B ∪ T
(MATH, sections 2 and 4). The gain g_Tᵀ H_TT⁻¹ g_T is what this file bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.squared import EPS, PreparedSquared


@dataclass(frozen=True)
class Screening:
    """When blocks of G are formed for the sake of a bound.

    Attributes
    ----------
    dense : int
        Up to so many live features the block H_TT of all of them is formed.
    tops_columns : int
        Most live features for which a block of G is formed, and dropped, only to bound its rows.
    """

    dense: int = 512
    tops_columns: int = 1024


SCREENING = Screening()


@dataclass(frozen=True, eq=False)
class Additions:
    """Choose `size` of the features `live` to add to `base`.

    Attributes
    ----------
    problem : PreparedSquared
    ridge : float
        λ + ν.
    base : ndarray of int, shape (k,)
    size : int
        m ≥ 1, how many features are still to be added.
    live : ndarray of int, shape (L,)
        Features that may be added.
    whitened : ndarray of shape (k, L)
        W with H_jl = G_jl + (λ+ν)δ_jl - Σ_a W_aj W_al.
    g, h : ndarray of shape (L,)
        The vector g and the diagonal of H on the live features.
    base_value : float
        v_B - νr², the doubled value without any addition.
    row_tops : ndarray of shape (p, c) or None
        See `Gram.row_tops`; None where they have not been computed.
    screening : Screening
    """

    problem: PreparedSquared
    ridge: float
    base: IntArray
    size: int
    live: IntArray
    whitened: FloatArray
    g: FloatArray
    h: FloatArray
    base_value: float
    row_tops: FloatArray | None
    screening: Screening = SCREENING

    @property
    def slack(self) -> float:
        """Allowance for rounding in a doubled bound.

        The relative error of g²/h grows with the cancellation in h, at most from G_jj to λ+ν.
        """
        growth = 1.0 + float(np.max(self.problem.gram.diagonal)) / self.ridge
        return 16.0 * EPS * (len(self.base) + self.size + 1) * growth * self.problem.target_norm

    def lower_bound(self, gain: float) -> float:
        """Lower bound on R from an upper bound on the gain."""
        return (self.base_value - gain - self.slack) / (2.0 * self.problem.n)

    def needed_gain(self, threshold: float) -> float:
        """The gain that a set of additions must exceed for R to be below `threshold`."""
        return self.base_value - self.slack - 2.0 * self.problem.n * threshold

    def dense(self) -> FloatArray:
        """H on the live features, shape (L, L)."""
        H = self.problem.gram.block(self.live) - self.whitened.T @ self.whitened
        H[np.diag_indices_from(H)] = self.h
        return H

    def restricted(self, keep: IntArray) -> Additions:
        """The same subproblem with only the positions `keep` of `live`."""
        return replace(
            self,
            live=self.live[keep],
            whitened=self.whitened[:, keep],
            g=self.g[keep],
            h=self.h[keep],
        )

    def with_feature(self, position: int, keep: IntArray) -> Additions:
        """Move live[position] into the base; only the positions `keep` stay live."""
        j, pivot = self.live[position], float(np.sqrt(self.h[position]))
        column = self.problem.gram.entries(self.live[keep], j)
        row = (column - self.whitened[:, position] @ self.whitened[:, keep]) / pivot
        step = self.g[position] / pivot
        return Additions(
            self.problem,
            self.ridge,
            np.append(self.base, j),
            self.size - 1,
            self.live[keep],
            np.vstack([self.whitened[:, keep], row]),
            self.g[keep] - row * step,
            np.maximum(self.h[keep] - row**2, self.ridge),
            self.base_value - step**2,
            self.row_tops,
            self.screening,
        )


def additions_to(
    problem: PreparedSquared,
    base: IntArray,
    size: int,
    candidates: IntArray,
    multiplier: float,
    row_tops: FloatArray | None,
    screening: Screening = SCREENING,
) -> Additions:
    """Build the subproblem for one base; `multiplier` is the ν of the bounds, or a larger one."""
    multiplier = definite_multiplier(problem, len(base) + size, multiplier)
    ridge = problem.ridge + multiplier
    columns = problem.gram.columns(base)[candidates]
    factor = np.linalg.cholesky(problem.gram.block(base) + ridge * np.eye(len(base)))
    whitened = np.linalg.solve(factor, columns.T)
    solved = np.linalg.solve(factor, problem.moment[base])
    diagonal = problem.gram.diagonal[candidates] + ridge
    return Additions(
        problem,
        ridge,
        base,
        size,
        candidates,
        whitened,
        problem.moment[candidates] - whitened.T @ solved,
        np.maximum(diagonal - np.einsum("kj,kj->j", whitened, whitened), ridge),
        problem.target_norm - float(solved @ solved) - multiplier * problem.radius**2,
        row_tops,
        screening,
    )


def definite_multiplier(problem: PreparedSquared, size: int, multiplier: float) -> float:
    """The smallest ν ≥ `multiplier` for which G_SS + (λ+ν)I is positive definite as it is rounded.

    All |S| ≤ `size` are covered. Bounds are valid for every ν ≥ 0. Where this one is larger than
    what was asked for, `Additions.slack` is more than yᵀy with either, so nothing is bounded
    and nothing lost.
    """
    smallest = 16.0 * EPS * (size + 1) * float(np.max(problem.gram.diagonal))
    return max(multiplier, smallest - problem.ridge)


def gain_shares(sub: Additions) -> FloatArray:
    """u with g_Tᵀ H_TT⁻¹ g_T ≤ Σ_{j∈T} u_j for every T of `size` live features; shape (L,).

    With c = size - 1 and o_j at least the sum of the c largest |H_jl|, H_TT - diag(h - o) is
    diagonally dominant, so u_j = g_j²/(h_j - o_j) (MATH, section 4). Where some h_j - o_j is not
    positive, H ⪰ (λ+ν)I is mixed in for all rows alike: single rows must not be clamped.
    """
    others = min(sub.size, len(sub.live)) - 1
    if others <= 0:
        return sub.g**2 / sub.h
    return sub.g**2 / dominated_diagonal(sub.h, off_diagonal_sums(sub, others), sub.ridge)


def off_diagonal_sums(sub: Additions, count: int) -> FloatArray:
    """At least the sums of the `count` ≥ 1 largest |H_jl| over live l ≠ j, shape (L,)."""
    if len(sub.live) > sub.screening.dense:
        return _cheap_off_sums(sub, count)
    off = np.abs(sub.dense())
    np.fill_diagonal(off, 0.0)
    off.partition(len(off) - count, axis=1)
    return np.asarray(off[:, len(off) - count :].sum(axis=1))


def _cheap_off_sums(sub: Additions, count: int) -> FloatArray:
    """Bounds on the sums of the `count` largest |H_jl| that need no block of H, shape (L,).

    |H_jl| ≤ √((h_j - ridge)(h_l - ridge)), and |H_jl| ≤ |G_jl| + ‖W_j‖‖W_l‖ with the tops of G.
    """
    root = np.sqrt(sub.h - sub.ridge)
    off_sums = root * largest_sum(root, count)
    if sub.row_tops is not None:
        shrunk = np.sqrt(np.einsum("kj,kj->j", sub.whitened, sub.whitened))
        known = sub.row_tops[sub.live, count - 1] + shrunk * largest_sum(shrunk, count)
        off_sums = np.minimum(off_sums, known)
    return np.asarray(off_sums)


def dominated_diagonal(h: FloatArray, off_sums: FloatArray, ridge: float) -> FloatArray:
    """M = (λ+ν) + θD with D = h - (λ+ν) - off_sums and the largest safe θ ∈ [0, 1] (MATH, 3).

    H - M is positive semidefinite on every set of features whose off-diagonal row sums
    `off_sums` bounds, because θD is valid for H - (λ+ν)I whenever D is.
    """
    D = h - ridge - off_sums
    worst = float(np.min(D, initial=0.0))
    theta = 1.0 if worst > -0.5 * ridge else 0.5 * ridge / -worst
    return ridge + theta * D


def largest_sum(shares: FloatArray, count: int) -> float:
    """Sum of the `count` largest entries."""
    if count <= 0:
        return 0.0
    if count >= len(shares):
        return float(shares.sum())
    return float(np.partition(shares, len(shares) - count)[len(shares) - count :].sum())


def screened(
    sub: Additions, threshold: float, tick: Callable[[], None]
) -> tuple[Additions, FloatArray]:
    """Drop every live feature whose best completion cannot be below `threshold`.

    Returns the smaller subproblem and its shares; repeated as long as it drops much, for fewer
    live features have smaller off-diagonal sums. The tops of G among the live features are
    computed only when cheaper bounds have dropped what they can.
    """
    while True:
        shares = gain_shares(sub)
        if len(shares) < sub.size:
            return sub, shares
        keep = np.flatnonzero(_best_gains(shares, sub.size) > sub.needed_gain(threshold))
        much = len(keep) <= 0.7 * len(shares)
        if len(keep) < len(shares):
            sub, shares = sub.restricted(keep), shares[keep]
        if len(keep) < sub.size:
            return sub, shares
        if not much:
            known, limits = sub.row_tops is not None or sub.size == 1, sub.screening
            if known or not limits.dense < len(keep) <= limits.tops_columns:
                return sub, shares
            tops = sub.problem.gram.row_tops(sub.live, sub.size - 1, tick)
            sub = replace(sub, row_tops=tops)


def _best_gains(shares: FloatArray, size: int) -> FloatArray:
    """For every feature the largest sum of `size` shares that includes its own, shape (L,)."""
    if size == 1:
        return shares
    completion = largest_sum(shares, size - 1)
    last = np.partition(shares, len(shares) - size)[len(shares) - size]
    # A feature among the largest size-1 shares is completed by the next one instead.
    return np.asarray(completion + np.minimum(shares, last))


def greedy_completion(sub: Additions) -> IntArray:
    """Positions among the live features of the additions that forward selection makes."""
    positions = np.arange(len(sub.live))
    chosen: list[int] = []
    while sub.size > 0:
        j = int(np.argmax(sub.g**2 / sub.h))
        chosen.append(int(positions[j]))
        keep = np.delete(np.arange(len(positions)), j)
        sub, positions = sub.with_feature(j, keep), positions[keep]
    return np.sort(np.asarray(chosen))
