"""`count`: one pass over the parts of a source, added up to ZᵀZ in integers by several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from mipselect.arrays import FloatArray
from mipselect.blocks.r_squared import cores
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_target, refuse_another_order
from mipselect.grid import MOST_ROWS, exact_sums
from mipselect.tables.check import PersonCheck
from mipselect.tables.mapping import open_table
from mipselect.tables.moments.columns import Columns, TableColumns
from mipselect.tables.parts import ROWS, Part, refuse_twice
from mipselect.tables.public_map import PublicMap
from mipselect.validation import shown

ONE = 2**32
"""Amount that a row of ones adds to an entry."""

MOST_BYTES = 2**30
"""Most bytes of ZᵀZ in all folds; 11,585 columns in one."""

CACHED_ROWS = 1 << 14
"""So many rows are mapped and multiplied at a time: a column of them stays in the cache."""

MOST_THREADS = 8
"""More would wait for what reads."""

IntMatrix = NDArray[np.int64]


def open_tables(source: Any, public: PublicMap) -> tuple[Part, ...]:
    """Return the parts of a table, or of a list of tables, whose headers are looked at.

    A file that is reached twice is refused.
    """
    if not isinstance(source, list | tuple):
        return open_table(source, public)
    together = tuple(part for one in source for part in open_tables(one, public))
    refuse_twice(place for part in together for place in part.places)
    return together


def part_of_arrays(source: Any) -> tuple[tuple[str, ...], Part]:
    """Return the names of the columns of (X, y), and a part whose batches have y as the last one.

    Raises
    ------
    InvalidInput
        With the row for what is no finite number.
    """
    if not (isinstance(source, tuple) and len(source) == 2):
        raise InvalidInput(
            "without a schema the source must be (X, y), with x_bound and y_bound; got "
            f"{shown(type(source).__name__)}: give the schema of a table"
        )
    refuse_another_order(*source)
    X, names = numeric_matrix(source[0])
    y = numeric_target(source[1], len(X))

    def read(_: Sequence[str]) -> Iterator[FloatArray]:
        for start in range(0, len(y), ROWS):
            yield np.column_stack([X[start : start + ROWS], y[start : start + ROWS]])

    named = names or tuple(f"x{j}" for j in range(X.shape[1]))
    return named, Part("the arrays", named, (), len(y), read)


def zero_sums(folds: int, size: int) -> IntMatrix:
    """Return ZᵀZ of no rows, shape (folds, size, size); `InvalidInput` if it is too large."""
    if 8 * folds * size**2 > MOST_BYTES:
        raise InvalidInput(
            f"{size:,} columns with the one and the target, in {folds:,} folds, need "
            f"{8 * folds * size**2 / 2**30:.1f} GiB of sums; at most 1 GiB is held"
        )
    return np.zeros((folds, size, size), dtype=np.int64)


def checked_rows(rows: int) -> int:
    """Return a number of rows; raise `InvalidInput` for more than sums can have."""
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


Progress = Callable[[int], object]
"""Receives the number of rows that were read so far."""


def count(
    parts: Sequence[Part], columns: Columns, folds: int, progress: Progress | None = None
) -> IntMatrix:
    """Add up all rows of the parts, and of people the first row of each, to ZᵀZ of every fold.

    Parameters
    ----------
    parts : sequence of Part
    columns : Columns
    folds : int
    progress : callable, optional
        Receives the number of rows so far.

    Notes
    -----
    Sums are exact, so it does not matter in which order the threads end.
    """
    totals, turn = zero_sums(folds, len(columns.names) + 2), Lock()
    unit = columns.public.unit if isinstance(columns, TableColumns) else None
    people = None if unit is None else PersonCheck(unit)

    def add(batch: Any, kept: Any) -> None:
        for piece in slices(batch, CACHED_ROWS) if kept is None else [batch]:
            Z = columns.rows(piece) if kept is None else columns.rows(piece)[kept]
            fold = folds_of(Z, folds) if folds > 1 else np.zeros(len(Z), np.int64)
            for k in np.unique(fold).tolist():
                rows = Z[fold == k] if folds > 1 else Z
                products = exact_sums(rows, rows, 1.0)
                # Threads multiply at the same time, and add in turn.
                with turn:
                    totals[k] += products

    threads, waiting = min(MOST_THREADS, cores()), deque[Future[None]]()
    rows = added = 0
    with blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for batch in (batch for part in parts for batch in part.read(columns.reads)):
            kept = None if people is None else people.add(batch.columns[-1])
            added = checked_rows(added + len(batch if kept is None else kept))
            if len(waiting) > threads:
                waiting.popleft().result()
            waiting.append(pool.submit(add, batch, kept))
            rows += len(batch)
            if progress is not None:
                progress(rows)
        while waiting:
            waiting.popleft().result()
    return totals


@cache
def blas() -> ThreadpoolController:
    """Find the libraries that multiply, once; finding them takes longer than a small table."""
    return ThreadpoolController()


def slices(batch: Any, rows: int) -> Iterator[Any]:
    """Yield parts of a batch, of so many rows or fewer; nothing is copied."""
    for start in range(0, len(batch), rows):
        yield batch[start : start + rows]
