"""Convexity of the squared loss of given data: eigenvalues of G, and what stands for them."""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.restricted.squared import EPS
from mipselect.search.least_squares.curvature import (
    BlockCurvature,
    Curvature,
    SpectralCurvature,
    UniformCurvature,
)
from mipselect.search.least_squares.node import SquaredNode
from mipselect.search.strategies import Strategy

ROUNDING = 1e-10
"""Rounding of eigenvalues, relative to the largest."""


def curvature_of(whole: SquaredNode) -> Curvature:
    """Find E of all supports by the smallest eigenvalue of G, or of its scaled blocks.

    Parameters
    ----------
    whole : SquaredNode
        Without a base, with ν = 0.
    """
    if not whole.problem.features.singles:
        return _block_curvature(whole)
    if _too_many(whole) or not whole.tuning.uses(Strategy.LEAST_EIGENVALUES):
        return UniformCurvature(0.0)
    off = _elimination_error(whole)
    least = _least_eigenvalue(_left_of_gram(whole))
    return UniformCurvature(max(0.0, (1.0 - off) * least - 2.0 * off * whole.ridge))


def _block_curvature(whole: SquaredNode) -> BlockCurvature:
    """Compute E_j = κ'(H_jj - ρI) in directions with more than rounding left of G; 0 in others."""
    features, blocks, ridge = whole.problem.features, whole.blocks, whole.ridge
    excess = blocks.eigenvalues - ridge
    used = excess > ROUNDING * float(blocks.eigenvalues.max())
    kappa = lost = 0.0
    if used.any() and not _too_many(whole) and whole.tuning.uses(Strategy.BLOCK_CURVATURE):
        off = _elimination_error(whole)
        delta = 16.0 * EPS * (len(excess) + len(whole.whitened)) * _trace(whole)
        dropped = float(excess[~used].sum()) + 2.0 * delta + off * ridge
        theta = 0.0 if used.all() else math.sqrt(dropped / ridge)
        lost = (theta + 2.0 * off) * ridge + 2.0 * delta
        if lost <= 0.5 * ridge:
            G = (blocks.H - ridge * np.eye(len(excess)))[np.ix_(used, used)]
            G /= np.sqrt(np.multiply.outer(excess[used], excess[used]))
            kappa = (1.0 - theta) * (1.0 - off) * _least_eigenvalue(G)
    rank = np.empty(features.count, dtype=np.intp)
    found: dict[int, FloatArray] = {}
    diagonal = np.where(used, kappa * excess, 0.0) if kappa > 0.0 else np.zeros(len(excess))
    for (here, columns), V in zip(features.by_width(whole.live), blocks.vectors, strict=True):
        rank[here] = np.arange(len(here))
        own = diagonal[whole.places(here)].reshape(columns.shape)
        found[columns.shape[1]] = (V * own[:, None, :]) @ V.transpose(0, 2, 1)
    return BlockCurvature(found, rank, lost if kappa > 0.0 else 0.0)


def spectral_curvatures(whole: SquaredNode) -> list[SpectralCurvature]:
    """Compute E at t = shares of the median of G's diagonal, for features of one column each.

    None where rows and columns are both so many that eigenvalues take too long.
    """
    problem, p, limits = whole.problem, whole.problem.features.size, whole.tuning.spectrum
    if not (whole.tuning.uses(Strategy.SPECTRA) and problem.features.singles):
        return []
    if p > limits.columns or (whole.ridge > problem.ridge and problem.features.always):
        return []
    X = problem.gram.rows if problem.features.plain else None
    if X is not None and len(X) < p and len(X) <= limits.eigenvalues:
        return _spectra_of_rows(X, whole)
    if p > limits.eigenvalues:
        return []
    G, off = _left_of_gram(whole), _elimination_error(whole)
    rounding = EPS * len(G) * _trace(whole) + 2.0 * off * whole.ridge
    slacks = {
        t: ROUNDING * len(G) * t + rounding + 2.0 * off * t
        for t in (share * float(np.median(np.diagonal(G))) for share in limits.shares)
    }
    if not np.isfinite(G).all():
        return []
    known = {t: slack for t, slack in slacks.items() if _is_small(slack, t, whole)}
    eigenvalues, vectors = np.linalg.eigh(G)
    least = np.maximum(eigenvalues - ROUNDING * float(eigenvalues[-1]), 0.0)
    return [
        SpectralCurvature((vectors * np.minimum(least, t)) @ vectors.T, slack, limits)
        for t, slack in known.items()
        if t > least[0]
    ]


def _is_small(slack: float, t: float, whole: SquaredNode) -> bool:
    """Tell whether rounding is so small that it leaves nearly all of ρ and of E."""
    return 30.0 * slack < min(whole.problem.ridge, t)


def _spectra_of_rows(X: FloatArray, whole: SquaredNode) -> list[SpectralCurvature]:
    """Compute E = XᵀU min(1, t/Ω) UᵀX from XXᵀ = UΩUᵀ, n < p; of many columns at one t.

    E ⪯ XᵀUUᵀX whatever the computed Ω is, so that rounding is that of products, and of UUᵀ.
    """
    limits = whole.tuning.spectrum
    rows = X.astype(np.float64, copy=False)
    outer = rows @ rows.T
    if not np.isfinite(outer).all():
        return []
    eigenvalues, vectors = np.linalg.eigh(outer)
    n, V = len(rows), vectors.T @ rows
    slack = EPS * n * (math.sqrt(n) + 2.0) * _trace(whole) + ROUNDING * float(eigenvalues[-1])
    found: list[SpectralCurvature] = []
    median = float(np.median(whole.problem.gram.diagonal))
    for share in limits.shares if V.shape[1] <= limits.eigenvalues else limits.shares[-1:]:
        t = share * median
        if _is_small(slack, t, whole):
            Z = np.sqrt(t / np.maximum(eigenvalues, t))[:, None] * V
            found.append(SpectralCurvature(Z.T @ Z, slack, limits))
    return found


def _left_of_gram(whole: SquaredNode) -> FloatArray:
    """Return G, or what is left of it after the columns that are always in."""
    if whole.problem.features.plain:
        return whole.problem.gram.full()
    return whole.dense() - whole.ridge * np.eye(len(whole.columns))


def _elimination_error(whole: SquaredNode) -> float:
    """Bound η with (1 - η)S ⪯ S̃ ⪯ (1 + η)S for the computed S̃ of S = ρI + what is left of G.

    S̃ is exact for a matrix that differs from G + ρI ⪰ ρI by a few units of its trace.
    """
    return 16.0 * EPS * len(whole.whitened) * (1.0 + _trace(whole) / whole.ridge)


def _trace(whole: SquaredNode) -> float:
    """Return the trace of G, before anything is taken from it: rounding is of its size."""
    return float(whole.problem.gram.diagonal.sum())


def _too_many(whole: SquaredNode) -> bool:
    """Tell whether eigenvalues cost too much, or are known to be zero, or say nothing."""
    problem = whole.problem
    # Where ρ had to be raised, so much may not be left of G under the ρ of smaller supports.
    raised = whole.ridge > problem.ridge and not problem.features.plain
    return raised or problem.features.size > min(whole.tuning.spectrum.eigenvalues, problem.n - 1)


def _least_eigenvalue(G: FloatArray) -> float:
    if not np.isfinite(G).all():
        return 0.0
    eigenvalues = np.linalg.eigvalsh(G)
    return max(0.0, float(eigenvalues[0]) - ROUNDING * float(eigenvalues[-1]))
