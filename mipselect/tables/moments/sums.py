"""`Sums`: ZᵀZ in integers, batch after batch, and the public rule that divides it into folds."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.grid import MOST_ROWS, exact_sums

ONE = 2**32
"""Amount that a row of ones adds to an entry."""

MOST_BYTES = 2**30
"""Most bytes of ZᵀZ in all folds; 11,585 columns in one."""

IntMatrix = NDArray[np.int64]


class Sums:
    """ZᵀZ of the rows so far, one matrix for each fold.

    Parameters
    ----------
    folds, size : int
        How many folds, and columns of Z.

    Attributes
    ----------
    totals : ndarray of int64, shape (folds, size, size)
        In units of the grid, squared. Sensitive.
    rows : int
    """

    def __init__(self, folds: int, size: int) -> None:
        if 8 * folds * size**2 > MOST_BYTES:
            raise InvalidInput(
                f"{size:,} columns with the one and the target, in {folds:,} folds, need "
                f"{8 * folds * size**2 / 2**30:.1f} GiB of sums; at most 1 GiB is held"
            )
        self.totals: IntMatrix = np.zeros((folds, size, size), dtype=np.int64)
        self.rows = 0

    @classmethod
    def of(cls, totals: IntMatrix) -> Sums:
        """Return the sums that these totals are."""
        sums = cls(*totals.shape[:2])
        sums.totals, sums.rows = totals, int(totals[:, 0, 0].sum()) // ONE
        return sums

    def add(self, Z: FloatArray, turn: AbstractContextManager[object] | None = None) -> None:
        """Add rows, shape (m, size): integers of at most 1/GRID, as doubles.

        Parameters
        ----------
        Z : ndarray
        turn : context manager, optional
            A lock, where several threads add: they multiply at the same time, and add in turn.

        Raises
        ------
        InvalidInput
            If there are more rows than fit; nothing was added then.
        """
        turn = nullcontext() if turn is None else turn
        with turn:
            self.rows = _checked_rows(self.rows + len(Z))
        folds = len(self.totals)
        if folds == 1:
            self._add(0, Z, turn)
            return
        fold = folds_of(Z, folds)
        order = np.argsort(fold, kind="stable")
        ends = np.searchsorted(fold[order], np.arange(1, folds + 1))
        start = 0
        for number, end in enumerate(ends.tolist()):
            if end > start:
                self._add(number, Z[order[start:end]], turn)
            start = end

    def _add(self, fold: int, rows: FloatArray, turn: AbstractContextManager[object]) -> None:
        products = exact_sums(rows, rows, 1.0)
        with turn:
            self.totals[fold] += products

    def __iadd__(self, other: Sums) -> Self:
        self.rows = _checked_rows(self.rows + other.rows)
        self.totals += other.totals
        return self


def _checked_rows(rows: int) -> int:
    if rows > MOST_ROWS:
        raise InvalidInput(
            f"moments hold at most {MOST_ROWS:,} rows, for sums of more do not fit into 64 bits; "
            "draw from fewer"
        )
    return rows


def folds_of(Z: FloatArray, folds: int) -> NDArray[np.int64]:
    """Hash all entries of every row, and nothing else, to its fold, shape (m,).

    So it depends neither on the order of the rows nor on who adds them up. Equal rows are in one
    fold, and a row that is replaced may leave one fold and enter another.
    """
    places = np.arange(1, Z.shape[1] + 1, dtype=np.uint64)
    entries = Z.astype(np.int64).view(np.uint64)
    mixed = _mixed((entries * _mixed(places)).sum(axis=1, dtype=np.uint64))
    return (mixed % np.uint64(folds)).astype(np.int64)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Permute the integers below 2^64 without a pattern (Steele et al., SplitMix)."""
    values = values * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
