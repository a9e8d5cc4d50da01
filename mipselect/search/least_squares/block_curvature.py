"""Lower bound on the convexity of the gain for features of several columns: one block for each.

E_j is κ(H_jj - ρI) of H without a base, κ the least eigenvalue of G in scaled blocks, but for the
directions in which next to nothing is left of G; D_j = (ρ - a)I + E_j, where a pays for those
(docs/mathematics/cuts.md, (10)).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.least_squares.node import SquaredNode


@dataclass(frozen=True, eq=False)
class BlockConvexity:
    """P = D for features of several columns.

    Attributes
    ----------
    node : SquaredNode
    blocks : tuple of ndarray, each of shape (k, w, w)
        D_j of the live features of each width, in the order of `Features.by_width`.
    least : float
        ρ - a.
    """

    node: SquaredNode
    blocks: tuple[FloatArray, ...]
    least: float

    @cached_property
    def _own(self) -> dict[int, FloatArray]:
        """D_j by position."""
        classes = self.node.problem.features.by_width(self.node.live)
        return {
            int(j): D
            for (here, _), blocks in zip(classes, self.blocks, strict=True)
            for j, D in zip(here, blocks, strict=True)
        }

    def columns(self, places: IntArray) -> FloatArray:
        """Return P on these live columns, shape (C, K), all those of some features."""
        result = np.zeros((len(self.node.g), len(places)))
        offsets = self.node.problem.features.offsets(self.node.live)
        positions = np.unique(np.searchsorted(offsets, places, side="right") - 1)
        order = np.argsort(places, kind="stable")
        result[np.ix_(places[order], order)] = self.block(positions)
        return result

    def block(self, positions: IntArray) -> FloatArray:
        """Return D on the columns of these live features, one after another."""
        return np.asarray(block_diag(*(self._own[int(j)] for j in positions)))

    def gains(self, slope: FloatArray) -> FloatArray:
        """Compute slope_jᵀ D_j⁻¹ slope_j, shape (L,)."""
        gains = np.empty(len(self.node.live))
        classes = self.node.problem.features.by_width(self.node.live)
        for (here, columns), blocks in zip(classes, self.blocks, strict=True):
            own = slope[self.node.places(here)].reshape(columns.shape)
            solved = np.linalg.solve(blocks, own[:, :, None])[:, :, 0]
            gains[here] = np.einsum("ji,ji->j", own, solved)
        return gains


@dataclass(frozen=True, eq=False)
class BlockCurvature:
    """E_j of all features, with H ⪰ (ρ - a)I + diag(E_j) without a base.

    Attributes
    ----------
    blocks : dict of int to ndarray of shape (k, w, w)
        E_j ⪰ 0 of the features of each width.
    rank : ndarray of int, shape (p,)
        The place of every feature among those of its width.
    lost : float
        a ≥ 0.
    """

    blocks: dict[int, FloatArray]
    rank: IntArray
    lost: float

    def at(self, node: SquaredNode) -> BlockConvexity:
        """Compute D_j = (ρ - a)I + E_j."""
        classes, least = node.problem.features.by_width(node.live), node.ridge - self.lost
        blocks = (
            self.blocks[columns.shape[1]][self.rank[node.live[here]]]
            + least * np.eye(columns.shape[1])
            for here, columns in classes
        )
        return BlockConvexity(node, tuple(blocks), least)
