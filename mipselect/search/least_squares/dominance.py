"""Diagonals that a positive definite matrix dominates: H - M ⪰ 0 on every small set of rows."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray


def dominated_diagonal(h: FloatArray, off_sums: FloatArray, ridge: float) -> FloatArray:
    """Compute M = (λ+ν) + θD with D = h - (λ+ν) - off_sums and the largest safe θ ∈ [0, 1].

    H - M is positive semidefinite on every set of features whose off-diagonal row sums
    `off_sums` bounds, because θD is valid for H - (λ+ν)I whenever D is
    (docs/mathematics/cuts.md, (4)).
    """
    D = h - ridge - off_sums
    return np.asarray(ridge + safe_share(D, ridge) * D)


def safe_share(D: FloatArray, ridge: float) -> FloatArray:
    """Find the largest θ ≤ 1 with ρ + θD ≥ ρ/2 along the last axis of D, kept with length 1."""
    worst = D.min(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(0.5 * ridge / np.maximum(-worst, 0.5 * ridge))


def largest_sums(rows: FloatArray, count: int) -> FloatArray:
    """Add up the `count` largest entries of every row, shape (L,); `rows` is reordered."""
    width = rows.shape[1]
    if count <= 0:
        return np.zeros(len(rows))
    if count < width:
        rows.partition(width - count, axis=1)
    return np.asarray(rows[:, width - min(count, width) :].sum(axis=1))
