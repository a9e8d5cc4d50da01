"""X by columns: all that a search does with rows are a few products of them, in float64.

Sums over rows are added up in blocks, so that their rounding has one bound whatever adds them up
(docs/mathematics/certified-search.md, (6)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, partial, reduce
from operator import iadd
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.row_tops import streamed_row_tops

CONVERTED_BYTES = 2**32
"""Numbers of float32 are converted once, and kept, if they take no more; else panel by panel."""

BLOCK_BYTES = 2**27
"""Working memory for one block of columns."""

SUMMED_ROWS = 2**12
"""Rows whose products are summed at once, so that rounding grows with this number and with that of
such blocks, and not with n. Where rows are no more than twice as many, one sum takes less time."""

ADDED_BLOCKS = 2**12
"""Blocks that are added up one after the other; sums of so many are added up in turn."""

MIRRORED = 512
"""Columns that are transposed at once: what a cache holds."""

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


def looked(starts: range) -> Iterator[int]:
    """Yield the starts of blocks, and look at the clock before each but the first."""
    look = _look.get()
    for start in starts:
        if look is not None and start > starts.start:
            look()
        yield start


def roundings_of_sum(n: int) -> int:
    """Count the most roundings that a term of a product over n rows goes through."""
    together = _summed_at_once(n)
    blocks = -(-n // together)
    groups = -(-blocks // ADDED_BLOCKS)
    return together + min(blocks, ADDED_BLOCKS) + groups - 1


def products(A: FloatArray, B: FloatArray) -> FloatArray:
    """Compute AᵀB in float64 from A of shape (n, k) and B of shape (n,) or (n, l), in blocks.

    No panel of columns takes more than `BLOCK_BYTES`, unless a single column does.
    """
    k, right = A.shape[1], B.reshape(len(B), -1)
    total = np.empty((k, right.shape[1]))
    height = max(k, 1) if A.dtype == np.float64 else converted_at_once(len(A))
    for top in looked(range(0, k, height)):
        some = slice(top, top + height)
        left = _ready(A[:, some])
        most = BLOCK_BYTES // (8 * (left.shape[1] + _summed_at_once(len(A))))
        width = _width(len(A), left.shape[1], most)
        for start in looked(range(0, right.shape[1], width)):
            panel = slice(start, start + width)
            total[some, panel] = _summed(left, right[:, panel])
    return total.reshape(k, *B.shape[1:])


def products_of_pairs(A: FloatArray) -> FloatArray:
    """Compute AᵀA by the same blocks of rows and panels, the product of two columns once."""
    k = A.shape[1]
    width = _width(len(A), k, BLOCK_BYTES // (8 * max(k, _summed_at_once(len(A)))))
    if k <= width:
        return _summed(A, A)
    total = np.empty((k, k))
    for start in looked(range(0, k, width)):
        some, later = slice(start, start + width), slice(start + width, k)
        panel = _ready(A[:, some])
        total[some, some] = _summed(panel, panel)
        total[later, some] = products(A[:, later], panel)
        for left in range(start + width, k, MIRRORED):
            across = slice(left, left + MIRRORED)
            total[some, across] = total[across, some].T
    return total


def converted_at_once(n: int) -> int:
    """Return how many columns are converted at once."""
    return max(1, BLOCK_BYTES // (8 * _summed_at_once(n)))


def _ready(A: FloatArray) -> FloatArray:
    """Convert a panel to float64, unless its rows are so many that it is done block by block."""
    return A.astype(np.float64, copy=False) if len(A) <= 2 * SUMMED_ROWS else A


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

    return np.asarray(added_up(len(A), of_rows))


def sums_of_squares(A: FloatArray) -> FloatArray:
    """Add up squares of the columns of A in float64, by the same blocks of rows."""

    def of_rows(rows: slice) -> FloatArray:
        found: FloatArray = np.einsum("i...,i...->...", A[rows], A[rows], dtype=np.float64)
        return found

    return np.asarray(added_up(len(A), of_rows))


def added_up(n: int, of_rows: Callable[[slice], Any]) -> Any:
    """Add up new arrays, one for each block of n rows, in groups, and then the groups."""
    together = _summed_at_once(n)
    blocks = range(0, max(n, 1), together)
    groups = (blocks[k : k + ADDED_BLOCKS] for k in range(0, len(blocks), ADDED_BLOCKS))

    def of_group(starts: range) -> Any:
        return reduce(iadd, (of_rows(slice(start, start + together)) for start in looked(starts)))

    return reduce(iadd, map(of_group, groups))


def _summed_at_once(n: int) -> int:
    return max(n, 1) if n <= 2 * SUMMED_ROWS else SUMMED_ROWS


class Columns:
    """X, and the products of its columns, in memory or in a file that is mapped.

    Parameters
    ----------
    X : ndarray of shape (n, p), float32 or float64
        Clipped data; it is read, never written, and not copied but for a conversion of float32.
    """

    def __init__(self, X: FloatArray) -> None:
        self.X = X
        self.n, self.p = int(X.shape[0]), int(X.shape[1])

    @cached_property
    def _numbers(self) -> FloatArray:
        """X in float64, converted once; X itself where that would take too much memory."""
        small = 8 * self.X.size <= CONVERTED_BYTES
        return self.X.astype(np.float64, copy=False) if small else self.X

    @property
    def converted(self) -> bool:
        """True if a product converts no numbers."""
        return bool(self._numbers.dtype == np.float64)

    def chosen(self, indices: IntArray) -> FloatArray:
        """Return X[:, indices] in float64, shape (n, k)."""
        return self._numbers[:, indices].astype(np.float64, copy=False)

    def products(self, B: FloatArray) -> FloatArray:
        """Compute XᵀB in float64, shape (p,) or (p, k)."""
        return products(self._numbers, B)

    def of_pairs(self) -> FloatArray:
        """Compute XᵀX in float64, shape (p, p); a conversion is not kept for it."""
        return products_of_pairs(vars(self).get("_numbers", self.X))

    def blocks(self, indices: IntArray) -> FloatArray:
        """Return XᵀX[row][:, row] for every row of `indices`, shape (m, w): (m, w, w)."""
        m, w = indices.shape
        found = np.empty((m, w, w))
        height = max(1, BLOCK_BYTES // (8 * w * _summed_at_once(self.n)))
        for start in range(0, m, height):
            some = indices[start : start + height]
            found[start : start + height] = added_up(self.n, partial(self._pairs, some))
        return found

    def _pairs(self, indices: IntArray, rows: slice) -> FloatArray:
        """Multiply columns within each row of indices, shape (m, w), over some rows of X."""
        chosen = self._numbers[rows].T[indices].astype(np.float64, copy=False)
        found: FloatArray = chosen @ chosen.transpose(0, 2, 1)
        return found

    def row_tops(
        self, diagonal: FloatArray, candidates: IntArray, count: int, tick: Callable[[], None]
    ) -> FloatArray:
        """Bound the largest |G_jk| over candidates k ≠ j; see `streamed_row_tops`."""
        return streamed_row_tops(self.X, diagonal, candidates, count, tick)
