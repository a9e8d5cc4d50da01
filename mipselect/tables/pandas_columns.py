"""Columns of pandas as Arrow columns, whatever pandas stores them as."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

from mipselect.tables.cells import arrow_cells


def arrow_column(series: Any) -> pa.Array:
    """A series, or a part of one; never fails on what stands in it."""
    pandas = sys.modules["pandas"]
    if isinstance(series.dtype, pandas.SparseDtype):
        series = series.sparse.to_dense()
    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        return _categorical(series)
    if dtype.kind in "biuf" and isinstance(dtype, np.dtype):
        # There is no Arrow type for longer floats.
        return pa.array(series.to_numpy(np.float64 if dtype.itemsize > 8 else None))
    if dtype.kind in "biuf" or (
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


def _one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
