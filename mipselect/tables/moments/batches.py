"""Parts of a source, each of them read in batches; nothing is read before it is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_target, refuse_another_order
from mipselect.tables.mapping import open_table
from mipselect.tables.parts import ROWS, Part
from mipselect.tables.places import Once
from mipselect.tables.public_map import PublicMap
from mipselect.validation import shown

Pair = tuple[FloatArray, FloatArray]


def open_tables(source: Any, public: PublicMap) -> Iterable[Part]:
    """Return the parts of a table, whose headers are looked at; of a list all together.

    Tables of an iterator are looked at one after another. A file that is reached twice is refused.
    """
    if isinstance(source, list | tuple):
        together = [part for one in source for part in open_tables(one, public)]
        Once().reach(place for part in together for place in part.places)
        return together
    if isinstance(source, Iterator) and not hasattr(source, "__arrow_c_stream__"):
        return _one_after_another(source, public)
    return open_table(source, public)


def _one_after_another(source: Iterator[Any], public: PublicMap) -> Iterator[Part]:
    once = Once()
    for table in source:
        for part in open_tables(table, public):
            once.reach(part.places)
            yield part


def part_of_arrays(pairs: Iterable[Pair]) -> Part:
    """Make one part without names, whose batches are pairs (X, y) of finite numbers."""

    def read(_: Sequence[str]) -> Iterator[Pair]:
        for X, y in pairs:
            for start in range(0, len(y), ROWS):
                yield X[start : start + ROWS], y[start : start + ROWS]

    return Part("the arrays", (), (), None, read)


def checked_pairs(source: Any) -> tuple[tuple[str, ...], Iterator[Pair]]:
    """Return the names of the columns, and pairs (X, y) of finite numbers.

    Parameters
    ----------
    source : (X, y), or an iterable of such pairs
        X of shape (m, p), y of shape (m,); frames have names, of which all must be the same.

    Raises
    ------
    InvalidInput
        At once for what is wrong with the first pair; with those after it when they are read.
    """
    is_table = isinstance(source, str | Path | np.ndarray) or hasattr(source, "columns")
    if not isinstance(source, Iterable) or is_table or hasattr(source, "__arrow_c_stream__"):
        raise InvalidInput(
            "without a schema the source must be (X, y), or batches of such pairs, with x_bound "
            f"and y_bound; got {shown(type(source).__name__)}: give the schema of a table"
        )
    given = iter([source] if _is_pair(source) else source)
    first = next(given, None)
    if first is None:
        raise InvalidInput("there are no batches, and so no rows")
    names, pair = _checked(first, "")
    size = pair[0].shape[1]

    def pairs() -> Iterator[Pair]:
        yield pair
        for number, batch in enumerate(given, 1):
            other, later = _checked(batch, f"batch {number}: ")
            if later[0].shape[1] != size or other not in (None, names):
                raise InvalidInput(
                    f"batch {number}: X must have the {size} columns of the first batch"
                )
            yield later

    return names or tuple(f"x{j}" for j in range(size)), pairs()


def is_dask(source: Any) -> bool:
    """Return whether the source, or a part of the pair that it is, is a collection of Dask."""
    parts = source if isinstance(source, tuple) else (source,)
    return any(hasattr(part, "__dask_graph__") for part in parts)


def _is_pair(source: Any) -> bool:
    return isinstance(source, tuple) and len(source) == 2


def _checked(batch: Any, where: str) -> tuple[tuple[str, ...] | None, Pair]:
    if not _is_pair(batch):
        raise InvalidInput(f"{where}a batch must be a pair (X, y), got {shown(batch)}")
    refuse_another_order(*batch)
    X, names = numeric_matrix(batch[0], what=f"{where}X")
    return names, (X, numeric_target(batch[1], len(X), f"{where}y"))
