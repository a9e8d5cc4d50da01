"""Bounds on gains by one share a feature, for a diagonal that H dominates; screening by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.backends.cuts import ModularBound
from mipselect.search.least_squares.node import SquaredNode
from mipselect.search.tuning import Strategy


def gain_shares(node: SquaredNode) -> FloatArray:
    """Compute u with g_Tᵀ H_TT⁻¹ g_T ≤ Σ_{j∈T} u_j for every T of `size` live features; shape (L,).

    With c = size - 1 and o_j at least the sum of the c largest |H_jl|, H_TT - diag(h - o) is
    diagonally dominant, so u_j = g_j²/(h_j - o_j). Where some h_j - o_j is not positive, H ⪰ (λ+ν)I
    is mixed in for all rows alike: single rows must not be clamped
    (docs/mathematics/cuts.md, (4) and (7)).
    """
    return _shares(node, off_diagonal_sums)


def shares_without_blocks(node: SquaredNode) -> FloatArray:
    """Compute shares as `gain_shares` does, by `cheap_off_sums`, for single columns; shape (L,)."""
    return _shares(node, cheap_off_sums)


def _shares(node: SquaredNode, off_sums: Callable[[SquaredNode, int], FloatArray]) -> FloatArray:
    others = min(node.size, len(node.live)) - 1
    if others <= 0:
        return node.gains_alone()
    if not node.tuning.uses(Strategy.DOMINANCE):
        return node.problem.features.sums(node.g**2 / node.ridge, node.live)
    if not node.problem.features.singles:
        return node.blocks.gains(node.blocks.dominated(off_sums(node, others)))
    return node.g**2 / dominated_diagonal(node.h, off_sums(node, others), node.ridge)


def off_diagonal_sums(node: SquaredNode, count: int) -> FloatArray:
    """Bound the sums of the `count` ≥ 1 largest |H_jl| over live l ≠ j from above, shape (L,).

    For features of several columns they are norms of scaled blocks; see `FeatureBlocks`.
    """
    if not node.problem.features.singles:
        return largest_sums(node.blocks.norms.copy(), count)
    if len(node.live) > node.tuning.screening.dense:
        return cheap_off_sums(node, count)
    off = np.abs(node.dense())
    np.fill_diagonal(off, 0.0)
    return largest_sums(off, count)


def cheap_off_sums(node: SquaredNode, count: int) -> FloatArray:
    """Bound sums of the `count` largest |H_jl| from above without a block of H, shape (L,)."""
    return np.asarray(_cheap_off_sums([node], node.h[None], count)[0])


def _cheap_off_sums(nodes: Sequence[SquaredNode], h: FloatArray, count: int) -> FloatArray:
    """Bound the same for nodes with the same features, a row for each; shape (m, L).

    |H_jl| ≤ √((h_j - ridge)(h_l - ridge)), and |H_jl| ≤ |G_jl| + ‖W_j‖‖W_l‖ with the tops of G.
    """
    some = nodes[0]
    root = np.sqrt(h - some.ridge)
    off_sums = root * largest_sums(root.copy(), count)[:, None]
    if some.row_tops is not None and some.tuning.uses(Strategy.ROW_TOPS):
        taken = [np.einsum("kj,kj->j", node.whitened, node.whitened) for node in nodes]
        shrunk = np.sqrt(np.stack(taken))
        known = some.row_tops[some.live, count - 1]
        known = known + shrunk * largest_sums(shrunk.copy(), count)[:, None]
        off_sums = np.minimum(off_sums, known)
    return np.asarray(off_sums)


def largest_gains(nodes: Sequence[SquaredNode]) -> FloatArray:
    """Bound what each node gains by `shares_without_blocks`, for those of one size; shape (m,).

    The nodes have the same live features, of one column each.
    """
    some, g, h = nodes[0], np.stack([node.g for node in nodes]), np.stack([n.h for n in nodes])
    others = min(some.size, len(some.live)) - 1
    D: FloatArray = h if others <= 0 else np.full_like(h, some.ridge)
    if others > 0 and some.tuning.uses(Strategy.DOMINANCE):
        D = dominated_diagonal(h, _cheap_off_sums(nodes, h, others), some.ridge)
    return largest_sums(g**2 / D, some.size)


def screened(node: SquaredNode, cutoff: float, tick: Callable[[], None]) -> SquaredNode:
    """Drop every live feature whose best completion cannot be below `cutoff`.

    Returns the smaller node with its bound by shares; repeated as long as it drops much, for
    fewer live features have smaller off-diagonal sums. The tops of G among the live features are
    computed only when cheaper bounds have dropped what they can.
    """
    formed, limits = not node.problem.features.singles, node.tuning.screening
    while True:
        formed = formed or len(node.live) <= limits.small
        bound = ModularBound(0.0, gain_shares(node) if formed else shares_without_blocks(node))
        before = len(node.live)
        if before < node.size or not node.tuning.uses(Strategy.SCREENING):
            break
        keep = bound.screened(node.size, node.needed_gain(cutoff))
        much = len(keep) <= limits.much * before
        if len(keep) < before:
            node, bound = node.restricted(keep), bound.among(keep)
        if len(keep) < node.size:
            break
        if not much and not formed and len(keep) <= limits.dense:
            formed = True
        elif not much:
            known = node.row_tops is not None or node.size == 1 or not node.problem.features.singles
            if known or not limits.dense < len(keep) <= limits.tops_columns:
                break
            tops = node.problem.gram.row_tops(node.live, node.size - 1, tick)
            node = replace(node, row_tops=tops)
    return replace(node, bound=bound)


def dominated_diagonal(h: FloatArray, off_sums: FloatArray, ridge: float) -> FloatArray:
    """Compute M = (λ+ν) + θD with D = h - (λ+ν) - off_sums and the largest safe θ ∈ [0, 1].

    H - M is positive semidefinite on every set of features whose off-diagonal row sums
    `off_sums` bounds, because θD is valid for H - (λ+ν)I whenever D is
    (docs/mathematics/cuts.md, (4)).
    """
    D = h - ridge - off_sums
    return np.asarray(ridge + safe_share(D, ridge) * D)


def safe_share(D: FloatArray, ridge: float) -> FloatArray:
    """Find the largest θ ≤ 1 with ρ + θD ≥ ρ/2 along the last axis of D, kept with length 1."""
    worst = D.min(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(0.5 * ridge / np.maximum(-worst, 0.5 * ridge))


def largest_sums(rows: FloatArray, count: int) -> FloatArray:
    """Add up the `count` largest entries of every row, shape (L,); `rows` is reordered."""
    width = rows.shape[1]
    if count <= 0:
        return np.zeros(len(rows))
    if count < width:
        rows.partition(width - count, axis=1)
    return np.asarray(rows[:, width - min(count, width) :].sum(axis=1))
