"""Sums over the rows of normalised blocks: one pass over a table, window after window."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.normalised import factors_of_blocks, normalised, signs_of_pairs
from mipselect.blocks.r_squared import cores
from mipselect.errors import InvalidInput
from mipselect.grid import MOST_ROWS
from mipselect.tables.moments import (
    CACHED_ROWS,
    MOST_THREADS,
    ONE,
    BlockColumns,
    IntMatrix,
    Moments,
    blas,
    slices,
    zero_sums,
)

WINDOW_ENTRIES = 1 << 26
"""A window has no more entries, so that two of them fit into memory whatever the number of columns
is; public."""

SPAN_ENTRIES = 1 << 25
"""So many entries are in memory at once, unless a window has more: their rows are divided among
windows at random; public."""

CHUNK_ENTRIES = 1 << 20
"""Entries of blocks that are multiplied at once."""

CHUNK_BLOCKS = 1 << 10
"""Least number of blocks that are multiplied at once: fewer would make a product slow."""

CACHED_ENTRIES = 1 << 16
"""Entries of blocks that are normalised at once."""

MAPPED_AHEAD = 3
"""Parts of a window that are mapped while others are waited for."""

PARTIAL_BYTES = 1 << 30
"""The partial sums of all threads take no more, unless those of one do."""


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
        totals += np.tril(self._sums.T).astype(np.int64) * self.entries.unit
        self._sums[:] = 0.0
        self.blocks = 0


def block_sums(
    columns: BlockColumns,
    batches: Iterable[Any],
    mapped: Callable[[Any], FloatArray] = lambda rows: rows,
) -> Moments:
    """Add up the rows of the blocks of all partitions; the first entry counts rows of the table.

    A block has rows of one window, and a window is drawn from a span of consecutive rows, however
    they come: chunks and files do not matter to it.

    Parameters
    ----------
    columns : BlockColumns
    batches : iterable
        Arrays or batches of Arrow.
    mapped : callable
        From a part of a batch to its rows x and y, shape (m, p + 1); where rows are weighted, how
        much each counts is one more column, the last.

    Raises
    ------
    InvalidInput
        For fewer rows than a block has, and for more blocks than fit into 64 bits.

    References
    ----------
    docs/mathematics/blocks.md, (5).
    """
    size, blocks = len(columns.names) + 1, columns.blocks
    totals = zero_sums(1, size + 1)
    of_rows = totals[0, 1:, 1:]
    entries, turn = _entries_of(columns), Lock()
    of_one = size**2 * np.dtype(entries.type).itemsize
    threads = min(MOST_THREADS, cores(), max(1, PARTIAL_BYTES // of_one))
    idle = SimpleQueue[PartialSums]()
    for _ in range(threads):
        idle.put(PartialSums(size, entries))

    def add(window: FloatArray, chunk: IntArray) -> None:
        rows = _rows_of_blocks(window, chunk, columns)
        sums = idle.get()
        if sums.blocks + len(chunk) > entries.most_blocks:
            with turn:
                sums.move_to(of_rows)
        sums.add(rows, len(chunk))
        idle.put(sums)

    most = max(CHUNK_ENTRIES // (blocks.rows * size), CHUNK_BLOCKS)
    waiting = deque[Future[None]]()
    n = 0
    with blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for number, window in enumerate(_windows(columns, _mapped(batches, mapped, pool))):
            for part in blocks.of_window(number, len(window)):
                for start in range(0, len(part), most):
                    chunk = part[start : start + most]
                    if len(waiting) > 2 * threads:
                        waiting.popleft().result()
                    waiting.append(pool.submit(add, window, chunk))
            n += len(window)
            # Each block adds up to 2^32 units.
            if blocks.terms(n) > MOST_ROWS:
                raise InvalidInput(
                    f"sums of more than {MOST_ROWS:,} blocks do not fit into 64 bits; take fewer "
                    f"partitions than {blocks.partitions}"
                )
        while waiting:
            waiting.popleft().result()
    for _ in range(threads):
        idle.get().move_to(of_rows)
    of_rows += np.tril(of_rows, -1).T
    totals[0, 0, 0] = n * ONE
    blocks.count(n)
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


def _windows(columns: BlockColumns, pieces: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """Yield the rows of windows, shape (window, p + 1); the last one may have fewer."""
    size, blocks = len(columns.names) + 1, columns.blocks
    b = blocks.rows
    window = min(blocks.window, max(b, WINDOW_ENTRIES // size // b * b))
    most = window * max(1, SPAN_ENTRIES // (size * window))
    for number, span in enumerate(_spans(pieces, most)):
        if len(span) <= window:
            yield span
            continue
        order = blocks.order(number, len(span))
        for start in range(0, len(span), window):
            yield span[order[start : start + window]]


def _spans(pieces: Iterable[FloatArray], most: int) -> Iterator[FloatArray]:
    """Yield so many consecutive rows, shape (most, p + 1); the last span may have fewer."""
    kept: list[FloatArray] = []
    held = 0
    for rows in pieces:
        while held + len(rows) >= most:
            taken = most - held
            yield np.concatenate([*kept, rows[:taken]])
            rows, kept, held = rows[taken:], [], 0
        if len(rows):
            kept.append(rows)
            held += len(rows)
    if kept:
        yield np.concatenate(kept)


def _mapped(
    batches: Iterable[Any], mapped: Callable[[Any], FloatArray], pool: ThreadPoolExecutor
) -> Iterator[FloatArray]:
    """Yield rows in their order, a few at a time; the pool maps them while others are read."""
    ahead = deque[Future[FloatArray]]()
    for batch in batches:
        for rows in slices(batch, CACHED_ROWS):
            ahead.append(pool.submit(mapped, rows))
            if len(ahead) > MAPPED_AHEAD:
                yield ahead.popleft().result()
    while ahead:
        yield ahead.popleft().result()
