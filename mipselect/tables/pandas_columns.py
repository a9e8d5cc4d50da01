"""Columns of pandas as Arrow columns, also where a column holds objects of several kinds.

A value in one row decides whether pandas stores numbers or objects, so an object is written as
the text for which `mipselect.tables.values` finds the same as for the stored number.
"""

from __future__ import annotations

import datetime
import math
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from mipselect.tables.values import UNWRITABLE

MOST_BITS = 4000
"""A larger integer is beyond all floats, and Python does not write it."""


def arrow_column(series: Any) -> pa.Array:
    """A series, or a part of one; never fails on what stands in it."""
    pandas = sys.modules["pandas"]
    if isinstance(series.dtype, pandas.SparseDtype):
        series = series.sparse.to_dense()
    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        texts = _texts(np.asarray(series.cat.categories, dtype=object))
        codes = series.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), texts)
    if dtype.kind in "biuf" and isinstance(dtype, np.dtype):
        # There is no Arrow type for longer floats.
        return pa.array(series.to_numpy(np.float64 if dtype.itemsize > 8 else None))
    if dtype.kind in "biuf" or (
        isinstance(dtype, pandas.StringDtype) and dtype.storage != "python"
    ):
        return _one_piece(pa.array(series, from_pandas=True))
    return _texts(np.asarray(series.astype(object), dtype=object))


def _one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _texts(cells: np.ndarray[Any, Any]) -> pa.Array:
    return pa.array([_text(cell) for cell in cells], pa.binary())


def _text(cell: Any) -> bytes | None:
    """A cell as bytes, None where there is no value."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    match cell:
        case None:
            return None
        case bytes():
            return cell
        case str():
            return cell.encode("utf-8", "surrogatepass")
        case bool():
            return b"true" if cell else b"false"
        case int():
            if cell.bit_length() > MOST_BITS:
                return b"inf" if cell > 0 else b"-inf"
            return str(cell).encode()
        case float():
            if math.isnan(cell):
                return None
            whole = cell.is_integer() and abs(cell) < 2**53
            return (str(int(cell)) if whole else repr(cell)).encode()
        case Decimal():
            return str(cell).encode()
        case datetime.date() if cell == cell:
            return str(cell).encode()
        case _:
            return None if _is_na(cell) else UNWRITABLE.encode()


def _is_na(cell: Any) -> bool:
    pandas = sys.modules["pandas"]
    return cell is pandas.NA or cell is pandas.NaT
