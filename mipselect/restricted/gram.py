"""Columns of the Gram matrix G = XᵀX, computed when they are first needed and kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.columns import Columns, products, products_of_pairs, sums_of_squares

FULL_GRAM_BYTES = 2**30
"""A full G in float64 is kept only up to this size, that of 11,585 columns."""

KEPT_BYTES = 2**30
"""Most bytes of columns kept where G is not; beyond it the oldest are computed anew."""

CACHED_ENTRIES = 2**16
"""Number of entries that are picked from rows at once: what a cache holds."""

MOVED = 16
"""Multiplications that take as long as reading, copying or converting one number of X."""


class Gram:
    """G = XᵀX by columns, in float64.

    Parameters
    ----------
    X : Columns
    """

    _known_tops: tuple[IntArray, FloatArray] | None = None

    def __init__(self, X: Columns) -> None:
        self._X, self.p = X, X.p
        self._full: FloatArray | None = None
        self._columns: dict[int, FloatArray] = {}
        self._work = 0.0

    @cached_property
    def diagonal(self) -> FloatArray:
        """The diagonal of G, shape (p,); it is not summed again where all of G is kept first."""
        if self._full is not None:
            return np.diagonal(self._full).copy()
        return sums_of_squares(self._X.X)

    @property
    def rows(self) -> FloatArray | None:
        """The data X, shape (n, p); None where only sums over rows are known."""
        return self._X.X

    @property
    def fits(self) -> bool:
        """True if the full matrix is small enough to be kept."""
        return 8 * self.p**2 <= FULL_GRAM_BYTES

    @property
    def held(self) -> bool:
        """True if the full matrix is kept."""
        return self._full is not None

    def full(self) -> FloatArray:
        """Return G, shape (p, p); only where `fits`."""
        if self._full is None:
            self._columns.clear()
            self._full = self._X.of_pairs()
        return self._full

    def columns(self, indices: IntArray) -> FloatArray:
        """Return G[:, indices], shape (p, len(indices))."""
        missing = self._missing(indices)
        if self._worth_holding(self._work_of_columns(len(missing))):
            return np.asarray(self.full()[indices].T)
        if missing:
            self._forget(indices, len(missing))
            fresh = self.product(self._X.chosen(np.asarray(missing)))
            self._columns.update((j, fresh[:, k].copy()) for k, j in enumerate(missing))
        if len(indices) == 0:
            return np.empty((self.p, 0))
        return np.stack([self._columns[int(j)] for j in indices], axis=1)

    def _forget(self, indices: IntArray, more: int) -> None:
        """Make room for columns that will be kept, beside those that are asked for."""
        room, asked = KEPT_BYTES // (8 * self.p) - more, set(indices.tolist())
        for j in [j for j in self._columns if j not in asked][: max(0, len(self._columns) - room)]:
            del self._columns[j]

    def expect(self, indices: IntArray) -> None:
        """Compute columns in one pass over X that will likely be asked for one by one."""
        if self._full is None:
            self.columns(indices)

    def entries(self, rows: IntArray, j: int) -> FloatArray:
        """Return G[rows, j], shape (len(rows),)."""
        if self._full is not None:
            return np.asarray(self._full[j, rows])
        return np.asarray(self.columns(np.asarray([j]))[rows, 0])

    def row_tops(self, candidates: IntArray, count: int, tick: Callable[[], None]) -> FloatArray:
        """Add up the largest off-diagonal entries of every row among the candidates.

        Parameters
        ----------
        candidates : ndarray of int, shape (L,)
        count : int
            How many entries at most are summed.
        tick : callable
            Called before every block; may raise to stop.

        Returns
        -------
        ndarray of shape (p, count)
            Column c: at least the sum of the c+1 largest |G_jk| over candidates k ≠ j, for
            candidates j. Rows of features that are no candidates are zero.
        """
        tops = np.zeros((self.p, count))
        L = len(candidates)
        summed = min(count, L - 1)
        if summed <= 0:
            return tops
        tops[candidates, :summed] = np.cumsum(self._largest(candidates, summed, tick), axis=1)
        tops[candidates, summed:] = tops[candidates, summed - 1 : summed]
        return tops

    def _largest(self, candidates: IntArray, count: int, tick: Callable[[], None]) -> FloatArray:
        """Bound the `count` largest |G_jk| for k ≠ j from above, falling, shape (L, count).

        They are kept, for another search will need them.
        """
        known = self._known_tops
        if known is None or known[1].shape[1] != count or not np.array_equal(known[0], candidates):
            if self._full is None:
                found = self._X.row_tops(self.diagonal, candidates, count, tick)
            else:
                found = self._largest_of_full(self._full, candidates, count, tick)
            known = self._known_tops = candidates.copy(), found
        return known[1]

    def _largest_of_full(
        self, full: FloatArray, candidates: IntArray, count: int, tick: Callable[[], None]
    ) -> FloatArray:
        L = len(candidates)
        height = max(1, CACHED_ENTRIES // self.p)
        found = np.empty((L, count))
        for start in range(0, L, height):
            tick()
            chosen = candidates[start : start + height]
            block = full[chosen].take(candidates, axis=1)
            np.abs(block, out=block)
            block[np.arange(len(chosen)), np.arange(start, start + len(chosen))] = -1.0
            block.partition(L - count, axis=1)
            found[start : start + height] = np.sort(block[:, L - count :], axis=1)[:, ::-1]
        return found

    def block(self, indices: IntArray) -> FloatArray:
        """Return G[indices][:, indices], shape (k, k), without touching the other columns."""
        if self._full is None and not self._missing(indices):
            return np.asarray(self.columns(indices)[indices])
        k = len(indices)
        if self._worth_holding(0.5 * k**2 + 2 * MOVED * k):
            return np.asarray(self.full()[np.ix_(indices, indices)])
        return products_of_pairs(self._X.chosen(indices))

    def rectangle(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return G[rows][:, columns], shape (k, l): of whole columns, where this is less work."""
        work = len(rows) * len(columns) + 2 * MOVED * (len(rows) + len(columns))
        if self._full is None and self._work_of_columns(len(self._missing(rows))) <= work:
            return np.asarray(self.columns(rows)[columns].T)
        if self._worth_holding(work):
            return picked(self.full(), rows, columns)
        return products(self._X.chosen(rows), self._X.chosen(columns))

    def _missing(self, indices: IntArray) -> list[int]:
        """List the columns that are not kept; none where all of G is."""
        if self._full is not None:
            return []
        return [int(j) for j in indices if int(j) not in self._columns]

    def _work_of_columns(self, count: int) -> float:
        """Count multiplications for new columns, for each row of X."""
        if count == 0:
            return 0.0
        return float(count * self.p + MOVED * (self.p if self._X.converted else 2 * self.p))

    def _worth_holding(self, work: float) -> bool:
        """Return whether to keep all of G: it is less work than what was done and is asked.

        Work is counted in multiplications for each row of X.
        """
        if self._full is None and self.fits:
            self._work += work
        return self._full is not None or self._work > self.p * (0.5 * self.p + MOVED)

    def blocks(self, indices: IntArray) -> FloatArray:
        """Return G[row][:, row] for every row of `indices`, shape (m, w): (m, w, w)."""
        m, w = indices.shape
        if w == 1:
            return np.asarray(self.diagonal[indices][:, :, None])
        if self._worth_holding(m * w * (w + 2 * MOVED)):
            return np.asarray(self.full()[indices[:, :, None], indices[:, None, :]])
        return self._X.blocks(indices)

    def product(self, V: FloatArray) -> FloatArray:
        """Compute XᵀV in float64, shape (p,) or (p, k)."""
        return self._X.products(V)


def picked(matrix: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return matrix[rows][:, columns], shape (k, l): whole rows first, as they lie in memory."""
    found = np.empty((len(rows), len(columns)))
    height = max(1, CACHED_ENTRIES // matrix.shape[1])
    for start in range(0, len(rows), height):
        some = slice(start, start + height)
        found[some] = matrix[rows[some]].take(columns, axis=1)
    return found


class KnownGram(Gram):
    """G that was added up elsewhere, without rows: all of it is there.

    Parameters
    ----------
    matrix : ndarray of shape (p, p), float64
    """

    def __init__(self, matrix: FloatArray) -> None:
        self.p, self._full = len(matrix), matrix

    @property
    def rows(self) -> None:
        """None: G was added up elsewhere."""
