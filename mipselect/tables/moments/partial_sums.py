"""`PartialSums`: products of rows of blocks, in floating point for as long as that is exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from mipselect.tables.moments.sums import ONE, IntMatrix

MOVED_ROWS = 1 << 8
"""Rows of a matrix that are turned into integers at once."""


@dataclass(frozen=True)
class Entries:
    """Integers that stand for the entries of blocks.

    Attributes
    ----------
    type : type
        Floating point numbers that hold them.
    unit : int
        A product of two of them in units of the grid, squared.
    most_blocks : int
        Products of the rows of so many blocks add up without rounding.
    """

    type: type[np.float32] | type[np.float64]
    unit: int
    most_blocks: int


SIGNS = Entries(np.float32, ONE, 1 << 24)
ON_GRID = Entries(np.float64, 1, 1 << 21)


class PartialSums:
    """Half of ZᵀZ, of blocks in which no column of Z is longer than 1.

    All partial sums of the products in a block are integers of at most 1, or 2^32 units of the
    grid, in any order, so that no addition is rounded (docs/mathematics/blocks.md, (5)).

    Parameters
    ----------
    size : int
        Columns of Z.
    entries : Entries
    """

    def __init__(self, size: int, entries: Entries) -> None:
        self.entries = entries
        self.blocks = 0
        # In the order of Fortran, as BLAS takes it without a copy; its upper half is used.
        self._sums = np.zeros((size, size), dtype=entries.type, order="F")
        self._multiply = get_blas_funcs("syrk", (self._sums,))

    def add(self, rows: NDArray[np.floating], blocks: int) -> None:
        """Add rows of so many blocks, shape (m, size)."""
        self._sums = self._multiply(1.0, rows.T, beta=1.0, c=self._sums, overwrite_c=1)
        self.blocks += blocks

    def move_to(self, totals: IntMatrix) -> None:
        """Add what is here to the lower half of `totals`, shape (size, size), and be empty."""
        lower = self._sums.T
        for start in range(0, len(lower), MOVED_ROWS):
            end = start + MOVED_ROWS
            totals[start:end, :end] += lower[start:end, :end].astype(np.int64) * self.entries.unit
        self._sums[:] = 0.0
        self.blocks = 0


def fill_upper_half(totals: IntMatrix) -> None:
    """Make a matrix symmetric whose lower half is there, in place."""
    for start in range(0, len(totals), MOVED_ROWS):
        end = start + MOVED_ROWS
        corner = totals[start:end, start:end]
        corner += np.tril(corner, -1).T
        totals[:start, start:end] = totals[start:end, :start].T
