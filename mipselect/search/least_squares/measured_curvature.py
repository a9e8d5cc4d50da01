"""How convex the squared loss of given data is: eigenvalues of G, and what stands for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import lapack

from mipselect.arrays import FloatArray
from mipselect.losses.squared import EPS
from mipselect.search.least_squares.additions import Additions, diagonal_blocks
from mipselect.search.least_squares.block_curvature import BlockCurvature
from mipselect.search.least_squares.curvature import ChildrenCurvature, Curvature, UniformCurvature
from mipselect.search.least_squares.spectral_curvature import SpectralCurvature

EIGENVALUE_COLUMNS = 2000
"""Most columns for which eigenvalues are computed."""

INVERSE_COLUMNS = 5000
"""Most columns for which G + tI is inverted."""

MOSTLY = 0.75
"""Of what E could be, as a share: then a larger limit is worth another inverse."""

ROUNDING = 1e-10
"""Of eigenvalues, relative to the largest."""


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
        return UniformCurvature(_least_eigenvalue(_left_of_gram(whole)))
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


def spectral_curvatures(whole: Additions, shares: Sequence[float]) -> list[ChildrenCurvature]:
    """E at t = these shares of the median of G's diagonal, for features of one column each.

    Of so many columns that eigenvalues take too long E is a `parallel_sum`.
    """
    problem, p = whole.problem, whole.problem.features.size
    if not problem.features.singles or p > INVERSE_COLUMNS:
        return []
    if whole.ridge > problem.ridge and problem.features.always:
        return []
    G = _left_of_gram(whole)
    rounding = EPS * len(G) * float(np.trace(G))
    slacks = {
        t: ROUNDING * len(G) * t + rounding
        for t in (share * float(np.median(np.diagonal(G))) for share in shares)
    }
    known = {t: slack for t, slack in slacks.items() if 30.0 * slack < problem.ridge}
    if p > EIGENVALUE_COLUMNS:
        return _parallel_sums(G, min(problem.n, p), known)
    eigenvalues, vectors = np.linalg.eigh(G)
    least = np.maximum(eigenvalues - ROUNDING * float(eigenvalues[-1]), 0.0)
    return [
        SpectralCurvature((vectors * np.minimum(least, t)) @ vectors.T, slack)
        for t, slack in known.items()
        if t > least[0]
    ]


def _parallel_sums(G: FloatArray, rank: int, slacks: dict[float, float]) -> list[ChildrenCurvature]:
    """By the middle limit, and by larger ones as long as the spectrum is mostly above them."""
    found: list[ChildrenCurvature] = []
    limits = sorted(slacks)
    for t in limits[min(1, len(limits) - 1) :]:
        E = parallel_sum(G, t)
        found.append(SpectralCurvature(E, slacks[t]))
        if float(np.trace(E)) < MOSTLY * t * rank:
            break
    return found


def parallel_sum(G: FloatArray, t: float) -> FloatArray:
    """tG(G + tI)⁻¹ = tI - t²(G + tI)⁻¹, whose eigenvalues ωt/(ω + t) are at least min(ω, t)/2."""
    shifted = G.copy()
    shifted[np.diag_indices_from(shifted)] += t
    factor, _ = lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
    E, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    E *= -(t**2)
    E[np.diag_indices_from(E)] += t
    for start in range(0, len(E), 256):
        stop = start + 256
        lower = np.tril(E[start:stop, start:stop], -1)
        E[start:stop, start:stop] = lower + lower.T + np.diag(np.diagonal(E)[start:stop])
        E[start:stop, stop:] = E[stop:, start:stop].T
    return np.asarray(E)


def _left_of_gram(whole: Additions) -> FloatArray:
    """G, or what is left of it after the columns that are always in."""
    if whole.problem.features.plain:
        return whole.problem.gram.full()
    return whole.dense() - whole.ridge * np.eye(len(whole.columns))


def _too_many(whole: Additions) -> bool:
    """Whether eigenvalues cost too much, or are known to be zero, or say nothing."""
    problem = whole.problem
    # Where ρ had to be raised, so much may not be left of G under the ρ of smaller supports.
    raised = whole.ridge > problem.ridge and not problem.features.plain
    return raised or problem.features.size > min(EIGENVALUE_COLUMNS, problem.n - 1)


def _least_eigenvalue(G: FloatArray) -> float:
    eigenvalues = np.linalg.eigvalsh(G)
    return max(float(eigenvalues[0]) - ROUNDING * float(eigenvalues[-1]), 0.0)
