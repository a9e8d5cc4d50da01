"""A frame and a target that came apart from it, as scikit-learn gives them, in one table again."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables.cells import arrow_cells
from mipselect.tables.sources import is_frame


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
    count = _length(values)
    if is_frame(frame, "pandas", "DataFrame"):
        _require_length(count, len(frame))
        return _pandas(frame, name, values)
    if is_frame(frame, "polars", "DataFrame"):
        _require_length(count, frame.height)
        return _polars(frame, name, values)
    if isinstance(frame, pa.Table):
        _require_length(count, frame.num_rows)
        others = frame.select([column for column in frame.column_names if column != name])
        return others.append_column(name, column_of(values))
    raise InvalidInput(
        "with a schema X must be a DataFrame of pandas or Polars or a pyarrow.Table, to which y "
        f"is joined; got a {type(frame).__name__}. SelectThenRegress.fit_table reads others, with "
        "the target among the columns"
    )


def column_of(values: Any) -> pa.Array:
    """Return values of shape (n,) as a column that a field of a schema can read."""
    _length(values)
    return arrow_cells(_cells(values))


def _pandas(frame: Any, name: str, values: Any) -> Any:
    pandas = sys.modules["pandas"]
    if is_frame(values, "pandas", "Series"):
        column = values.set_axis(frame.index)
    else:
        column = pandas.Series(_cells(values), index=frame.index)
    return frame.loc[:, frame.columns != name].assign(**{name: column})


def _polars(frame: Any, name: str, values: Any) -> Any:
    import polars

    if is_frame(values, "polars", "Series"):
        return frame.with_columns(values.alias(name))
    return frame.with_columns(polars.Series(name, _cells(values).tolist(), dtype=polars.Object))


def _cells(values: Any) -> NDArray[Any]:
    """Put the values into an array of shape (n,), of objects unless they had one type before."""
    if isinstance(values, np.ma.MaskedArray):
        there, masked = np.ma.getdata(values).astype(object), np.ma.getmaskarray(values)
        there[masked] = None
        values = there
    if isinstance(values, list | tuple):
        # One by one: what stands in a row must not decide on the shape.
        cells = np.empty(len(values), dtype=object)
        for k, value in enumerate(values):
            cells[k] = value
        return cells
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


def _require_length(values: int, rows: int) -> None:
    if values != rows:
        raise InvalidInput(f"X has {rows} rows and y has {values}")
