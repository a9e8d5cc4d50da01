"""The subproblem of the search: the m best additions to a base, by Schur complements.

For a base B the doubled value 2n·R(B ∪ T) is at least

    v_B - νr² - g_Tᵀ H_TT⁻¹ g_T,    A = G_BB + (λ+ν)I,   v_B = d - b_BᵀA⁻¹b_B,
    g = b - G_·B A⁻¹ b_B,           H = G + (λ+ν)I - G_·B A⁻¹ G_B·

for every ν ≥ 0, with equality where ν is the multiplier of the norm constraint on B ∪ T
(docs/mathematics/cuts.md, (6)). The gain g_Tᵀ H_TT⁻¹ g_T is what this file bounds. B and T stand
for their columns, and the columns that are always in belong to B.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.squared import EPS, PreparedSquared
from mipselect.search.least_squares.blocks import Blocks, in_own_eigenvectors
from mipselect.search.least_squares.dominance import dominated_diagonal, largest_sums
from mipselect.search.least_squares.near_columns import LiveSets
from mipselect.search.simplex import largest_sum


@dataclass(frozen=True)
class Screening:
    """When blocks of G are formed for the sake of a bound.

    Attributes
    ----------
    small : int
        Up to so many live features that block is formed without looking at cheaper bounds first.
    dense : int
        Up to so many live features the block H_TT of all of them is formed.
    tops_columns : int
        Most live features for which a block of G is formed, and dropped, only to bound its rows.
    """

    small: int = 128
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
    whitened : ndarray of shape (K, C)
        W with H_jl = G_jl + (λ+ν)δ_jl - Σ_a W_aj W_al; a row for each of the K columns of the
        base, a column for each of the C = L columns of the live features, or more.
    g, h : ndarray of shape (C,)
        The vector g and the diagonal of H on the live columns.
    base_value : float
        v_B - νr², the doubled value without any addition.
    row_tops : ndarray of shape (p, c) or None
        See `Gram.row_tops`; None where they have not been computed.
    screening : Screening
    near : LiveSets or None
        Which live features are near to one another; None where that has not been looked for.
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
    near: LiveSets | None = None

    def __post_init__(self) -> None:
        if not np.isfinite(self.h).all():
            # What is infinite would make gains vanish.
            object.__setattr__(self, "h", np.where(np.isfinite(self.h), self.h, np.nan))

    @property
    def slack(self) -> float:
        """Allowance for rounding in a doubled bound.

        The relative error of g²/h grows with the cancellation in h, at most from G_jj to λ+ν,
        and that of gᵀH⁻¹g of a feature from the trace of its block.
        """
        growth = 1.0 + self.problem.largest_trace / self.ridge
        columns = len(self.whitened) + self.problem.features.most_columns(self.size)
        return 16.0 * EPS * (columns + 1) * growth * self.problem.target_norm

    @cached_property
    def columns(self) -> IntArray:
        """Indices in G of the columns of the live features, one after another; shape (C,)."""
        return self.problem.features.columns(self.live)

    def lower_bound(self, gain: float) -> float:
        """Lower bound on R from an upper bound on the gain; -inf if that is no number."""
        bound = (self.base_value - gain - self.slack) / (2.0 * self.problem.n)
        return bound if bound < math.inf else -math.inf

    def needed_gain(self, threshold: float) -> float:
        """The gain that a set of additions must exceed for R to be below `threshold`.

        Any, -inf, where that is no number.
        """
        needed = self.base_value - self.slack - 2.0 * self.problem.n * threshold
        return needed if needed < math.inf else -math.inf

    def dense(self) -> FloatArray:
        """H on the live columns, shape (C, C)."""
        H = self.problem.gram.block(self.columns) - self.whitened.T @ self.whitened
        H[np.diag_indices_from(H)] = self.h
        return H

    def rectangle(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """H between live features of one column each, shape (k, l), off the diagonal."""
        H = self.problem.gram.rectangle(self.columns[rows], self.columns[columns])
        H -= self.whitened[:, rows].T @ self.whitened[:, columns]
        return H

    @cached_property
    def blocks(self) -> Blocks:
        """H and g on the live columns, every feature's in the eigenvectors of its own block."""
        classes = self.problem.features.by_width(self.live)
        places = [self.places(here).reshape(columns.shape) for here, columns in classes]
        offsets = self.problem.features.offsets(self.live)
        return in_own_eigenvectors(self.dense(), self.g, self.ridge, places, offsets)

    def restricted(self, keep: IntArray) -> Additions:
        """The same subproblem with only the positions `keep` of `live`."""
        columns = self.places(keep)
        return replace(
            self,
            live=self.live[keep],
            whitened=self.whitened[:, columns],
            g=self.g[columns],
            h=self.h[columns],
        )

    def with_feature(self, position: int, keep: IntArray) -> Additions:
        """Move live[position] into the base; only the positions `keep` stay live.

        Its columns are eliminated one after another: these are the steps of a Cholesky
        factorisation of its block of H.
        """
        own = self.places(np.array([position]))
        places = np.concatenate([own, self.places(keep)])
        columns = self.columns[places]
        whitened, g, h = self.whitened[:, places], self.g[places], self.h[places]
        base_value = self.base_value
        for k in range(len(own)):
            pivot = float(np.sqrt(h[0]))
            column = self.problem.gram.entries(columns[k + 1 :], int(columns[k]))
            row = (column - whitened[:, 0] @ whitened[:, 1:]) / pivot
            step = g[0] / pivot
            whitened = np.vstack([whitened[:, 1:], row])
            g, h = g[1:] - row * step, np.maximum(h[1:] - row**2, self.ridge)
            base_value -= float(step) ** 2
        return Additions(
            self.problem,
            self.ridge,
            np.append(self.base, self.live[position]),
            self.size - 1,
            self.live[keep],
            whitened,
            g,
            h,
            base_value,
            self.row_tops,
            self.screening,
            self.near,
        )

    def places(self, positions: IntArray) -> IntArray:
        """Return the places of the columns of live[positions] among the live columns."""
        features = self.problem.features
        if features.singles:
            return positions
        widths = features.widths[self.live[positions]]
        starts = features.offsets(self.live)[positions]
        firsts = np.cumsum(widths) - widths
        return np.repeat(starts - firsts, widths) + np.arange(int(widths.sum()))


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
    features = problem.features
    inside, outside = features.with_always(base), features.columns(candidates)
    multiplier = definite_multiplier(problem, len(base) + size, multiplier)
    ridge = problem.ridge + multiplier
    columns = problem.gram.columns(inside)[outside]
    factor = np.linalg.cholesky(problem.gram.block(inside) + ridge * np.eye(len(inside)))
    whitened = np.linalg.solve(factor, columns.T)
    solved = np.linalg.solve(factor, problem.moment[inside])
    diagonal = problem.gram.diagonal[outside] + ridge
    return Additions(
        problem,
        ridge,
        base,
        size,
        candidates,
        whitened,
        problem.moment[outside] - whitened.T @ solved,
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
    columns = problem.features.most_columns(size)
    smallest = 16.0 * EPS * (columns + 1) * problem.largest_trace
    return max(multiplier, smallest - problem.ridge)


def gain_shares(sub: Additions) -> FloatArray:
    """u with g_Tᵀ H_TT⁻¹ g_T ≤ Σ_{j∈T} u_j for every T of `size` live features; shape (L,).

    With c = size - 1 and o_j at least the sum of the c largest |H_jl|, H_TT - diag(h - o) is
    diagonally dominant, so u_j = g_j²/(h_j - o_j). Where some h_j - o_j is not positive, H ⪰ (λ+ν)I
    is mixed in for all rows alike: single rows must not be clamped
    (docs/mathematics/cuts.md, (4) and (7)).
    """
    others = min(sub.size, len(sub.live)) - 1
    if others <= 0:
        return gains_alone(sub)
    if not sub.problem.features.singles:
        return sub.blocks.gains(sub.blocks.dominated(off_diagonal_sums(sub, others)))
    return sub.g**2 / dominated_diagonal(sub.h, off_diagonal_sums(sub, others), sub.ridge)


def shares_without_blocks(sub: Additions) -> FloatArray:
    """The shares of `gain_shares` from `cheap_off_sums`, for features of one column each; (L,)."""
    others = min(sub.size, len(sub.live)) - 1
    if others <= 0:
        return gains_alone(sub)
    return sub.g**2 / dominated_diagonal(sub.h, cheap_off_sums(sub, others), sub.ridge)


def gains_alone(sub: Additions) -> FloatArray:
    """g_jᵀ H_jj⁻¹ g_j of every live feature, shape (L,)."""
    if sub.problem.features.singles:
        return sub.g**2 / sub.h
    gains = np.empty(len(sub.live))
    for here, H in diagonal_blocks(sub):
        g = sub.g[sub.places(here)].reshape(H.shape[:2])
        gains[here] = np.einsum("ji,ji->j", g, np.linalg.solve(H, g[:, :, None])[:, :, 0])
    return gains


def diagonal_blocks(sub: Additions) -> list[tuple[IntArray, FloatArray]]:
    """The live features of each width: their positions, shape (k,), and H_jj, shape (k, w, w)."""
    found = []
    for here, columns in sub.problem.features.by_width(sub.live):
        places = sub.places(here).reshape(columns.shape)
        W = sub.whitened[:, places]
        H = sub.problem.gram.blocks(columns) - np.einsum("kji,kjl->jil", W, W)
        own = np.arange(columns.shape[1])
        H[:, own, own] = sub.h[places]
        found.append((here, H))
    return found


def off_diagonal_sums(sub: Additions, count: int) -> FloatArray:
    """At least the sums of the `count` ≥ 1 largest |H_jl| over live l ≠ j, shape (L,).

    Of features of several columns: of the norms of their scaled blocks; see `Blocks`.
    """
    if not sub.problem.features.singles:
        return largest_sums(sub.blocks.norms.copy(), count)
    if len(sub.live) > sub.screening.dense:
        return cheap_off_sums(sub, count)
    off = np.abs(sub.dense())
    np.fill_diagonal(off, 0.0)
    return largest_sums(off, count)


def cheap_off_sums(sub: Additions, count: int) -> FloatArray:
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


def screened(
    sub: Additions, threshold: float, tick: Callable[[], None]
) -> tuple[Additions, FloatArray]:
    """Drop every live feature whose best completion cannot be below `threshold`.

    Returns the smaller subproblem and its shares; repeated as long as it drops much, for fewer
    live features have smaller off-diagonal sums. The tops of G among the live features are
    computed only when cheaper bounds have dropped what they can.
    """
    formed = not sub.problem.features.singles
    while True:
        formed = formed or len(sub.live) <= sub.screening.small
        shares = gain_shares(sub) if formed else shares_without_blocks(sub)
        if len(shares) < sub.size:
            return sub, shares
        keep = np.flatnonzero(~(best_gains(shares, sub.size) <= sub.needed_gain(threshold)))
        much = len(keep) <= 0.7 * len(shares)
        if len(keep) < len(shares):
            sub, shares = sub.restricted(keep), shares[keep]
        if len(keep) < sub.size:
            return sub, shares
        if not much and not formed and len(keep) <= sub.screening.dense:
            formed = True
        elif not much:
            known = sub.row_tops is not None or sub.size == 1 or not sub.problem.features.singles
            limits = sub.screening
            if known or not limits.dense < len(keep) <= limits.tops_columns:
                return sub, shares
            tops = sub.problem.gram.row_tops(sub.live, sub.size - 1, tick)
            sub = replace(sub, row_tops=tops)


def best_gains(shares: FloatArray, size: int) -> FloatArray:
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
        j = int(np.argmax(gains_alone(sub)))
        chosen.append(int(positions[j]))
        keep = np.delete(np.arange(len(positions)), j)
        sub, positions = sub.with_feature(j, keep), positions[keep]
    return np.sort(np.asarray(chosen))
