"""How convex the gain is at least: block-diagonal D with H - D ⪰ 0 on all live features.

What holds for all supports holds for those with a base: Schur complements of H - D ⪰ 0 show that
H of every larger base is at least the rest of D (MATH, section 15).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import block_diag

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.features import Features
from mipselect.search.least_squares.additions import Additions, diagonal_blocks

EIGENVALUE_COLUMNS = 2000
"""Most columns for which a smallest eigenvalue is computed."""

ROUNDING = 1e-10
"""Of eigenvalues, relative to the largest."""


class Curvature(Protocol):
    """Block-diagonal D."""

    @property
    def least(self) -> float:
        """μ ≥ λ+ν with D ⪰ μI."""

    def block(self, features: IntArray) -> FloatArray:
        """D on the columns of these features, one after another."""

    def gains(self, slope: FloatArray, features: IntArray) -> FloatArray:
        """slope_jᵀ D_j⁻¹ slope_j for each of these features, shape (L,)."""


@dataclass(frozen=True)
class UniformCurvature:
    """D = μI.

    Attributes
    ----------
    least : float
        μ.
    """

    least: float

    def block(self, features: IntArray) -> FloatArray:
        """μI."""
        return self.least * np.eye(len(features))

    def gains(self, slope: FloatArray, features: IntArray) -> FloatArray:
        """slope_j²/μ."""
        return np.asarray(slope**2 / self.least)


@dataclass(frozen=True, eq=False)
class BlockCurvature:
    """D_j = (λ+ν)I + κ(H_jj - (λ+ν)I), of H without a base.

    Attributes
    ----------
    features : Features
    blocks : tuple of ndarray, each of shape (k, w, w)
        D_j of the features of each width.
    rank : ndarray of int, shape (p,)
        The place of every feature among those of its width.
    least : float
        λ + ν.
    """

    features: Features
    blocks: tuple[FloatArray, ...]
    rank: IntArray
    least: float

    @cached_property
    def _by_width(self) -> dict[int, FloatArray]:
        return {blocks.shape[1]: blocks for blocks in self.blocks}

    @cached_property
    def _inverses(self) -> dict[int, FloatArray]:
        return {width: np.linalg.inv(blocks) for width, blocks in self._by_width.items()}

    def block(self, features: IntArray) -> FloatArray:
        """D on the columns of these features, one after another."""
        widths = self.features.widths
        return np.asarray(
            block_diag(*(self._by_width[int(widths[j])][self.rank[j]] for j in features))
        )

    def gains(self, slope: FloatArray, features: IntArray) -> FloatArray:
        """slope_jᵀ D_j⁻¹ slope_j for each of these features, shape (L,)."""
        gains = np.empty(len(features))
        offsets = self.features.offsets(features)
        for here, columns in self.features.by_width(features):
            width = columns.shape[1]
            own = slope[offsets[here][:, None] + np.arange(width)]
            inverses = self._inverses[width][self.rank[features[here]]]
            gains[here] = np.einsum("ji,jik,jk->j", own, inverses, own)
        return gains


def curvature_of(whole: Additions, ridge: float) -> Curvature:
    """D of all supports: by the smallest eigenvalue of G, or of its scaled blocks.

    Parameters
    ----------
    whole : Additions
        Without a base.
    ridge : float
        λ + ν; that of `whole` may be larger.
    """
    problem = whole.problem
    many = problem.features.size > min(EIGENVALUE_COLUMNS, problem.n - 1)
    if problem.features.singles:
        return UniformCurvature(ridge if many else ridge + _least_eigenvalue(_left(whole)))
    blocks = whole.blocks
    excess = blocks.eigenvalues - whole.ridge
    used = excess > ROUNDING * float(blocks.eigenvalues.max())
    kappa = 0.0
    if used.any() and not many:
        G = (blocks.H - whole.ridge * np.eye(len(excess)))[np.ix_(used, used)]
        kappa = _least_eigenvalue(G / np.sqrt(np.multiply.outer(excess[used], excess[used])))
    rank = np.empty(problem.features.count, dtype=np.intp)
    found = []
    for here, H in diagonal_blocks(whole):
        rank[here] = np.arange(len(here))
        eye = np.eye(H.shape[1])
        found.append(ridge * eye + kappa * (H - whole.ridge * eye))
    return BlockCurvature(problem.features, tuple(found), rank, ridge)


def _left(whole: Additions) -> FloatArray:
    """H - (λ+ν)I, of columns that are always in what is left of G."""
    return whole.dense() - whole.ridge * np.eye(len(whole.columns))


def _least_eigenvalue(G: FloatArray) -> float:
    eigenvalues = np.linalg.eigvalsh(G)
    return max(float(eigenvalues[0]) - ROUNDING * float(eigenvalues[-1]), 0.0)
