"""Least squares in a ball, by hand."""

from __future__ import annotations

import numpy as np


def least(G: np.ndarray, b: np.ndarray, ridge: float, radius: float) -> float:
    """min over ‖β‖ ≤ r of βᵀGβ - 2b·β + λ‖β‖², by eigenvalues and bisection."""
    values, vectors = np.linalg.eigh(G)
    turned = vectors.T @ b

    def length(multiplier: float) -> float:
        return float(np.linalg.norm(turned / (values + multiplier)))

    low, high = ridge, ridge + 1e9
    if length(low) > radius:
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if length(middle) > radius else (low, middle)
    beta = vectors @ (turned / (values + low))
    return float(beta @ G @ beta - 2 * b @ beta + ridge * beta @ beta)
