"""Sums over the rows of normalised blocks, window after window."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.normalised import factors_of_blocks, normalised, signs_of_pairs
from mipselect.blocks.r_squared import cores
from mipselect.errors import InvalidInput
from mipselect.grid import MOST_ROWS
from mipselect.tables.moments import (
    MOST_THREADS,
    ONE,
    BlockColumns,
    IntMatrix,
    Moments,
    blas,
    zero_sums,
)

WINDOW_ENTRIES = 1 << 26
"""A window, which is a copy of its rows, has no more entries; public."""

CHUNK_ENTRIES = 1 << 20
"""Entries of blocks that are multiplied at once."""

CHUNK_BLOCKS = 1 << 13
"""Least number of blocks that are multiplied at once: of fewer a product takes long to be added."""

CACHED_ENTRIES = 1 << 16
"""Entries of blocks that are normalised at once."""

PRODUCT_BYTES = 1 << 30
"""The products of all threads take no more, unless that of one does."""


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


def add_products(rows: NDArray[np.floating], totals: IntMatrix, turn: Lock) -> None:
    """Add ZᵀZ of the rows Z, shape (m, size), to the lower half of integers, in turn.

    No column of Z is longer than 1 in a block. So all partial sums of the products in a block are
    integers of at most 1, or 2^32 units of the grid, in any order, and no addition of as many
    blocks as `Entries` allows is rounded (docs/mathematics/blocks.md, (5)).
    """
    product = get_blas_funcs("syrk", (rows,))(1.0, rows.T)
    with turn:
        np.add(totals, product.T, out=totals, dtype=np.int64, casting="unsafe")


def block_sums(columns: BlockColumns, rows: FloatArray) -> Moments:
    """Add up the rows of the blocks of all partitions; the first entry counts rows of the table.

    Rows are divided among windows at random, and those of a window among blocks.

    Parameters
    ----------
    columns : BlockColumns
    rows : ndarray of shape (n, p + 1)
        x and y; where rows are weighted, how much each counts is one more column, the last.

    Raises
    ------
    InvalidInput
        For fewer rows than a block has, and for more blocks than fit into 64 bits.

    References
    ----------
    docs/mathematics/blocks.md, (5).
    """
    size, blocks, n = len(columns.names) + 1, columns.blocks, len(rows)
    blocks.count(n)
    # Each block adds up to 2^32 units.
    if blocks.terms(n) > MOST_ROWS:
        raise InvalidInput(
            f"sums of more than {MOST_ROWS:,} blocks do not fit into 64 bits; take fewer "
            f"partitions than {blocks.partitions}"
        )
    totals = zero_sums(1, size + 1)
    of_rows = totals[0, 1:, 1:]
    entries, turn = _entries_of(columns), Lock()
    of_one = size**2 * np.dtype(entries.type).itemsize
    threads = min(MOST_THREADS, cores(), max(1, PRODUCT_BYTES // of_one))

    def add(window: FloatArray, chunk: IntArray) -> None:
        add_products(_rows_of_blocks(window, chunk, columns), of_rows, turn)

    most = min(max(CHUNK_ENTRIES // (blocks.rows * size), CHUNK_BLOCKS), entries.most_blocks)
    waiting = deque[Future[None]]()
    with blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for number, window in enumerate(_windows(columns, rows)):
            for part in blocks.of_window(number, len(window)):
                for start in range(0, len(part), most):
                    chunk = part[start : start + most]
                    if len(waiting) > 2 * threads:
                        waiting.popleft().result()
                    waiting.append(pool.submit(add, window, chunk))
        while waiting:
            waiting.popleft().result()
    of_rows *= entries.unit
    of_rows += np.tril(of_rows, -1).T
    totals[0, 0, 0] = n * ONE
    return Moments(columns, totals)


def _entries_of(columns: BlockColumns) -> Entries:
    """Choose signs where blocks have two rows and features one column, and all count the same."""
    several = bool(columns.parts.several) or columns.weighted
    return SIGNS if columns.blocks.rows == 2 and not several else ON_GRID


def _rows_of_blocks(
    window: FloatArray, blocks: IntArray, columns: BlockColumns
) -> NDArray[np.floating]:
    """Make the rows of normalised blocks, in pieces that a cache holds."""
    entries, (m, b), size = _entries_of(columns), blocks.shape, len(columns.names) + 1
    shares = window[:, -1] if columns.weighted else None
    window = window[:, :size]
    height = 1 if b == 2 else b
    rows = np.empty((m * height, size), dtype=entries.type)
    step = max(1, CACHED_ENTRIES // (b * size))
    for start in range(0, m, step):
        piece = blocks[start : start + step]
        place = slice(height * start, height * (start + len(piece)))
        if entries is SIGNS:
            rows[place] = signs_of_pairs(window, piece)
        else:
            factors = None if shares is None else factors_of_blocks(shares, piece)
            rows[place] = normalised(window, piece, columns.parts, factors)
    return rows


def _windows(columns: BlockColumns, rows: FloatArray) -> Iterator[FloatArray]:
    """Yield the rows of windows, shape (window, p + 1); the last one may have fewer."""
    size, blocks, b = len(columns.names) + 1, columns.blocks, columns.blocks.rows
    window = min(blocks.window, max(b, WINDOW_ENTRIES // size // b * b))
    if len(rows) <= window:
        yield rows
        return
    order = blocks.order(len(rows))
    for start in range(0, len(rows), window):
        yield rows[order[start : start + window]]
