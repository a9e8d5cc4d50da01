"""Integers of any size as DuckDB exports them, BIGNUM: bytes, one integer a row.

One integer beyond 128 bits gives all the rows of a column this type.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

HEADER = 3
"""Bytes in front of those of the integer: its sign, and how many there are."""


def is_bignum(kind: pa.DataType) -> bool:
    """Return whether the type of a column is BIGNUM, as DuckDB exports it."""
    is_opaque = getattr(kind, "extension_name", None) == "arrow.opaque"
    return is_opaque and bool(kind.type_name == "bignum")


def doubles(stored: pa.Array) -> NDArray[np.float64]:
    """Return the double nearest to every integer; infinite beyond all of them, and NaN for null."""
    cells = stored.to_pylist()
    return np.array([math.nan if cell is None else _double(cell) for cell in cells], np.float64)


def _double(cell: bytes) -> float:
    positive = cell[0] >= 0x80
    size = int.from_bytes(cell[HEADER:] if positive else bytes(255 - b for b in cell[HEADER:]))
    try:
        return float(size if positive else -size)
    except OverflowError:
        return math.inf if positive else -math.inf
