"""How convex the gain is at least: P and a block-diagonal D with H ⪰ P and P_TT ⪰ D_T.

P = ρI + E with ρ = λ + ν and 0 ⪯ E ⪯ H - ρI. E is found once, for no base. Schur complements show
that what is left of E after a base bounds H of that base, and what is left of G where columns are
always in only grows with ρ (docs/mathematics/cuts.md, (10)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import block_diag

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.least_squares.additions import Additions, diagonal_blocks
from mipselect.search.least_squares.dominance import largest_sums

EIGENVALUE_COLUMNS = 2000
"""Most columns for which a smallest eigenvalue is computed."""

ROUNDING = 1e-10
"""Of eigenvalues, relative to the largest."""


class Convexity(Protocol):
    """P and D on the live columns of one subproblem."""

    @property
    def least(self) -> float:
        """μ ≥ λ+ν with D ⪰ μI."""

    def columns(self, places: IntArray) -> FloatArray:
        """P on these live columns, shape (C, K)."""

    def block(self, positions: IntArray) -> FloatArray:
        """D on the columns of these live features, one after another."""

    def gains(self, slope: FloatArray) -> FloatArray:
        """slope_jᵀ D_j⁻¹ slope_j for every live feature, shape (L,)."""


class Curvature(Protocol):
    """E of one problem."""

    def at(self, sub: Additions) -> Convexity:
        """What it says of a subproblem."""


@dataclass(frozen=True, eq=False)
class DiagonalConvexity:
    """Features of one column each.

    Attributes
    ----------
    D : ndarray of shape (L,)
    P : ndarray of shape (L, L) or None
        None where it is D.
    """

    D: FloatArray
    P: FloatArray | None = None

    @property
    def least(self) -> float:
        """The smallest entry of D."""
        return float(self.D.min())

    def columns(self, places: IntArray) -> FloatArray:
        """P on these live columns, shape (L, K)."""
        if self.P is not None:
            return self.P[:, places]
        result = np.zeros((len(self.D), len(places)))
        result[places, np.arange(len(places))] = self.D[places]
        return result

    def block(self, positions: IntArray) -> FloatArray:
        """D on these live features."""
        return np.diag(self.D[positions])

    def gains(self, slope: FloatArray) -> FloatArray:
        """slope_j²/D_j, shape (L,)."""
        return np.asarray(slope**2 / self.D)


@dataclass(frozen=True)
class UniformCurvature:
    """E = eI.

    Attributes
    ----------
    excess : float
        e ≥ 0.
    """

    excess: float

    def at(self, sub: Additions) -> DiagonalConvexity:
        """(ρ + e)I."""
        return DiagonalConvexity(np.full(len(sub.g), sub.ridge + self.excess))


@dataclass(frozen=True, eq=False)
class SpectralCurvature:
    """E = V min(Ω, t) Vᵀ with G = VΩVᵀ.

    Attributes
    ----------
    E : ndarray of shape (p, p)
    """

    E: FloatArray

    def at(self, sub: Additions) -> DiagonalConvexity:
        """What is left of E after the base, and the diagonal that dominates it for m features."""
        B, L, ridge = sub.base, sub.live, sub.ridge
        left = self.E[np.ix_(L, L)]
        if len(B):
            # E_BB may be singular. What is added to it is taken from ρ: H - (ρ - a)I ⪰ E + aI.
            added = ROUNDING * float(np.trace(self.E))
            if added > 0.1 * ridge:
                return DiagonalConvexity(np.full(len(L), ridge))
            ridge -= added
            inside = self.E[np.ix_(B, B)] + added * np.eye(len(B))
            across = np.linalg.solve(np.linalg.cholesky(inside), self.E[np.ix_(B, L)])
            left = left - across.T @ across
        off = np.abs(left)
        np.fill_diagonal(off, 0.0)
        d = np.diagonal(left).copy()
        if (others := min(sub.size, len(L)) - 1) > 0:
            d -= largest_sums(off, others)
        worst = float(np.min(d, initial=0.0))
        theta = min(1.0, 0.5 * ridge / -worst) if worst < 0.0 else 1.0
        P = theta * left
        P[np.diag_indices_from(P)] += ridge
        return DiagonalConvexity(ridge + theta * d, P)


@dataclass(frozen=True, eq=False)
class BlockConvexity:
    """P = D for features of several columns.

    Attributes
    ----------
    sub : Additions
    blocks : tuple of ndarray, each of shape (k, w, w)
        D_j of the live features of each width, in the order of `Features.by_width`.
    """

    sub: Additions
    blocks: tuple[FloatArray, ...]

    @property
    def least(self) -> float:
        """ρ."""
        return self.sub.ridge

    @cached_property
    def _own(self) -> dict[int, FloatArray]:
        """D_j by position."""
        classes = self.sub.problem.features.by_width(self.sub.live)
        return {
            int(j): D
            for (here, _), blocks in zip(classes, self.blocks, strict=True)
            for j, D in zip(here, blocks, strict=True)
        }

    def columns(self, places: IntArray) -> FloatArray:
        """P on these live columns, shape (C, K), all those of some features."""
        result = np.zeros((len(self.sub.g), len(places)))
        offsets = self.sub.problem.features.offsets(self.sub.live)
        positions = np.unique(np.searchsorted(offsets, places, side="right") - 1)
        order = np.argsort(places, kind="stable")
        result[np.ix_(places[order], order)] = self.block(positions)
        return result

    def block(self, positions: IntArray) -> FloatArray:
        """D on the columns of these live features, one after another."""
        return np.asarray(block_diag(*(self._own[int(j)] for j in positions)))

    def gains(self, slope: FloatArray) -> FloatArray:
        """slope_jᵀ D_j⁻¹ slope_j, shape (L,)."""
        gains = np.empty(len(self.sub.live))
        classes = self.sub.problem.features.by_width(self.sub.live)
        for (here, columns), blocks in zip(classes, self.blocks, strict=True):
            own = slope[self.sub.places(here)].reshape(columns.shape)
            solved = np.linalg.solve(blocks, own[:, :, None])[:, :, 0]
            gains[here] = np.einsum("ji,ji->j", own, solved)
        return gains


@dataclass(frozen=True, eq=False)
class BlockCurvature:
    """E_j = κ(H_jj - ρI) of H without a base.

    Attributes
    ----------
    blocks : dict of int to ndarray of shape (k, w, w)
        E_j of the features of each width.
    rank : ndarray of int, shape (p,)
        The place of every feature among those of its width.
    """

    blocks: dict[int, FloatArray]
    rank: IntArray

    def at(self, sub: Additions) -> BlockConvexity:
        """D_j = ρI + E_j."""
        classes = sub.problem.features.by_width(sub.live)
        return BlockConvexity(
            sub,
            tuple(
                self.blocks[columns.shape[1]][self.rank[sub.live[here]]]
                + sub.ridge * np.eye(columns.shape[1])
                for here, columns in classes
            ),
        )


def curvature_of(whole: Additions) -> Curvature:
    """E of all supports: by the smallest eigenvalue of G, or of its scaled blocks.

    Parameters
    ----------
    whole : Additions
        Without a base, with ν = 0.
    """
    problem = whole.problem
    if problem.features.singles:
        if _too_many(whole):
            return UniformCurvature(0.0)
        eye = whole.ridge * np.eye(len(whole.columns))
        return UniformCurvature(_least_eigenvalue(whole.dense() - eye))
    blocks = whole.blocks
    excess = blocks.eigenvalues - whole.ridge
    used = excess > ROUNDING * float(blocks.eigenvalues.max())
    kappa = 0.0
    if used.any() and not _too_many(whole):
        G = (blocks.H - whole.ridge * np.eye(len(excess)))[np.ix_(used, used)]
        kappa = _least_eigenvalue(G / np.sqrt(np.multiply.outer(excess[used], excess[used])))
    rank = np.empty(problem.features.count, dtype=np.intp)
    found: dict[int, FloatArray] = {}
    for here, H in diagonal_blocks(whole):
        rank[here] = np.arange(len(here))
        found[H.shape[1]] = kappa * (H - whole.ridge * np.eye(H.shape[1]))
    return BlockCurvature(found, rank)


def spectral_curvatures(whole: Additions, shares: Sequence[float]) -> list[Curvature]:
    """E at t = these shares of the median of G's diagonal, for features of one column each."""
    problem = whole.problem
    if not problem.features.singles or problem.features.size > EIGENVALUE_COLUMNS:
        return []
    if whole.ridge > problem.ridge and problem.features.always:
        return []
    G = whole.dense() - whole.ridge * np.eye(len(whole.columns))
    eigenvalues, vectors = np.linalg.eigh(G)
    least = np.maximum(eigenvalues - ROUNDING * float(eigenvalues[-1]), 0.0)
    limits = [share * float(np.median(np.diagonal(G))) for share in shares]
    return [
        SpectralCurvature((vectors * np.minimum(least, t)) @ vectors.T)
        for t in limits
        if t > least[0]
    ]


def _too_many(whole: Additions) -> bool:
    """Whether eigenvalues cost too much, or are known to be zero, or say nothing."""
    problem = whole.problem
    # Where ρ had to be raised, so much may not be left of G under the ρ of smaller supports.
    raised = whole.ridge > problem.ridge and not problem.features.plain
    return raised or problem.features.size > min(EIGENVALUE_COLUMNS, problem.n - 1)


def _least_eigenvalue(G: FloatArray) -> float:
    eigenvalues = np.linalg.eigvalsh(G)
    return max(float(eigenvalues[0]) - ROUNDING * float(eigenvalues[-1]), 0.0)
