"""Columns of pandas and Polars: as Arrow columns, and the categories that their types declare."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mipselect.tables.cells import arrow_cells
from mipselect.tables.fields import BLANKS
from mipselect.tables.parts import ROWS
from mipselect.tables.value_kinds import UNWRITABLE
from mipselect.validation import LAST_INTEGER


def pandas_column(series: Any) -> pa.Array:
    """Convert a series, or a part of one; no value makes it fail."""
    pandas = sys.modules["pandas"]
    if isinstance(series.dtype, pandas.SparseDtype):
        series = series.sparse.to_dense()
    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        return _categorical(series)
    if dtype.kind in "biuf" and isinstance(dtype, np.dtype):
        # There is no Arrow type for longer floats.
        return pa.array(series.to_numpy(np.float64 if dtype.itemsize > 8 else None))
    # Points in time are the same texts, and the same moments, as when they are objects.
    if dtype.kind in "biufM" or (
        isinstance(dtype, pandas.StringDtype) and dtype.storage != "python"
    ):
        return _one_piece(pa.array(series, from_pandas=True))
    return arrow_cells(np.asarray(series.astype(object), dtype=object))


def _categorical(series: Any) -> pa.Array:
    known = arrow_cells(np.asarray(series.cat.categories, dtype=object))
    codes = series.cat.codes.to_numpy()
    if pa.types.is_union(known.type):  # A union has no dictionary.
        return arrow_cells(np.asarray(series.astype(object), dtype=object))
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), known)


def polars_batches(frame: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a data frame, no more than `ROWS` rows at a time."""
    for start in range(0, frame.height, ROWS):
        rows = frame.slice(start, ROWS)
        yield pa.record_batch([polars_column(rows.get_column(n)) for n in names], list(names))


def polars_type(kind: Any) -> pa.DataType:
    """Return the type in Arrow that a type of Polars becomes; no value is read."""
    import polars

    if kind.is_nested():
        return pa.list_(pa.null())
    return polars_column(polars.Series([], dtype=kind)).type


def polars_column(series: Any) -> pa.Array:
    """Convert a series, also one that Polars exports in a way that Arrow cannot read."""
    import polars

    if series.dtype == polars.Object:
        return arrow_cells(series.to_list())
    if series.dtype.is_nested():
        return pa.array([None if absent else UNWRITABLE for absent in series.is_null()])
    if str(series.dtype) in {"Int128", "UInt128"}:  # Not every version has them.
        series = series.cast(polars.Float64)
    return _one_piece(series.to_arrow())


def _one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def pandas_categories(dtype: Any) -> dict[str, Any]:
    """Read the categories of a `CategoricalDtype`; other types have none.

    A type cannot tell categories that somebody declared from those that pandas found in the rows.
    """
    pandas = sys.modules["pandas"]
    if not isinstance(dtype, pandas.CategoricalDtype) or dtype.categories is None:
        return {}
    return _declared(dtype.categories.tolist(), ordered=bool(dtype.ordered))


def polars_categories(kind: Any) -> dict[str, Any]:
    """Read the categories of an `Enum`; a `Categorical` of Polars has those of its rows."""
    import polars

    if not isinstance(kind, polars.Enum):
        return {}
    return _declared(kind.categories.to_list(), ordered=False)


def _declared(values: Sequence[Any], *, ordered: bool) -> dict[str, Any]:
    """Return the properties of a field; none where a schema could not have such categories."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if all(isinstance(value, str) for value in plain):
        kind, plain = "string", [value.strip(BLANKS) for value in plain]
        fit = all(plain)
    else:
        fit = all(
            isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < LAST_INTEGER
            for v in plain
        )
        kind = "integer" if all(isinstance(value, int) for value in plain) else "number"
    if not plain or not fit or len(set(plain)) < len(plain):
        return {}
    order = {"categoriesOrdered": True} if ordered else {}
    return {"type": kind, "categories": plain, **order}
