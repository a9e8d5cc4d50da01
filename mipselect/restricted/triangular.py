"""Triangular systems with many right sides at once."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrsm

from mipselect.arrays import FloatArray


def lower_solved(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Compute L⁻¹B from a lower triangular L of shape (k, k) and B of shape (k, m)."""
    # Bᵀ from the right, for BLAS takes columns: B is read as it lies in memory.
    return np.asarray(dtrsm(1.0, factor, right.T, side=1, lower=1, trans_a=1).T)
