"""Batches of small systems (G + λI)β = b whose solutions are no longer than r."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import SolverFailure

WELL_CONDITIONED = 1e-10
"""Share of the trace of G: with a larger ridge elimination does, with less eigenvalues."""

NEWTON_STEPS = 100
EPS = float(np.finfo(np.float64).eps)


def solve_normal_equations(
    gram: FloatArray, moment: FloatArray, ridge: float, radius: float
) -> tuple[FloatArray, FloatArray]:
    """Solve min ½βᵀ(G + λI)β - b·β over ‖β‖ ≤ r for a batch of small systems.

    Parameters
    ----------
    gram : ndarray of shape (m, s, s)
    moment : ndarray of shape (m, s)
    ridge : float
        λ > 0.
    radius : float
        r > 0.

    Returns
    -------
    coef : ndarray of shape (m, s)
        Finite, and no longer than r but for a few roundings.
    multiplier : ndarray of shape (m,)
        ν ≥ 0.

    Raises
    ------
    SolverFailure
        Where a number overflows: not for sums of rows and a ridge within public bounds.

    References
    ----------
    docs/mathematics/restricted-problem.md, (6) and (9).
    """
    s = moment.shape[1]
    multiplier = np.zeros(len(gram))
    if ridge > WELL_CONDITIONED * float(np.max(np.einsum("mii->m", gram), initial=0.0)):
        coef = np.linalg.solve(gram + ridge * np.eye(s), moment[:, :, None])[:, :, 0]
        # What is not a number is not within the ball either.
        long = np.flatnonzero(~(np.linalg.norm(coef, axis=1) <= radius))
    else:
        coef = np.empty_like(moment, dtype=np.float64)
        long = np.arange(len(gram))
    if long.size:
        coef[long], multiplier[long] = _solve_by_eigenvalues(
            gram[long], moment[long], ridge, radius
        )
    return coef, multiplier


def _solve_by_eigenvalues(
    gram: FloatArray, moment: FloatArray, ridge: float, radius: float
) -> tuple[FloatArray, FloatArray]:
    """Find ν ≥ 0 with ‖(A + νI)⁻¹b‖ = r by Newton's method on 1/‖β(ν)‖, which is concave in ν.

    Started left of the root, the iterates increase to it and need no safeguard.
    """
    eigenvalues, vectors = np.linalg.eigh(gram)
    eigenvalues = np.maximum(eigenvalues, 0.0) + ridge
    rotated = np.einsum("mji,mj->mi", vectors, moment)
    nu = np.zeros(len(gram))
    for _ in range(NEWTON_STEPS + gram.shape[1]):
        beta = rotated / (eigenvalues + nu[:, None])
        norm = np.linalg.norm(beta, axis=1)
        open_ = ~(norm <= radius * (1.0 + 4.0 * EPS))
        if not open_.any():
            break
        share = np.divide(beta, norm[:, None], out=np.zeros_like(beta), where=open_[:, None])
        slope = np.einsum("mi,mi->m", share, share / (eigenvalues + nu[:, None]))
        nu[open_] += (norm[open_] / radius - 1.0) / slope[open_]
    else:
        raise SolverFailure(
            f"no multiplier puts the coefficients of {int(open_.sum())} restricted problems on "
            f"the ball of radius {radius:g}: a larger ridge helps"
        )
    return np.einsum("mij,mj->mi", vectors, beta), nu
