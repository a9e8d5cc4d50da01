"""Nodes for the squared loss: the m best additions to a base, by Schur complements.

For a base B the doubled value 2n·R(B ∪ T) is at least

    v_B - νr² - g_Tᵀ H_TT⁻¹ g_T,    A = G_BB + (λ+ν)I,   v_B = d - b_BᵀA⁻¹b_B,
    g = b - G_·B A⁻¹ b_B,           H = G + (λ+ν)I - G_·B A⁻¹ G_B·

for every ν ≥ 0, with equality where ν is the multiplier of the norm constraint on B ∪ T
(docs/mathematics/cuts.md, (6)). The gain g_Tᵀ H_TT⁻¹ g_T is what this file bounds. B and T stand
for their columns, and the columns that are always in belong to B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import ModularBound
from mipselect.restricted.columns import roundings_of_sum
from mipselect.restricted.squared import EPS, PreparedSquared, lower_solved
from mipselect.search.least_squares.near_columns import LiveSets
from mipselect.search.tree import Node
from mipselect.search.tuning import TUNING, Tuning


@dataclass(frozen=True, eq=False)
class FeatureBlocks:
    """H and g on C columns of L features, each in the eigenvectors of its own block.

    A rotation of a feature's columns changes no value of R, so every feature may be looked at in
    the eigenvectors of H_jj = V_j E_j V_jᵀ. Scaled by E_j^(-1/2) all blocks on the diagonal become
    the identity, and block dominance bounds H from below by a diagonal (docs/mathematics/cuts.md,
    (8)). The indicators of a category add up to the intercept: one direction of their block has
    nothing left but λ+ν, and only scaled blocks can tell that no other feature has anything there
    either.

    Attributes
    ----------
    H : ndarray of shape (C, C)
        Diagonal within every feature.
    g : ndarray of shape (C,)
    ridge : float
        λ + ν, with H ⪰ (λ+ν)I.
    offsets : ndarray of int, shape (L,)
        The first column of every feature.
    vectors : tuple of ndarray, each of shape (k, w, w)
        V_j of the features of each width, in the order of `Features.by_width`.
    """

    H: FloatArray
    g: FloatArray
    ridge: float
    offsets: IntArray
    vectors: tuple[FloatArray, ...]

    @cached_property
    def eigenvalues(self) -> FloatArray:
        """e_k ≥ λ+ν, the diagonal of H, shape (C,)."""
        return np.maximum(np.diagonal(self.H), self.ridge)

    @cached_property
    def widths(self) -> IntArray:
        """Number of columns of every feature, shape (L,)."""
        return np.diff(np.append(self.offsets, len(self.g)))

    @cached_property
    def norms(self) -> FloatArray:
        """Bounds of ‖E_j^(-1/2) H_jl E_l^(-1/2)‖₂ for j ≠ l, zero for j = l; shape (L, L)."""
        squares = self.H**2 / np.multiply.outer(self.eigenvalues, self.eigenvalues)
        summed = np.add.reduceat(np.add.reduceat(squares, self.offsets, 0), self.offsets, 1)
        # H is positive definite, so that no scaled block is longer than one.
        norms = np.minimum(np.sqrt(summed), 1.0)
        np.fill_diagonal(norms, 0.0)
        return norms

    def columns(self, positions: IntArray) -> IntArray:
        """Return the indices of the columns of these features, in their order among all."""
        taken = np.zeros(len(self.offsets), dtype=bool)
        taken[positions] = True
        return np.flatnonzero(np.repeat(taken, self.widths))

    def dominated(self, off_sums: FloatArray) -> FloatArray:
        """Find M with H - diag(M) ⪰ 0 on every set of features whose `norms` sum up to `off_sums`.

        In scaled columns H is at least 1 - o_j by dominance and at least (λ+ν)/e_k always; the
        two are mixed for all features alike, as far as M stays positive. Shape (C,).
        """
        least = self.ridge / self.eigenvalues
        left = 1.0 - np.repeat(off_sums, self.widths)
        short = left < 0.5 * least
        theta = float(np.min(0.5 * least[short] / (least[short] - left[short]), initial=1.0))
        return np.asarray(self.eigenvalues * (least + theta * (left - least)))

    def gains(self, M: FloatArray) -> FloatArray:
        """Compute Σ g_k²/M_k over the columns of every feature, shape (L,)."""
        return self.sums(self.g**2 / M)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up values over the columns of every feature, shape (L,)."""
        return np.asarray(np.add.reduceat(values, self.offsets))


