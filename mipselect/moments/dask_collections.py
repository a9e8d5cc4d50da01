"""Moments of Dask collections: each partition is added up where it is, and sums meet in a tree.

Nothing but sums travels. They are exact, so it does not matter which worker adds up what, nor
whether one is lost and its part is added up again. With a `distributed.Client` its cluster works,
else the threads of this process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_vector
from mipselect.moments.batches import Piece, pieces_of_arrays, pieces_of_table
from mipselect.moments.columns import (
    ArrayColumns,
    Columns,
    TableColumns,
    array_columns,
    table_columns,
)
from mipselect.moments.moments import Moments
from mipselect.moments.sums import Sums
from mipselect.tables.schema import TableSchema
from mipselect.validation import listed

BRANCHES = 8
"""So many sums are added by one task of the tree."""


def moments_of(
    source: Any,
    schema: TableSchema | None,
    target: str | None,
    never: Sequence[str],
    ranges: Mapping[str, tuple[float, float]] | None,
    unit_rule: str,
    x_bound: float | ArrayLike | None,
    y_bound: float | None,
    folds: int,
) -> Moments:
    """Moments of a data frame with a schema, or of arrays (X, y) with bounds; see `Moments.of`."""
    columns: Columns
    parts: list[tuple[Any, ...]]
    if schema is None:
        X, y = _pair(source)
        columns = array_columns(_names(X), x_bound, y_bound)
        parts = [(_sums_of_block, *block) for block in _blocks(X, y)]
    else:
        if x_bound is not None or y_bound is not None:
            raise InvalidInput("a schema has the bounds: leave out x_bound and y_bound")
        columns = table_columns(schema, target, never, ranges, unit_rule)
        parts = [(_sums_of_frame, part) for part in _partitions(source, columns)]
    totals = Sums(folds, len(columns.names) + 2)
    totals += _tree(parts, columns, folds)
    if totals.rows == 0:
        raise InvalidInput("the table has no rows")
    return Moments(columns, totals.totals)


def _tree(parts: Sequence[tuple[Any, ...]], columns: Columns, folds: int) -> Sums:
    import dask

    level = [dask.delayed(add, pure=False)(*given, columns, folds) for add, *given in parts]
    while len(level) > 1:
        level = [
            dask.delayed(_added, pure=False)(level[start : start + BRANCHES])
            for start in range(0, len(level), BRANCHES)
        ]
    (result,) = dask.compute(level[0])
    assert isinstance(result, Sums)
    return result


def _added(parts: Iterable[Sums]) -> Sums:
    first, *others = parts
    total = Sums(*first.totals.shape[:2])
    for part in (first, *others):
        total += part
    return total


def _sums_of_frame(frame: Any, columns: TableColumns, folds: int) -> Sums:
    return _sums(pieces_of_table(frame, columns), columns, folds)


def _sums_of_block(X: Any, y: Any, columns: ArrayColumns, folds: int) -> Sums:
    if len(X) == 0:
        return Sums(folds, len(columns.names) + 2)
    pair = numeric_matrix(X)[0], numeric_vector(np.asarray(y).ravel())
    return _sums(pieces_of_arrays([pair], columns), columns, folds)


def _sums(pieces: Iterable[Piece], columns: Columns, folds: int) -> Sums:
    total = Sums(folds, len(columns.names) + 2)
    for piece in pieces:
        for batch in piece.read():
            total.add(columns.rows(batch))
    return total


def _partitions(frame: Any, columns: TableColumns) -> Sequence[Any]:
    """The partitions with the columns that are read, delayed."""
    if isinstance(frame, tuple) or not hasattr(frame, "to_delayed"):
        raise InvalidInput("with a schema the source is one Dask data frame")
    if columns.public.unit is not None:
        raise InvalidInput(
            "rows of one person may be in several partitions: make one row of each person first, "
            "and a schema without csvw-eo:privacyUnit"
        )
    names, found = columns.public.names, Counter(frame.columns)
    absent = [name for name in names if name not in found]
    if absent:
        raise InvalidInput(
            f"the Dask frame has no column {listed(absent)}; columns: "
            f"{listed([str(name) for name in frame.columns])}"
        )
    if any(found[name] > 1 for name in names):
        raise InvalidInput("two columns of the Dask frame have the same name")
    parts: Sequence[Any] = frame[list(names)].to_delayed()
    return parts


def _pair(source: Any) -> tuple[Any, Any]:
    if isinstance(source, tuple) and len(source) == 2:
        X, y = source
        if all(hasattr(part, "to_delayed") for part in source):
            return X, y
    raise InvalidInput(
        "without a schema the source is a pair (X, y) of Dask arrays or frames, with x_bound and "
        "y_bound"
    )


def _names(X: Any) -> tuple[str, ...]:
    if hasattr(X, "columns"):
        return tuple(str(name) for name in X.columns)
    if len(X.shape) != 2:
        raise InvalidInput(f"X must have two dimensions, got shape {X.shape}")
    return tuple(f"x{j}" for j in range(X.shape[1]))


def _blocks(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """Blocks of the same rows of both, delayed."""
    if not hasattr(X, "columns"):
        X = X.rechunk({1: -1})
    left = np.ravel(np.array(X.to_delayed(), dtype=object))
    right = np.ravel(np.array(y.to_delayed(), dtype=object))
    if len(left) != len(right):
        raise InvalidInput(
            f"X and y must be in the same blocks of rows, got {len(left)} and {len(right)}"
        )
    return list(zip(left.tolist(), right.tolist(), strict=True))
