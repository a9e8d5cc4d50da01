"""`count`: one pass over the parts of a source, added up to ZᵀZ in integers by several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
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
from mipselect.tables.mapping import PersonCounts, open_table
from mipselect.tables.moments.columns import Columns, TableColumns
from mipselect.tables.parts import ROWS, Part, refuse_twice, total_rows
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
            self.rows = checked_rows(self.rows + len(Z))
        parts: Iterable[tuple[int, FloatArray]] = [(0, Z)]
        if len(self.totals) > 1:
            fold = folds_of(Z, len(self.totals))
            parts = ((k, Z[fold == k]) for k in np.unique(fold).tolist())
        for k, rows in parts:
            products = exact_sums(rows, rows, 1.0)
            with turn:
                self.totals[k] += products


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


@dataclass(frozen=True)
class Counting:
    """Progress of a pass; nothing of it depends on what stands in the rows.

    Attributes
    ----------
    label : str
        The part that is read.
    pieces : int
        How many are done.
    rows, bytes : int
        What was read so far, in bytes of Arrow or of arrays.
    known_rows : int or None
        Rows of all parts, where they are known.
    """

    label: str
    pieces: int
    rows: int
    bytes: int
    known_rows: int | None


Progress = Callable[[Counting], object]


def count(
    parts: Sequence[Part], columns: Columns, folds: int, progress: Progress | None = None
) -> Sums:
    """Add up all rows of the parts, and of people the first row of each.

    Parameters
    ----------
    parts : sequence of Part
    columns : Columns
    folds : int
    progress : callable, optional
        Receives a `Counting` for every batch.

    Notes
    -----
    Sums are exact, so it does not matter in which order the threads end.
    """
    totals = Sums(folds, len(columns.names) + 2)
    unit = columns.public.unit if isinstance(columns, TableColumns) else None
    people = None if unit is None else PersonCounts(unit)
    known = total_rows(part.rows for part in parts)
    threads = min(MOST_THREADS, cores())
    rows = size = 0
    turn, waiting = Lock(), deque[Future[None]]()
    with blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for number, part in enumerate(parts):
            for batch in part.read(columns.reads):
                kept = None if people is None else people.add(batch.columns[-1])
                if len(waiting) > threads:
                    waiting.popleft().result()
                waiting.append(pool.submit(_add, batch, kept, columns, totals, turn))
                rows += len(batch)
                size += int(batch.nbytes)
                if progress is not None:
                    progress(Counting(part.label, number, rows, size, known))
        while waiting:
            waiting.popleft().result()
    return totals


@cache
def blas() -> ThreadpoolController:
    """Find the libraries that multiply, once; finding them takes longer than a small table."""
    return ThreadpoolController()


def _add(batch: Any, kept: Any, columns: Columns, added: Sums, turn: Lock) -> None:
    if kept is not None:
        added.add(columns.rows(batch)[kept], turn)
        return
    for part in slices(batch, CACHED_ROWS):
        added.add(columns.rows(part), turn)


def slices(batch: Any, rows: int) -> Iterator[Any]:
    """Yield parts of a batch, of so many rows or fewer; nothing is copied."""
    for start in range(0, len(batch), rows):
        yield batch[start : start + rows]
