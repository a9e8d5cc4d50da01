"""Columns of blocks that are meant to break a normalisation, and judges of what is made of them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from mipselect.blocks import r_squared
from mipselect.blocks.partitions import Blocks
from mipselect.blocks.r_squared import ListedFeatures

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


UNITS = 2**20


def row_blocks(n: int, blocks: Blocks) -> list[np.ndarray]:
    """All blocks of all partitions, as row numbers."""
    return [block for partition in blocks.of_window(0, n) for block in partition]


def kernel(rows: np.ndarray, part: tuple[int, ...], indicators: np.ndarray) -> np.ndarray:
    """b ZZᵀ/tr ZZᵀ of a feature in one block, 0 where all of it is constant."""
    columns = np.array([centred(rows[:, j]) for j in part])
    for column, j in zip(columns, part, strict=True):
        if not indicators[j]:
            column[:] = unit(column)
    trace = float((columns**2).sum())
    return columns.T @ columns * (len(rows) / trace) if trace > 0.0 else np.zeros((len(rows),) * 2)


def centred(values: np.ndarray) -> np.ndarray:
    there = np.isfinite(values)
    if not there.any() or np.ptp(values[there]) == 0.0:
        return np.zeros(len(values))
    return np.where(there, values - values[there].mean(), 0.0)


def unit(values: np.ndarray) -> np.ndarray:
    """v/‖v‖, where squares of v may be 0 or infinite; 0 of 0."""
    largest = np.abs(values).max()
    if largest == 0.0:
        return values
    scaled = values / largest
    return scaled / np.linalg.norm(scaled)


def shares(rows: np.ndarray, features: ListedFeatures) -> np.ndarray:
    """u of every support in one block, lexicographic."""
    columns, b, ridge = features.columns, len(rows), r_squared.PENALTY
    kernels = [kernel(rows, part, columns.indicators) for part in columns.parts[:-1]]
    y = centred(rows[:, columns.parts[-1][0]])
    total = len(list(combinations(range(features.count), features.support_size)))
    if not y.any():
        return np.zeros(total)
    y = unit(y)
    found = []
    for support in combinations(range(features.count), features.support_size):
        chosen = sum(kernels[j] for j in (*support, *range(features.count, len(kernels))))
        residuals = ridge * np.linalg.inv(chosen + ridge * np.eye(b))
        # The constant is an eigenvector of value 1: b - 1 - degrees of freedom without it.
        left = float(np.trace(residuals)) - 1.0
        of_noise = (float(np.trace(residuals @ residuals)) - 1.0) / (b - 1)
        squares = float(((residuals @ y) ** 2).sum())
        unbiased, cross_validated = squares / of_noise, squares / (left / (b - 1)) ** 2
        found.append(1.0 - math.sqrt(unbiased * cross_validated))
    g = np.array(found)
    low = r_squared.DEPTH
    return (np.clip(g / max(0.25, float(g.max())), -low, 1.0) + low) / (1.0 + low)


def direct_counts(rows: np.ndarray, features: ListedFeatures, blocks: Blocks) -> np.ndarray:
    """2²⁰ T F(S) of every support, shape (N,)."""
    blocks_of_rows = row_blocks(len(rows), blocks)
    return sum(np.rint(UNITS * shares(rows[block], features)) for block in blocks_of_rows)
