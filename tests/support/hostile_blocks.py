"""Columns of blocks that are meant to break a normalisation, and exact judges of what it makes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

KINDS = (
    "normal", "ties", "constant", "near-constant", "huge", "tiny", "subnormal", "both", "one huge",
    "truth values",
)  # fmt: skip
"""Of one column."""


def column(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    """Numbers of one kind, shape (n,)."""
    normal = rng.standard_normal(n)
    match kind:
        case "ties":
            return rng.integers(0, 2, n) * 0.1
        case "constant":
            return np.full(n, 0.1)
        case "near-constant":
            return 1.0 + rng.integers(0, 2, n) * 2.0**-52
        case "huge":
            return rng.choice([-1.7e308, 1.0, 1e300, 1.7e308], n)
        case "tiny":
            return normal * 1e-300
        case "subnormal":
            return rng.integers(-3, 4, n) * 5e-324
        case "both":
            return np.where(rng.random(n) < 0.5, normal * 1e300, normal * 1e-300)
        case "one huge":
            normal[rng.integers(n)] = 1e17
        case "truth values":
            return rng.integers(0, 2, n).astype(float)
    return normal


def hostile_rows(rng: np.random.Generator, n: int, columns: int) -> np.ndarray:
    """Columns of random kinds, some of them copies, and values that are missing; (n, columns)."""
    kinds = rng.choice(KINDS, columns)
    rows = np.column_stack([column(rng, kind, n) for kind in kinds])
    for j in range(1, columns):
        if rng.random() < 0.3:
            with np.errstate(over="ignore"):
                rows[:, j] = rows[:, rng.integers(j)] * rng.choice([1.0, -1.0, 1.0 + 1e-12])
    if rng.random() < 0.5:
        rows[rng.random(rows.shape) < rng.choice([0.1, 0.6])] = np.nan
    return np.where(np.isinf(rows), np.nan, rows)


def norm_is_at_most(units: np.ndarray, bound: int) -> bool:
    """Return whether ‖Z‖₂ ≤ bound for a matrix of integers, in exact arithmetic."""
    Z = units if units.shape[1] <= units.shape[0] else units.T
    whole = [[int(value) for value in row] for row in Z.tolist()]
    assert (np.array(whole) == Z).all()
    k = Z.shape[1]
    gap = [
        [Fraction((bound**2 if i == j else 0) - sum(row[i] * row[j] for row in whole))
         for j in range(k)]
        for i in range(k)
    ]  # fmt: skip
    return is_positive_semidefinite(gap)


def is_positive_semidefinite(matrix: list[list[Fraction]]) -> bool:
    """Return whether no eigenvalue is below 0, by exact elimination."""
    if not matrix:
        return True
    pivot, *right = matrix[0]
    if pivot < 0 or (pivot == 0 and any(right)):
        return False
    rest = [
        [value - (row[0] * other / pivot if pivot else 0)
         for value, other in zip(row[1:], right, strict=True)]
        for row in matrix[1:]
    ]  # fmt: skip
    return is_positive_semidefinite(rest)
