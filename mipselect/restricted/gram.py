"""Columns of the Gram matrix G = XᵀX, computed when they are first needed and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, partial, reduce
from operator import iadd

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.row_tops import streamed_row_tops

FULL_GRAM_BYTES = 2**30
"""A full G in float64 is kept only up to this size, that of 11,585 columns; and so is, before it, a
copy of X."""

KEPT_BYTES = 2**28
"""Most bytes of columns kept where G is not; beyond it they are computed anew."""

BLOCK_BYTES = 2**27
"""Working memory for one block of columns."""

CACHED_ENTRIES = 2**16
"""Number of entries that are picked from rows at once: what a cache holds."""

SUMMED_ROWS = 2**12
"""Rows whose products are summed at once, so that rounding grows with this number and with that of
such blocks, and not with n. Where rows are no more than twice as many, one sum takes less time."""

ADDED_BLOCKS = 2**12
"""Blocks that are added up one after the other; sums of so many are added up in turn."""

MOVED = 16
"""Multiplications that take as long as reading, copying or converting one number of X."""

BLOCK_WORK = 2**33
"""Multiplications between two looks at the clock: about a quarter of a second."""

_look: ContextVar[Callable[[], object] | None] = ContextVar("look", default=None)


@contextmanager
def looking(look: Callable[[], object]) -> Iterator[None]:
    """Look at the clock between blocks of a product in this context; `look` may raise."""
    before = _look.set(look)
    try:
        yield
    finally:
        _look.reset(before)


def _looked(starts: range) -> Iterator[int]:
    """Yield the starts of blocks, and look at the clock before each but the first."""
    look = _look.get()
    for start in starts:
        if look is not None and start > starts.start:
            look()
        yield start


def roundings_of_sum(n: int) -> int:
    """Count the most roundings that a term of `products` over n rows goes through."""
    together = _summed_at_once(n)
    blocks = -(-n // together)
    groups = -(-blocks // ADDED_BLOCKS)
    return together + min(blocks, ADDED_BLOCKS) + groups - 1


def products(A: FloatArray, B: FloatArray) -> FloatArray:
    """Compute AᵀB in float64 from A of shape (n, k) and B of shape (n,) or (n, l), in blocks.

    No panel of columns takes more than `BLOCK_BYTES`, unless a single column does.
    """
    right = B.reshape(len(B), -1)
    total = np.empty((A.shape[1], right.shape[1]))
    width = _width(len(A), A.shape[1], BLOCK_BYTES // (8 * (A.shape[1] + _summed_at_once(len(A)))))
    for start in _looked(range(0, right.shape[1], width)):
        panel = slice(start, start + width)
        total[:, panel] = _summed(A, right[:, panel])
    return total.reshape(A.shape[1], *B.shape[1:])


def products_of_pairs(A: FloatArray) -> FloatArray:
    """Compute AᵀA by the same blocks of rows and panels, the product of two columns once."""
    k = A.shape[1]
    width = _width(len(A), k, BLOCK_BYTES // (8 * max(k, _summed_at_once(len(A)))))
    if k <= width:
        return _summed(A, A)
    total = np.empty((k, k))
    for start in _looked(range(0, k, width)):
        some, later = slice(start, start + width), slice(start + width, k)
        panel = A[:, some]
        total[some, some] = _summed(panel, panel)
        total[later, some] = _summed(A[:, later], panel)
        total[some, later] = total[later, some].T
    return total


def _width(n: int, k: int, most: int) -> int:
    """Return how many columns a panel may have that is multiplied with k others."""
    return max(1, min(most, BLOCK_WORK // max(1, k * _summed_at_once(n))))


def _summed(A: FloatArray, B: FloatArray) -> FloatArray:
    """Compute AᵀB, adding up products of blocks of rows; if B is A, half of each is enough."""

    def of_rows(rows: slice) -> FloatArray:
        left = A[rows].astype(np.float64, copy=False)
        right = left if B is A else B[rows].astype(np.float64, copy=False)
        product: FloatArray = left.T @ right
        return product

    return _added_up(len(A), of_rows)


def sums_of_squares(A: FloatArray) -> FloatArray:
    """Add up squares of the columns of A in float64, by the same blocks of rows."""

    def of_rows(rows: slice) -> FloatArray:
        found: FloatArray = np.einsum("i...,i...->...", A[rows], A[rows], dtype=np.float64)
        return found

    return np.asarray(_added_up(len(A), of_rows))


def _added_up(n: int, of_rows: Callable[[slice], FloatArray]) -> FloatArray:
    """Add up new arrays, one for each block of n rows, in groups, and then the groups."""
    together = _summed_at_once(n)
    blocks = range(0, max(n, 1), together)
    groups = (blocks[k : k + ADDED_BLOCKS] for k in range(0, len(blocks), ADDED_BLOCKS))

    def of_group(starts: range) -> FloatArray:
        return reduce(iadd, (of_rows(slice(start, start + together)) for start in _looked(starts)))

    return reduce(iadd, map(of_group, groups))


def _summed_at_once(n: int) -> int:
    return max(n, 1) if n <= 2 * SUMMED_ROWS else SUMMED_ROWS


class Gram:
    """G = XᵀX by columns, in float64.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Clipped data; it is read, never written.
    """

    _known_tops: tuple[IntArray, FloatArray] | None = None

    def __init__(self, X: FloatArray) -> None:
        self._X = X
        self.p = int(X.shape[1])
        self._full: FloatArray | None = None
        self._columns: dict[int, FloatArray] = {}
        self._converted: FloatArray | None = None
        self._work = 0.0

    @cached_property
    def diagonal(self) -> FloatArray:
        """The diagonal of G, shape (p,); it is not summed again where all of G is kept first."""
        if self._full is not None:
            return np.diagonal(self._full).copy()
        return sums_of_squares(self._X)

    @property
    def rows(self) -> FloatArray | None:
        """The data X, shape (n, p); None where only sums over rows are known."""
        return self._X

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
            self._converted = None
            self._full = products_of_pairs(self._X)
        return self._full

    def columns(self, indices: IntArray) -> FloatArray:
        """Return G[:, indices], shape (p, len(indices))."""
        missing = self._missing(indices)
        if self._worth_holding(self._work_of_columns(len(missing))):
            return np.asarray(self.full()[indices].T)
        if missing:
            if 8 * self.p * (len(self._columns) + len(missing)) > KEPT_BYTES:
                self._columns.clear()
                missing = [int(j) for j in indices]
            fresh = self.product(self._numbers[:, missing])
            self._columns.update((j, fresh[:, k].copy()) for k, j in enumerate(missing))
        if len(indices) == 0:
            return np.empty((self.p, 0))
        return np.stack([self._columns[int(j)] for j in indices], axis=1)

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
                found = streamed_row_tops(self._X, self.diagonal, candidates, count, tick)
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
        return products_of_pairs(self._numbers[:, indices])

    def rectangle(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return G[rows][:, columns], shape (k, l): of whole columns, where this is less work."""
        work = len(rows) * len(columns) + 2 * MOVED * (len(rows) + len(columns))
        if self._full is None and self._work_of_columns(len(self._missing(rows))) <= work:
            return np.asarray(self.columns(rows)[columns].T)
        if self._worth_holding(work):
            return picked(self.full(), rows, columns)
        left, right = self._numbers[:, rows], self._numbers[:, columns]
        return products(left, right)

    def _missing(self, indices: IntArray) -> list[int]:
        """List the columns that are not kept; none where all of G is."""
        if self._full is not None:
            return []
        return [int(j) for j in indices if int(j) not in self._columns]

    def _work_of_columns(self, count: int) -> float:
        """Count multiplications for new columns, for each row of X."""
        if count == 0:
            return 0.0
        converted = self._numbers.dtype == np.float64
        return float(count * self.p + MOVED * (self.p if converted else 2 * self.p))

    def _worth_holding(self, work: float) -> bool:
        """Return whether to keep all of G: it is less work than what was done and is asked.

        Work is counted in multiplications for each row of X.
        """
        if self._full is None and self.fits:
            self._work += work
        return self._full is not None or self._work > self.p * (0.5 * self.p + MOVED)

    @property
    def _numbers(self) -> FloatArray:
        """X in float64, converted once, if G may be as large; X itself if not."""
        if self._converted is None:
            small = 8 * self._X.size <= FULL_GRAM_BYTES
            self._converted = self._X.astype(np.float64, copy=False) if small else self._X
        return self._converted

    def blocks(self, indices: IntArray) -> FloatArray:
        """Return G[row][:, row] for every row of `indices`, shape (m, w): (m, w, w)."""
        m, w = indices.shape
        if w == 1:
            return np.asarray(self.diagonal[indices][:, :, None])
        if self._worth_holding(m * w * (w + 2 * MOVED)):
            return np.asarray(self.full()[indices[:, :, None], indices[:, None, :]])
        found = np.empty((m, w, w))
        height = max(1, BLOCK_BYTES // (8 * w * _summed_at_once(len(self._X))))
        for start in range(0, m, height):
            some = indices[start : start + height]
            found[start : start + height] = _added_up(len(self._X), partial(self._pairs, some))
        return found

    def _pairs(self, indices: IntArray, rows: slice) -> FloatArray:
        """Multiply columns within each row of indices, shape (m, w), over some rows of X."""
        chosen = self._numbers[rows].T[indices].astype(np.float64, copy=False)
        found: FloatArray = chosen @ chosen.transpose(0, 2, 1)
        return found

    def product(self, V: FloatArray) -> FloatArray:
        """Compute XᵀV in float64, shape (p,) or (p, k)."""
        return products(self._numbers, V)


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
