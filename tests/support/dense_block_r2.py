"""Block R² by its definition: one dense inverse for every block and support."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from mipselect.blocks import r_squared
from mipselect.blocks.partitions import Blocks
from mipselect.blocks.r_squared import ListedFeatures

UNITS = 2**20


def row_blocks(n: int, blocks: Blocks) -> list[np.ndarray]:
    """All blocks of all partitions, as row numbers."""
    return [block for partition in blocks.of_window(0, n) for block in partition]


def kernel(rows: np.ndarray, part: tuple[int, ...], indicators: np.ndarray) -> np.ndarray:
    """b ZZᵀ/tr ZZᵀ of a feature in one block, 0 where all of it is constant."""
    columns = np.array([centred(rows[:, j]) for j in part])
    for column, j in zip(columns, part, strict=True):
        if not indicators[j]:
            column /= np.linalg.norm(column) or 1.0
    trace = float((columns**2).sum())
    return columns.T @ columns * (len(rows) / trace) if trace > 0.0 else np.zeros((len(rows),) * 2)


def centred(values: np.ndarray) -> np.ndarray:
    there = np.isfinite(values)
    if not there.any() or np.ptp(values[there]) == 0.0:
        return np.zeros(len(values))
    return np.where(there, values - values[there].mean(), 0.0)


def shares(rows: np.ndarray, features: ListedFeatures) -> np.ndarray:
    """u of every support in one block, lexicographic."""
    columns, b, ridge = features.columns, len(rows), r_squared.PENALTY
    kernels = [kernel(rows, part, columns.indicators) for part in columns.parts[:-1]]
    y = centred(rows[:, columns.parts[-1][0]])
    total = len(list(combinations(range(features.count), features.support_size)))
    if not y.any():
        return np.zeros(total)
    y /= np.linalg.norm(y)
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