@dataclass(frozen=True, eq=False)
class SquaredNode(Node):
    """A `Node` with what bounds the gains of the features that may be added.

    Attributes
    ----------
    problem : PreparedSquared
    ridge : float
        λ + ν.
    whitened : ndarray of shape (K, C)
        W with H_jl = G_jl + (λ+ν)δ_jl - Σ_a W_aj W_al; a row for each of the K columns of the
        base, a column for each of the C = L columns of the live features, or more.
    g, h : ndarray of shape (C,)
        The vector g and the diagonal of H on the live columns.
    base_value : float
        v_B - νr², the doubled value without any addition.
    row_tops : ndarray of shape (p, c) or None
        See `Gram.row_tops`; None where they have not been computed.
    tuning : Tuning
    near : LiveSets or None
        Which live features are near to one another; None where that has not been looked for.
    bound : ModularBound or None
        On the gain, by which the node has been screened; None if it has not been yet.
    """

    problem: PreparedSquared
    ridge: float
    whitened: FloatArray
    g: FloatArray
    h: FloatArray
    base_value: float
    row_tops: FloatArray | None
    tuning: Tuning = TUNING
    near: LiveSets | None = None
    bound: ModularBound | None = None

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
        """Bound R from below by an upper bound on the gain; -inf if that is no number."""
        bound = (self.base_value - gain - self.slack) / (2.0 * self.problem.n)
        return bound if bound < math.inf else -math.inf

    def needed_gain(self, cutoff: float) -> float:
        """Compute the gain that a set of additions must exceed for R to be below `cutoff`.

        Any, -inf, where that is no number.
        """
        needed = self.base_value - self.slack - 2.0 * self.problem.n * cutoff
        return needed if needed < math.inf else -math.inf

    @cached_property
    def division(self) -> DivisionByShares:
        """The sets of additions by their first feature; it needs a bound."""
        assert self.bound is not None
        return by_shares(self.bound, self.size)

    def dense(self) -> FloatArray:
        """Compute H on the live columns, shape (C, C)."""
        H = self.problem.gram.block(self.columns) - self.whitened.T @ self.whitened
        H[np.diag_indices_from(H)] = self.h
        return H

    def rectangle(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Compute H between live features of one column each, shape (k, l), off the diagonal."""
        H = self.problem.gram.rectangle(self.columns[rows], self.columns[columns])
        H -= self.whitened[:, rows].T @ self.whitened[:, columns]
        return H

    @cached_property
    def blocks(self) -> FeatureBlocks:
        """H and g on the live columns, every feature's in the eigenvectors of its own block."""
        H, g, found = self.dense(), self.g.copy(), []
        for here, columns in self.problem.features.by_width(self.live):
            rows = self.places(here).reshape(columns.shape)
            blocks = H[rows[:, :, None], rows[:, None, :]]
            single = columns.shape[1] == 1
            found.append(np.ones_like(blocks) if single else np.linalg.eigh(blocks)[1])
            if single:
                continue
            transposed = found[-1].transpose(0, 2, 1)
            H[rows] = transposed @ H[rows]
            H[:, rows] = (transposed @ H.T[rows]).transpose(2, 0, 1)
            g[rows] = (transposed @ g[rows][:, :, None])[:, :, 0]
        offsets = self.problem.features.offsets(self.live)
        return FeatureBlocks(H, g, self.ridge, offsets, tuple(found))

    def restricted(self, keep: IntArray) -> Self:
        """Return the same node with only the positions `keep` of `live`."""
        columns = self.places(keep)
        return replace(
            self,
            live=self.live[keep],
            whitened=self.whitened[:, columns],
            g=self.g[columns],
            h=self.h[columns],
            bound=None if self.bound is None else self.bound.among(keep),
        )

    def with_feature(self, position: int, keep: IntArray) -> Self:
        """Return the child with live[position] in the base; only the positions `keep` stay live.

        Its columns are eliminated one after another: these are the steps of a Cholesky
        factorisation of its block of H.
        """
        own = self.places(np.array([position]))
        places = np.concatenate([own, self.places(keep)])
        columns, known = self.columns[places], len(self.whitened)
        whitened = np.empty((known + len(own), len(places)))
        self.whitened.take(places, axis=1, out=whitened[:known])
        g, h, base_value = self.g[places], self.h[places], self.base_value
        for k in range(len(own)):
            pivot, row = float(np.sqrt(h[k])), whitened[known + k, k + 1 :]
            taken = whitened[: known + k, k] @ whitened[: known + k, k + 1 :]
            row[:] = (self.problem.gram.entries(columns[k + 1 :], int(columns[k])) - taken) / pivot
            step = g[k] / pivot
            g[k + 1 :] -= row * step
            h[k + 1 :] = np.maximum(h[k + 1 :] - row**2, self.ridge)
            base_value -= float(step) ** 2
        return replace(
            self,
            base=np.append(self.base, self.live[position]),
            size=self.size - 1,
            live=self.live[keep],
            whitened=whitened[:, len(own) :],
            g=g[len(own) :],
            h=h[len(own) :],
            base_value=base_value,
            bound=None,
        )

    def gains_alone(self) -> FloatArray:
        """Compute g_jᵀ H_jj⁻¹ g_j of every live feature, shape (L,)."""
        features = self.problem.features
        if features.singles:
            return self.g**2 / self.h
        gains = np.empty(len(self.live))
        for here, columns in features.by_width(self.live):
            places = self.places(here).reshape(columns.shape)
            W = self.whitened[:, places]
            H = self.problem.gram.blocks(columns) - np.einsum("kji,kjl->jil", W, W)
            own, g = np.arange(columns.shape[1]), self.g[places]
            H[:, own, own] = self.h[places]
            gains[here] = np.einsum("ji,ji->j", g, np.linalg.solve(H, g[:, :, None])[:, :, 0])
        return gains

    def greedy_completion(self) -> IntArray:
        """Find the positions of the additions that forward selection makes."""
        node, positions = self, np.arange(len(self.live))
        chosen: list[int] = []
        while node.size > 0:
            j = int(np.argmax(node.gains_alone()))
            chosen.append(int(positions[j]))
            keep = np.delete(np.arange(len(positions)), j)
            node, positions = node.with_feature(j, keep), positions[keep]
        return np.sort(np.asarray(chosen))

    def places(self, positions: IntArray) -> IntArray:
        """Return the places of the columns of live[positions] among the live columns."""
        features = self.problem.features
        if features.singles:
            return positions
        widths = features.widths[self.live[positions]]
        starts = features.offsets(self.live)[positions]
        firsts = np.cumsum(widths) - widths
        return np.repeat(starts - firsts, widths) + np.arange(int(widths.sum()))


def squared_node(
    problem: PreparedSquared,
    base: IntArray,
    size: int,
    candidates: IntArray,
    multiplier: float,
    row_tops: FloatArray | None,
    tuning: Tuning = TUNING,
) -> SquaredNode:
    """Build the node for one base; `multiplier` is the ν of the bounds, or a larger one."""
    bases = np.asarray(base)[None]
    return squared_nodes(problem, bases, size, candidates, multiplier, row_tops, tuning)[0]


def squared_nodes(
    problem: PreparedSquared,
    bases: IntArray,
    size: int,
    candidates: IntArray,
    multiplier: float,
    row_tops: FloatArray | None,
    tuning: Tuning = TUNING,
) -> list[SquaredNode]:
    """Build the nodes for bases of shape (m, k) that have as many columns each."""
    features = problem.features
    inside = np.stack([features.with_always(base) for base in bases])
    outside, (m, k) = features.columns(candidates), inside.shape
    multiplier = definite_multiplier(problem, bases.shape[1] + size, multiplier)
    ridge = problem.ridge + multiplier
    rows = problem.gram.columns(inside.ravel()).T.reshape(m, k, problem.gram.p)
    own = np.arange(k)
    blocks = rows[np.arange(m)[:, None, None], own[:, None], inside[:, None, :]]
    blocks[:, own, own] += ridge
    factors, moment = np.linalg.cholesky(blocks), problem.moment[inside][:, :, None]
    whitened = rows.take(outside, axis=2)
    for factor, across in zip(factors, whitened, strict=True):
        across[:] = lower_solved(factor, across)
    solved = np.linalg.solve(factors, moment)
    g = problem.moment[outside] - (solved.transpose(0, 2, 1) @ whitened)[:, 0]
    taken = np.einsum("mkj,mkj->mj", whitened, whitened)
    h = np.maximum(problem.gram.diagonal[outside] + ridge - taken, ridge)
    left = problem.target_norm - (solved**2).sum(axis=(1, 2)) - multiplier * problem.radius**2
    parts = zip(bases, whitened, g, h, left.tolist(), strict=True)
    return [
        SquaredNode(base, size, candidates, problem, ridge, W, own_g, own_h, v, row_tops, tuning)
        for base, W, own_g, own_h, v in parts
    ]


def definite_multiplier(problem: PreparedSquared, size: int, multiplier: float) -> float:
    """Find the least ν ≥ `multiplier` for which G_SS + (λ+ν)I as rounded is positive definite.

    All |S| ≤ `size` are covered, whatever the roundings of sums over rows and of elimination are.
    Bounds are valid for every ν ≥ 0.
    """
    columns = problem.features.most_columns(size)
    of_sums = (size + 1) * roundings_of_sum(problem.n)
    smallest = EPS * (of_sums + 16.0 * (columns + 1)) * problem.largest_trace
    return max(multiplier, smallest - problem.ridge)


@dataclass(frozen=True, eq=False)
class Division:
    """Features in an order, and what the sets gain at most of which each is the first.

    Attributes
    ----------
    order : ndarray of int, shape (L,)
        Positions of the live features.
    gains : ndarray of shape (K,)
        Gains with the first K of them; with those after them there are too few for a set.
    """

    order: IntArray
    gains: FloatArray

    def open(self, needed: float, start: int = 0) -> IntArray:
        """Return, rising, the places from `start` on whose sets may gain more than is needed."""
        return np.asarray(start + np.flatnonzero(~(self.gains[start:] <= needed)))

    def among(self, keep: IntArray) -> Division:
        """Return the division of sets whose features are all among the positions `keep`."""
        place = np.full(len(self.order), -1)
        place[keep] = np.arange(len(keep))
        order = place[self.order]
        return Division(order[order >= 0], self.gains[order[: len(self.gains)] >= 0])


@dataclass(frozen=True, eq=False)
class DivisionByShares(Division):
    """The largest share comes first, so that the gains are falling.

    Attributes
    ----------
    constant : float
    shares : ndarray of shape (L,)
        Falling.
    """

    constant: float
    shares: FloatArray

    def last(self, start: int, needed: float) -> int:
        """Return the end of the features that may be in a set which gains more than is needed.

        The first feature of the set is at `start` or later. Features from the returned place on
        are in no such set.
        """
        others = len(self.order) - len(self.gains)
        beside = self.constant + float(self.shares[start : start + others].sum())
        return int(np.searchsorted(-self.shares, beside - needed))


def by_shares(bound: ModularBound, size: int) -> DivisionByShares:
    """Divide by a constant and the largest sums of shares, for sets of `size` features."""
    order = np.argsort(-bound.terms, kind="stable")
    shares = bound.terms[order]
    gains = bound.constant + sliding_window_view(shares, size).sum(axis=1)
    return DivisionByShares(order, gains, bound.constant, shares)


@dataclass(frozen=True, eq=False)
class Children:
    """Child k takes one feature of its parent and may add `later`[l] where `since`[l] ≥ k.

    Features of one column each. All positions are among the live features of the parent, and
    places among `later`.

    Attributes
    ----------
    parent : SquaredNode
    first : ndarray of int, shape (F, 1)
        Positions of what every child takes; of shape (1, 0) for the parent itself.
    later : ndarray of int, shape (L,)
        Positions.
    since : ndarray of int, shape (L,)
        The last child that may add each.
    row : ndarray of shape (F, L)
        H_kl / √H_kk, so that child k has H_jl - row_kj row_kl in place of H_jl.
    step : ndarray of shape (F,)
        g_k / √H_kk, so that child k has g_l - row_kl step_k in place of g_l.
    """

    parent: SquaredNode
    first: IntArray
    later: IntArray
    since: IntArray
    row: FloatArray
    step: FloatArray

    @property
    def size(self) -> int:
        """Number of features that every child still has to add."""
        return self.parent.size - int(self.first.shape[1])

    @cached_property
    def g(self) -> FloatArray:
        """Vectors g of all children, one in each row; shape (F, L)."""
        return self.parent.g[self.later] - self.row * self.step[:, None]

    @cached_property
    def h(self) -> FloatArray:
        """The diagonals of H, shape (F, L)."""
        return np.maximum(self.parent.h[self.later] - self.row**2, self.parent.ridge)

    @cached_property
    def after(self) -> NDArray[np.bool_]:
        """Mask of the features that a child may add, shape (F, L)."""
        return self.since >= np.arange(len(self.row))[:, None]

    def among(self, places: IntArray) -> Children:
        """Return the same children, which may add no others than these."""
        return replace(
            self, later=self.later[places], row=self.row[:, places], since=self.since[places]
        )

    def needed_gains(self, cutoff: float) -> FloatArray:
        """Compute the gains that the additions of the children must exceed, shape (F,)."""
        needed = self.parent.needed_gain(cutoff) - self.step**2
        return np.where(needed < np.inf, needed, -np.inf)


def children_of(node: SquaredNode, order: IntArray, start: int, stop: int) -> Children:
    """Make a child for each of order[start:stop]; children after it do not add its feature."""
    first, later = order[start:stop], order[start + 1 :]
    root = np.sqrt(node.h[first])
    row = node.rectangle(first, later) / root[:, None]
    return Children(node, first[:, None], later, np.arange(len(later)), row, node.g[first] / root)


def itself(node: SquaredNode) -> Children:
    """Return the node as its own only child, which takes nothing."""
    L = len(node.live)
    none = np.empty((1, 0), dtype=np.intp)
    return Children(node, none, np.arange(L), np.arange(L), np.zeros((1, L)), np.zeros(1))
