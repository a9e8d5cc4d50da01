"""Frames as scikit-learn gives them: joined to the target, or with their columns by name."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables.sources import is_frame
from mipselect.tables.values import arrow_cells
from mipselect.validation import listed

COUNTED = re.compile(r"x?\d+")
"""Names that columns get where they have none."""


def with_column(frame: Any, name: str, values: Any) -> Any:
    """Return a frame with a column of these values, in place of one that has this name.

    Parameters
    ----------
    frame : DataFrame of pandas or Polars, or pyarrow.Table
    name : str
    values : array_like of shape (n,)
        In the order of the rows; an index does not count.

    Raises
    ------
    InvalidInput
        For another kind of table, or a column of another length; whatever stands in the rows.
    """
    is_pandas, is_polars = (is_frame(frame, each, "DataFrame") for each in ("pandas", "polars"))
    if not (is_pandas or is_polars or isinstance(frame, pa.Table)):
        raise InvalidInput(
            "with a schema X must be a DataFrame of pandas or Polars or a pyarrow.Table, to which "
            f"y is joined; got a {type(frame).__name__}. SelectThenRegress.fit_table reads others, "
            "with the target among the columns"
        )
    rows = frame.num_rows if isinstance(frame, pa.Table) else len(frame)
    if (count := _length(values)) != rows:
        raise InvalidInput(f"X has {rows} rows and y has {count}")
    if is_pandas and is_frame(values, "pandas", "Series"):
        column = values.set_axis(frame.index)
    elif is_pandas:
        column = sys.modules["pandas"].Series(_cells(values), index=frame.index)
    if is_pandas:
        return frame.loc[:, frame.columns != name].assign(**{name: column})
    if is_polars and is_frame(values, "polars", "Series"):
        return frame.with_columns(values.alias(name))
    if is_polars:
        polars = sys.modules["polars"]
        cells = polars.Series(name, _cells(values).tolist(), dtype=polars.Object)
        return frame.with_columns(cells)
    others = frame.select([column for column in frame.column_names if column != name])
    return others.append_column(name, column_of(values))


def column_of(values: Any) -> pa.Array:
    """Return values of shape (n,) as a column that a field of a schema can read."""
    _length(values)
    return arrow_cells(_cells(values))


def columns_by_name(X: Any, names: Sequence[str]) -> Any:
    """Return the named columns of a frame in their order; whatever has no names stays as it is.

    Parameters
    ----------
    X : array_like, or a frame of pandas or Polars, or pyarrow.Table
    names : sequence of str
        Names that say no more than a place take columns by their place.

    Raises
    ------
    InvalidInput
        If a frame of so many columns has others.
    """
    kinds = [("pandas", "DataFrame"), ("polars", "DataFrame")]
    if not (isinstance(X, pa.Table) or any(is_frame(X, *kind) for kind in kinds)):
        return X
    known = X.column_names if isinstance(X, pa.Table) else list(X.columns)
    if set(names) <= set(known):
        return X[list(names)] if is_frame(X, "pandas", "DataFrame") else X.select(list(names))
    if all(map(COUNTED.fullmatch, names)) or len(known) != len(names):
        return X
    raise InvalidInput(
        f"X must have the columns {listed(names)}, got {listed([str(name) for name in known])}; "
        "give X.to_numpy() if they are these by their place"
    )


def _cells(values: Any) -> NDArray[Any]:
    """Put the values into an array of shape (n,), of objects unless they had one type before."""
    if isinstance(values, np.ma.MaskedArray):
        there, masked = np.ma.getdata(values).astype(object), np.ma.getmaskarray(values)
        there[masked] = None
        values = there
    if isinstance(values, list | tuple):
        # One by one: what stands in a row must not decide on the shape.
        return np.fromiter(values, dtype=object, count=len(values))
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _cells(values.to_pylist())
    if is_frame(values, "polars", "Series"):
        return _cells(values.to_list())
    one_type = getattr(getattr(values, "dtype", None), "kind", "O") in "biuf"
    array = np.asarray(values) if one_type else np.asarray(values, dtype=object)
    return array.reshape(len(array))


def _length(values: Any) -> int:
    if isinstance(values, list | tuple):
        return len(values)
    shape = np.shape(values)
    if len(shape) == 1 or (len(shape) == 2 and shape[1] == 1):
        return int(shape[0])
    raise InvalidInput(f"y must have the shape (n,), got {shape}")
