"""Batches of small systems (G + λI)β = b whose solutions are no longer than r."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray

NO_RIDGE = 1e-10
"""A ridge that is a smaller share of the largest entry of G may leave systems singular."""

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
        λ ≥ 0; with λ = 0 and a singular G the solution of least norm is returned.
    radius : float
        r > 0.

    Returns
    -------
    coef : ndarray of shape (m, s)
    multiplier : ndarray of shape (m,)
        ν ≥ 0.
    """
    s = moment.shape[1]
    multiplier = np.zeros(len(gram))
    largest = float(np.max(np.einsum("mii->mi", gram), initial=0.0))
    if ridge > NO_RIDGE * largest:
        coef = np.linalg.solve(gram + ridge * np.eye(s), moment[:, :, None])[:, :, 0]
        long = np.flatnonzero(np.linalg.norm(coef, axis=1) > radius)
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
    eigenvalues = np.maximum(eigenvalues, 0.0)
    if ridge <= 0.0:
        cutoff = gram.shape[1] * EPS * eigenvalues[:, -1:]
        eigenvalues = np.where(eigenvalues > cutoff, eigenvalues, 0.0)
    eigenvalues = eigenvalues + ridge
    rotated = np.einsum("mji,mj->mi", vectors, moment)
    rotated = np.where(eigenvalues > 0.0, rotated, 0.0)
    safe = np.where(eigenvalues > 0.0, eigenvalues, 1.0)
    nu = np.zeros(len(gram))
    for _ in range(NEWTON_STEPS):
        shifted = safe + nu[:, None]
        beta = rotated / shifted
        norm = np.linalg.norm(beta, axis=1)
        open_ = norm > radius * (1.0 + 4.0 * EPS)
        if not open_.any():
            break
        slope = np.einsum("mi,mi->m", beta, beta / shifted)
        with np.errstate(invalid="ignore", divide="ignore"):
            step = (norm / radius - 1.0) * norm**2 / slope
        nu = np.where(open_, nu + step, nu)
    beta = rotated / (safe + nu[:, None])
    return np.einsum("mij,mj->mi", vectors, beta), nu
