"""One pass over the parts of a source: batches are read ahead and added up by several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

from mipselect.blocks.r_squared import cores
from mipselect.tables.moments.block_columns import Columns
from mipselect.tables.moments.sums import Sums
from mipselect.tables.parts import Part, total_rows
from mipselect.tables.people import PersonCounts

CACHED_ROWS = 1 << 14
"""So many rows are mapped and multiplied at a time: a column of them stays in the cache."""

MOST_THREADS = 8
"""More would wait for what reads."""


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
Done = Callable[[Part, Sums], object]


def count(
    parts: Iterable[Part],
    columns: Columns,
    totals: Sums,
    *,
    people: PersonCounts | None = None,
    progress: Progress | None = None,
    done: Done | None = None,
) -> None:
    """Add all rows of the parts to `totals`.

    Parameters
    ----------
    parts : iterable of Part
    columns : Columns
    totals : Sums
        Holds whole parts only, whatever ends the pass.
    people : PersonCounts, optional
        Who was there already, where one row of each person counts.
    progress : callable, optional
        Receives a `Counting` for every batch.
    done : callable, optional
        Is called when a part is in `totals`.

    Notes
    -----
    Sums are exact, so it does not matter in which order the threads end.
    """
    listed = parts if isinstance(parts, Sequence) else None
    known = None if listed is None else total_rows(part.rows for part in listed)
    threads = min(MOST_THREADS, cores())
    rows = size = 0
    with blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for number, part in enumerate(parts):
            added, turn = Sums(len(totals.totals), totals.totals.shape[1]), Lock()
            waiting = deque[Future[None]]()
            for batch in part.read(columns.reads):
                kept = None if people is None else people.add(batch.columns[-1])
                if len(waiting) > threads:
                    waiting.popleft().result()
                waiting.append(pool.submit(_add, batch, kept, columns, added, turn))
                arrays = batch if isinstance(batch, tuple) else (batch,)
                rows += _rows_of(batch)
                size += sum(int(array.nbytes) for array in arrays)
                if progress is not None:
                    progress(Counting(part.label, number, rows, size, known))
            while waiting:
                waiting.popleft().result()
            totals += added
            if done is not None:
                done(part, totals)


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
    for start in range(0, _rows_of(batch), rows):
        some = slice(start, start + rows)
        yield tuple(part[some] for part in batch) if isinstance(batch, tuple) else batch[some]


def _rows_of(batch: Any) -> int:
    return len(batch[1] if isinstance(batch, tuple) else batch)
