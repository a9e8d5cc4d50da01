"""Sums over the rows of normalised blocks: one pass over a table, window after window."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.normalised import factors_of_blocks, normalised, signs_of_pairs
from mipselect.blocks.r_squared import cores
from mipselect.errors import InvalidInput
from mipselect.grid import MOST_ROWS
from mipselect.tables.moments.batches import (
    checked_pairs,
    is_dask,
    open_tables,
    part_of_arrays,
)
from mipselect.tables.moments.block_columns import BlockColumns, TableBlockColumns
from mipselect.tables.moments.counting import (
    CACHED_ROWS,
    MOST_THREADS,
    Counting,
    Progress,
    blas,
    slices,
)
from mipselect.tables.moments.partial_sums import (
    ON_GRID,
    SIGNS,
    Entries,
    PartialSums,
    fill_upper_half,
)
from mipselect.tables.moments.sums import ONE, Sums
from mipselect.tables.parts import Part

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


def sums_of_source(source: Any, columns: BlockColumns, progress: Progress | None) -> Sums:
    """Add up the blocks of a source; see `Moments.of_blocks`."""
    if is_dask(source):
        from mipselect.tables.moments.dask_collections import dask_block_sums

        return dask_block_sums(source, columns)
    if isinstance(columns, TableBlockColumns):
        require_one_row_each(columns)
        return block_sums(columns, open_tables(source, columns.public), progress)
    names, pairs = checked_pairs(source)
    if len(names) != len(columns.names):
        raise InvalidInput(f"X must have {len(columns.names)} columns, got {len(names)}")
    return block_sums(columns, [part_of_arrays(pairs)], progress)


def require_one_row_each(columns: TableBlockColumns) -> None:
    """Raise `InvalidInput` where a person may have several rows."""
    if columns.public.unit is not None:
        raise InvalidInput(
            "rows of one person must be in memory together: draw from the table itself, by "
            "Instance.from_blocks or 'mipselect select --score blocks', or make one row of each "
            "person first, and a schema without csvw-eo:privacyUnit"
        )


def block_sums(
    columns: BlockColumns, parts: Iterable[Part], progress: Progress | None = None
) -> Sums:
    """Add up the rows of the blocks of all partitions; the first entry counts rows of the table.

    A block has rows of one window, and a window is drawn from a span of consecutive rows of the
    source, however they come: chunks and files do not matter to it.

    Parameters
    ----------
    columns : BlockColumns
    parts : iterable of Part
    progress : callable, optional
        Receives a `Counting` for every window.

    References
    ----------
    docs/mathematics/blocks.md, (5).
    """
    size, blocks = len(columns.names) + 1, columns.blocks
    totals = Sums(1, size + 1).totals
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
        for number, window in enumerate(_windows(columns, parts, pool)):
            for part in blocks.of_window(number, len(window)):
                for start in range(0, len(part), most):
                    chunk = part[start : start + most]
                    if len(waiting) > 2 * threads:
                        waiting.popleft().result()
                    waiting.append(pool.submit(add, window, chunk))
            n += len(window)
            require_room(columns, n)
            if progress is not None:
                progress(Counting("blocks", number, n, 8 * n * size, None))
        while waiting:
            waiting.popleft().result()
    for _ in range(threads):
        idle.get().move_to(of_rows)
    fill_upper_half(of_rows)
    totals[0, 0, 0] = n * ONE
    return Sums.of(totals)


def require_room(columns: BlockColumns, n: int) -> None:
    """Raise `InvalidInput` if n rows have more blocks than fit: each adds up to 2^32 units."""
    if columns.blocks.terms(n) > MOST_ROWS:
        raise InvalidInput(
            f"sums of more than {MOST_ROWS:,} blocks do not fit into 64 bits; take fewer "
            f"partitions than {columns.blocks.partitions}"
        )


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


def _windows(
    columns: BlockColumns, parts: Iterable[Part], pool: ThreadPoolExecutor
) -> Iterator[FloatArray]:
    """Yield the rows of windows, shape (window, p + 1); the last one may have fewer."""
    size, blocks = len(columns.names) + 1, columns.blocks
    b = blocks.rows
    window = min(blocks.window, max(b, WINDOW_ENTRIES // size // b * b))
    most = window * max(1, SPAN_ENTRIES // (size * window))
    for number, span in enumerate(_spans(columns, parts, most, pool)):
        if len(span) <= window:
            yield span
            continue
        order = blocks.order(number, len(span))
        for start in range(0, len(span), window):
            yield span[order[start : start + window]]


def _spans(
    columns: BlockColumns, parts: Iterable[Part], most: int, pool: ThreadPoolExecutor
) -> Iterator[FloatArray]:
    """Yield so many consecutive rows, shape (most, p + 1); the last span may have fewer."""
    kept: list[FloatArray] = []
    held = 0
    for rows in _mapped(columns, parts, min(CACHED_ROWS, most), pool):
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
    columns: BlockColumns, parts: Iterable[Part], most: int, pool: ThreadPoolExecutor
) -> Iterator[FloatArray]:
    """Yield rows in their order, a few at a time; the pool maps them while others are read."""
    ahead = deque[Future[FloatArray]]()
    for part in parts:
        for batch in part.read(columns.reads):
            for rows in slices(batch, most):
                ahead.append(pool.submit(columns.rows, rows))
                if len(ahead) > MAPPED_AHEAD:
                    yield ahead.popleft().result()
    while ahead:
        yield ahead.popleft().result()
