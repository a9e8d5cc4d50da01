"""Sums of products that are exact: entries in [-1, 1] on a public grid.

Cutting an entry to the grid is a map of one row, and towards zero it makes none larger. Products of
such entries are multiples of `GRID`², and doubles add up a million of them without rounding, so a
sum is the same for every order of the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput

GRID = 2.0**-16
"""Entries are cut to multiples of this."""

EXACT_ROWS = 1 << 20
"""Products of so many rows on the grid add up exactly in doubles: below 2^20 · 2^32 < 2^53."""

MOST_ROWS = 2**31 - 1
"""A product is at most 2^32 units a row, so that these rows are the last that fit into int64."""


def on_grid(values: FloatArray, bound: float | FloatArray) -> FloatArray:
    """Divide by `bound`, clip to [-1, 1] and cut towards zero to multiples of `GRID`.

    A row within `bound` stays within 1, exactly: its squared length is a multiple of GRID², and
    no multiple lies between 1 and what rounding can make of it. What is no number becomes 0.
    """
    with np.errstate(all="ignore"):
        scaled = np.clip(np.nan_to_num(values / bound, nan=0.0), -1.0, 1.0)
        cut: FloatArray = np.trunc(scaled / GRID) * GRID
    return cut


def exact_sums(left: FloatArray, right: FloatArray, unit: float = GRID) -> NDArray[np.int64]:
    """Compute leftᵀ right in units of unit², exactly, in any order of the rows.

    Parameters
    ----------
    left, right : float arrays, shapes (n, a) and (n, b)
        Multiples of `unit` of at most unit/GRID.
    unit : float

    Raises
    ------
    InvalidInput
        For more than `MOST_ROWS` rows.
    """
    if len(left) > MOST_ROWS:
        raise InvalidInput(
            f"sums are exact for at most {MOST_ROWS:,} rows, got {len(left):,}; draw from fewer"
        )
    total = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
    for start in range(0, len(left), EXACT_ROWS):
        part = slice(start, start + EXACT_ROWS)
        block = left[part].T @ right[part]
        total += (block / unit**2).astype(np.int64)
    return total


def exact_products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Compute leftᵀ right for entries on the grid in [-1, 1], in any order of the rows.

    Exact up to 2^21 rows; beyond, an exact sum is rounded once to a double.

    Parameters
    ----------
    left, right : float arrays, shapes (n, a) and (n, b)
    """
    return rounded(exact_sums(left, right))


def rounded(sums: IntArray) -> FloatArray:
    """Convert sums of products to doubles, rounded once if they have more than 53 bits."""
    result: FloatArray = sums.astype(np.float64) * GRID**2
    return result
