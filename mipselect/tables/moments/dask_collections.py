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
from mipselect.frames import numeric_matrix, numeric_vector
from mipselect.tables.moments.columns import (
    BlockColumns,
    Columns,
    SchemaColumns,
    TableColumns,
    array_columns,
)
from mipselect.tables.moments.sums import Sums, open_tables, part_of_arrays
from mipselect.tables.parts import Part, require_columns

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
    columns: Columns = described or array_columns(names_of_dask(_pair(source)[0]), x_bound, y_bound)
    return columns, _tree([(_sums, part, columns, folds) for part in _parts(source, columns)])


def dask_block_sums(source: Any, columns: BlockColumns) -> Sums:
    """Add up blocks of a data frame, or of arrays (X, y); each partition has blocks of its own."""
    parts = []
    for number, part in enumerate(_parts(source, columns)):
        # Of another seed, so that partitions of the same size are not divided alike.
        own = replace(columns.blocks, seed=(columns.blocks.seed << 32) + number)
        parts.append((_block_sums, part, replace(columns, blocks=own)))
    return _tree(parts)


def _sums(part: Any, columns: Columns, folds: int) -> Sums:
    total = Sums(folds, len(columns.names) + 2)
    for computed in _computed(part, columns):
        for batch in computed.read(columns.reads):
            total.add(columns.rows(batch))
    return total


def _block_sums(part: Any, columns: BlockColumns) -> Sums:
    from mipselect.tables.moments.block_sums import block_sums

    return block_sums(columns, _computed(part, columns))


def _computed(part: Any, columns: Columns) -> Iterable[Part]:
    """Open a partition of a data frame, or a block of arrays, where it was computed."""
    if isinstance(columns, SchemaColumns):
        return open_tables(part, columns.public)
    X, y = part
    if len(X) == 0:
        return []
    return [part_of_arrays([(numeric_matrix(X)[0], numeric_vector(np.asarray(y).ravel()))])]


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


def _parts(source: Any, columns: Columns) -> Sequence[Any]:
    """Return the delayed parts of a data frame with a schema, or of arrays (X, y)."""
    if not isinstance(columns, SchemaColumns):
        return _blocks(*_pair(source))
    if isinstance(source, tuple) or not hasattr(source, "to_delayed"):
        raise InvalidInput("with a schema the source is one Dask data frame")
    public = columns.public
    if public.unit is not None:
        raise InvalidInput(
            "rows of one person may be in several partitions: make one row of each person first, "
            "and a schema without csvw-eo:privacyUnit"
        )
    labels = [label for label in source.columns if isinstance(label, str)]
    require_columns("the Dask frame", (*public.names, *public.ignored), labels, public.roles)
    parts: Sequence[Any] = source[list(public.names)].to_delayed()
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


def names_of_dask(X: Any) -> tuple[str, ...]:
    """Return the names of the columns of an array or a data frame."""
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
