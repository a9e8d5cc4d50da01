"""Columns of Polars as Arrow columns, also those that Polars exports as what Arrow cannot read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from mipselect.tables.cells import arrow_cells
from mipselect.tables.parts import ROWS
from mipselect.tables.values import UNWRITABLE


def arrow_batches(frame: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Some columns of a data frame, no more than `ROWS` rows at a time."""
    for start in range(0, frame.height, ROWS):
        rows = frame.slice(start, ROWS)
        yield pa.record_batch([_arrow_column(rows.get_column(n)) for n in names], list(names))


def arrow_type(kind: Any) -> pa.DataType:
    """The type in Arrow that a type of Polars becomes, without a value."""
    import polars

    if kind.is_nested():
        return pa.list_(pa.null())
    return _arrow_column(polars.Series([], dtype=kind)).type


def _arrow_column(series: Any) -> pa.Array:
    import polars

    if series.dtype == polars.Object:
        return arrow_cells(series.to_list())
    if series.dtype.is_nested():
        return pa.array([None if absent else UNWRITABLE for absent in series.is_null()])
    if str(series.dtype) in {"Int128", "UInt128"}:  # Not every version has them.
        series = series.cast(polars.Float64)
    column = series.to_arrow()
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
