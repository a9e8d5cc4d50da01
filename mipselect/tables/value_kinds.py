"""Values of a column by their kind: what stands there, and not how the column is stored."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

UNWRITABLE = "\0"
"""Stands for a value that is no scalar; no category is written so."""

HEADER = 3
"""Bytes in front of those of an integer in a BIGNUM of DuckDB: its sign, and how many there are."""


def by_kind(column: pa.Array, read: Callable[[pa.Array], Any], dtype: Any) -> NDArray[Any]:
    """Return what `read` finds in the values of each kind, in the order of the values."""
    values = plain(column)
    if not pa.types.is_union(values.type):
        found: NDArray[Any] = read(values)
        return found
    result = np.empty(len(values), dtype)
    for rows, part in kinds(values):
        result[rows] = read(part)
    return result


def kinds(union: pa.Array) -> list[tuple[NDArray[np.int64], pa.Array]]:
    """Return the rows of every kind of value in a union, and the values."""
    codes, result = union.type_codes.to_numpy(), []
    for k, code in enumerate(union.type.type_codes):
        rows = np.flatnonzero(codes == code)
        sparse = union.type.mode == "sparse"
        at = rows if sparse else union.offsets.to_numpy()[rows]
        result.append((rows, plain(union.field(k).take(pa.array(at)))))
    return result


def plain(column: pa.Array) -> pa.Array:
    """Return the column without the ways to store it that say nothing of its values."""
    kind = column.type
    if _is_bignum(kind):
        return pa.array(_doubles(column.storage))
    if isinstance(kind, pa.BaseExtensionType):
        return plain(column.storage)
    if pa.types.is_dictionary(kind):
        known = plain(column.dictionary)
        # Views cannot be looked up in PyArrow.
        known = known.cast(pa.binary()) if _is_text(known.type) else known
        return pa.DictionaryArray.from_arrays(column.indices, known).dictionary_decode()
    if pa.types.is_run_end_encoded(kind):
        return plain(compute.run_end_decode(column))
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    return column


def plain_texts(column: pa.Array) -> pa.Array:
    """Write values that are no numbers as texts without outer blanks, perhaps not in UTF-8."""
    types, kind = pa.types, column.type
    if _is_text(kind):
        # Cast to bytes and looked at as texts, for a cast to texts refuses what is no UTF-8.
        written = column.cast(pa.binary()).view(pa.string())
    elif types.is_date(kind) or types.is_timestamp(kind):
        written = pa.array(dates(column.to_numpy(zero_copy_only=False)), pa.string())
        written = compute.if_else(column.is_null(), None, written)
    elif types.is_time(kind):
        written = pa.array(times_of_day(column.cast(whole_numbers(kind)), kind.unit), pa.string())
        written = compute.if_else(column.is_null(), None, written)
    elif types.is_null(kind) or types.is_boolean(kind):
        written = column.cast(pa.string())
    else:
        written = compute.if_else(column.is_null(), None, UNWRITABLE).cast(pa.string())
    return compute.ascii_trim_whitespace(written)


def dates(values: Any) -> Any:
    """Write points of time, of any unit, as the shortest texts of ISO 8601."""
    return np.datetime_as_string(values, unit="auto")


def times_of_day(counts: pa.Array, unit: str) -> Any:
    """Write times of day, in units since midnight, as texts: 07:30, 07:30:01, 07:30:01.500."""
    points = counts.fill_null(0).to_numpy(zero_copy_only=False).astype(f"datetime64[{unit}]")
    # Behind the date; a midnight has nothing there.
    texts = [text[11:] or "00:00" for text in dates(points).tolist()]
    return np.array(texts, dtype=object)


def whole_numbers(kind: Any) -> pa.DataType:
    """Return the type of whole numbers that keeps a date or a time of a type."""
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _is_text(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def _is_bignum(kind: pa.DataType) -> bool:
    """Return whether the type of a column is BIGNUM of DuckDB: integers of any size, as bytes.

    One integer beyond 128 bits gives all the rows of a column this type.
    """
    is_opaque = getattr(kind, "extension_name", None) == "arrow.opaque"
    return is_opaque and bool(kind.type_name == "bignum")


def _doubles(stored: pa.Array) -> NDArray[np.float64]:
    """Return the double nearest to every integer; infinite beyond all of them, and NaN for null."""
    cells = stored.to_pylist()
    return np.array([math.nan if cell is None else _double(cell) for cell in cells], np.float64)


def _double(cell: bytes) -> float:
    positive = cell[0] >= 0x80
    digits = cell[HEADER:]
    size = int.from_bytes(digits if positive else bytes(255 - b for b in digits))
    try:
        return float(size if positive else -size)
    except OverflowError:
        return math.inf if positive else -math.inf
