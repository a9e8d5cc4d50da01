"""Features of several columns: H by blocks, each feature in the eigenvectors of its own block.

A rotation of a feature's columns changes no value of R, so every feature may be looked at in the
eigenvectors of H_jj = V_j E_j V_jᵀ. Scaled by E_j^(-1/2) all blocks on the diagonal become the
identity, and block dominance bounds H from below by a diagonal (docs/mathematics/cuts.md, (8)). The
indicators of a category add up to the intercept: one direction of their block has nothing left but
λ+ν, and only scaled blocks can tell that no other feature has anything there either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class FeatureBlocks:
    """H and g on C columns of L features, in these eigenvectors.

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


def in_own_eigenvectors(
    H: FloatArray, g: FloatArray, ridge: float, places: Sequence[IntArray], offsets: IntArray
) -> FeatureBlocks:
    """Rotate every feature's columns.

    Parameters
    ----------
    H : ndarray of shape (C, C)
    g : ndarray of shape (C,)
    ridge : float
    places : sequence of ndarray of int, each of shape (k, w)
        The columns of the features of each width, which are neighbours.
    offsets : ndarray of int, shape (L,)
    """
    H, g, found = H.copy(), g.copy(), []
    for rows in places:
        blocks = H[rows[:, :, None], rows[:, None, :]]
        found.append(np.ones_like(blocks) if rows.shape[1] == 1 else np.linalg.eigh(blocks)[1])
        if rows.shape[1] == 1:
            continue
        transposed = found[-1].transpose(0, 2, 1)
        H[rows] = transposed @ H[rows]
        H[:, rows] = (transposed @ H.T[rows]).transpose(2, 0, 1)
        g[rows] = (transposed @ g[rows][:, :, None])[:, :, 0]
    return FeatureBlocks(H, g, ridge, offsets, tuple(found))
