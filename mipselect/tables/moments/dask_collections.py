"""Moments of Dask collections: each partition is added up where it is, and sums meet in a tree.

Nothing but sums travels. They are exact, so it does not matter which worker adds up what, nor
whether one is lost and its part is added up again. With a `distributed.Client` its cluster works,
else the threads of this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.tables.frames import numeric_matrix, numeric_vector
from mipselect.tables.moments.batches import Mapped, Piece, piece_of_arrays, pieces_of_table
from mipselect.tables.moments.block_columns import BlockColumns, TableBlockColumns
from mipselect.tables.moments.columns import (
    ArrayColumns,
    Columns,
    TableColumns,
    array_columns,
)
from mipselect.tables.moments.sums import Sums
from mipselect.tables.parts import require_columns

BRANCHES = 8
"""So many sums are added by one task of the tree."""


def dask_sums(
    source: Any,
    described: TableColumns | None,
    x_bound: float | ArrayLike | None,
    y_bound: float | None,
    folds: int,
) -> tuple[Columns, Sums]:
    """Add up a data frame with described columns, or arrays (X, y) with bounds."""
    columns: Columns
    parts: list[tuple[Any, ...]]
    if described is None:
        X, y = _pair(source)
        columns = array_columns(_names(X), x_bound, y_bound)
        parts = [(_sums_of_block, *block) for block in _blocks(X, y)]
    else:
        columns = described
        parts = [(_sums_of_frame, part) for part in _partitions(source, described)]
    return columns, _tree([(*part, columns, folds) for part in parts])


def dask_block_sums(source: Any, columns: BlockColumns) -> Sums:
    """Add up blocks of a data frame, or of arrays (X, y); each partition has blocks of its own."""
    each: Sequence[tuple[Any, ...]]
    if isinstance(columns, TableBlockColumns):
        each = [(part,) for part in _partitions(source, columns)]
    else:
        each = [((X, y),) for X, y in _blocks(*_pair(source))]
    parts = []
    for number, (part,) in enumerate(each):
        # Of another seed, so that partitions of the same size are not divided alike.
        own = replace(columns.blocks, seed=(columns.blocks.seed << 32) + number)
        parts.append((_block_sums, part, replace(columns, blocks=own)))
    return _tree(parts)


def _block_sums(part: Any, columns: BlockColumns) -> Sums:
    from mipselect.tables.moments.block_sums import block_sums

    if isinstance(columns, TableBlockColumns):
        return block_sums(columns, pieces_of_table(part, columns))
    if len(part[0]) == 0:
        return block_sums(columns, [])
    pair = numeric_matrix(part[0])[0], numeric_vector(np.asarray(part[1]).ravel())
    return block_sums(columns, [piece_of_arrays([pair])])


def _tree(parts: Sequence[tuple[Any, ...]]) -> Sums:
    import dask

    level = [dask.delayed(add, pure=False)(*given) for add, *given in parts]
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
    total = Sums.of(first.totals.copy())
    for part in others:
        total += part
    return total


def _sums_of_frame(frame: Any, columns: TableColumns, folds: int) -> Sums:
    return _sums(pieces_of_table(frame, columns), columns, folds)


def _sums_of_block(X: Any, y: Any, columns: ArrayColumns, folds: int) -> Sums:
    if len(X) == 0:
        return _sums([], columns, folds)
    pair = numeric_matrix(X)[0], numeric_vector(np.asarray(y).ravel())
    return _sums([piece_of_arrays([pair])], columns, folds)


def _sums(pieces: Iterable[Piece], columns: Columns, folds: int) -> Sums:
    total = Sums(folds, len(columns.names) + 2)
    for piece in pieces:
        for batch in piece.read():
            total.add(columns.rows(batch))
    return total


def _partitions(frame: Any, columns: Mapped) -> Sequence[Any]:
    """Return the delayed partitions with the columns that are read."""
    if isinstance(frame, tuple) or not hasattr(frame, "to_delayed"):
        raise InvalidInput("with a schema the source is one Dask data frame")
    if columns.public.unit is not None:
        raise InvalidInput(
            "rows of one person may be in several partitions: make one row of each person first, "
            "and a schema without csvw-eo:privacyUnit"
        )
    names = columns.public.names
    labels = [label for label in frame.columns if isinstance(label, str)]
    require_columns(
        "the Dask frame", (*names, *columns.public.ignored), labels, columns.public.roles
    )
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
    """Return delayed blocks of the same rows of both."""
    if not hasattr(X, "columns"):
        X = X.rechunk({1: -1})
    left = np.ravel(np.array(X.to_delayed(), dtype=object))
    right = np.ravel(np.array(y.to_delayed(), dtype=object))
    if len(left) != len(right):
        raise InvalidInput(
            f"X and y must be in the same blocks of rows, got {len(left)} and {len(right)}"
        )
    return list(zip(left.tolist(), right.tolist(), strict=True))
