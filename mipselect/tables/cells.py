"""Python objects of several kinds as one Arrow column: numbers and texts are kept apart.

A value in one row decides whether a frame stores numbers or objects, so an object that is a
number becomes the double as which it might have been stored.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from mipselect.tables.value_kinds import UNWRITABLE, dates


def arrow_cells(cells: Iterable[Any]) -> pa.Array:
    """Make a column of bytes, of doubles, or the union of both; no cell makes it fail."""
    read = [_read(cell) for cell in cells]
    is_number = np.array([isinstance(value, float) for value in read], dtype=bool)
    if is_number.all() and read:
        return pa.array(read, pa.float64())
    texts = pa.array([None if isinstance(v, float) else v for v in read], pa.binary())
    if not is_number.any():
        return texts
    numbers = pa.array([v if isinstance(v, float) else None for v in read], pa.float64())
    return pa.UnionArray.from_sparse(pa.array(is_number.astype(np.int8)), [texts, numbers])


def _read(cell: Any) -> bytes | float | None:
    """Read a cell as a double or as bytes, or as None where there is no value."""
    if _is_na(cell):
        return None
    match cell:
        case bytes():
            return bytes(cell)
        case str():
            return str(cell).encode("utf-8", "surrogatepass")
        case bool() | np.bool_():
            return b"true" if cell else b"false"
        case np.datetime64():
            return str(dates(cell)).encode()
        case np.timedelta64():
            return UNWRITABLE.encode()
        case complex() | np.complexfloating():
            if cell.imag == 0:
                return _number(cell.real)
            return None if cell != cell else UNWRITABLE.encode()
        case int() | float() | Decimal() | np.integer() | np.floating():
            return _number(cell)
        case datetime.date():
            return str(dates(_moment(cell))).encode()
        case datetime.time():
            # The shortest text for it, as `value_kinds.times_of_day` writes.
            some_day = datetime.datetime.combine(datetime.date.min, cell.replace(tzinfo=None))
            return (str(dates(np.datetime64(some_day)))[11:] or "00:00").encode()
        case _:
            return UNWRITABLE.encode()


def _number(cell: Any) -> float | None:
    """Return the double nearest to a number, or None where it is no number."""
    try:
        number = float(cell)
    except OverflowError:
        return float("inf") if cell > 0 else float("-inf")
    except ValueError:  # A signalling NaN.
        return None
    return None if number != number else number


def _moment(cell: Any) -> np.datetime64:
    """Convert a date or a time, which is of UTC if it has a time zone."""
    if hasattr(cell, "to_datetime64"):
        stamp: np.datetime64 = cell.to_datetime64()
        return stamp
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        offset = cell.utcoffset() or datetime.timedelta()
        return np.datetime64(cell.replace(tzinfo=None)) - np.timedelta64(offset)
    return np.datetime64(cell)


def _is_na(cell: Any) -> bool:
    if cell is None or (isinstance(cell, np.datetime64 | np.timedelta64) and np.isnat(cell)):
        return True
    pandas = sys.modules.get("pandas")
    return pandas is not None and (cell is pandas.NA or cell is pandas.NaT)
