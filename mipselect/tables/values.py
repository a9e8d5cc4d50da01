"""One column of a batch as numbers, as codes of categories or as identities, value by value.

What a value stands for depends on it and on the field alone, and not on how the column is stored,
for a value in one row may decide that: as text, as integers or floats, as truth values, as a
dictionary, or as a union of several kinds. So every number is read as a double first, and is
written in one way (`written`) where texts are wanted. No kernel here fails on any value.
"""

from __future__ import annotations

import datetime
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from mipselect.frames import doubles, is_numeric
from mipselect.tables.fields import NUMBER, Field
from mipselect.validation import LAST_INTEGER, TRUTHS

MISSING, UNLISTED = -1, -2
"""Codes of no value, and of a value that is in no list."""

UNWRITABLE = "\0"
"""Stands for a value that is no scalar; no category is written so."""

HEADER = 3
"""Bytes in front of those of an integer in a BIGNUM of DuckDB: its sign, and how many there are."""

NANS = ("nan", "NaN", "NAN")
"""NaN as a text."""

_DOUBLE = f"^({NUMBER})$"
_SINGLE = np.finfo(np.float32)


def numbers(column: pa.Array, field: Field) -> NDArray[np.float64]:
    """Read the values of a field of numbers, NaN for missing, shape (rows,); may be infinite."""
    result = by_kind(column, lambda part: _of_one_kind(part, field), np.float64)
    missing = [x for x in map(field.number, field.missing_values) if x is not None]
    if missing:
        result = np.where(_places_of_numbers(result, missing) >= 0, np.nan, result)
    return result


def codes(column: pa.Array, field: Field) -> NDArray[np.int64]:
    """Find each value among the categories: its place, `MISSING` or `UNLISTED`, shape (rows,).

    A boolean has the categories false and true. Its values may be written so whatever the schema
    lists, and as 0 and 1 where it lists no number.
    """
    if field.is_number:
        values = numbers(column, field)
        found = _places_of_numbers(values, [float(c) for c in field.categories or ()])
        return np.where(np.isnan(values), MISSING, np.where(found < 0, UNLISTED, found))
    if field.type == "boolean":
        known = [*field.false_values, *field.true_values]
        places = [0] * len(field.false_values) + [1] * len(field.true_values)
        usual = ["false", "true"] if any(map(_is_written, known)) else ["false", "true", "0", "1"]
        for number, text in enumerate(usual):
            if text not in known:
                known.append(text)
                places.append(number % 2)
    else:
        known = [str(value) for value in field.categories or ()]
        places = list(range(len(known)))

    def of_one_kind(part: pa.Array) -> NDArray[np.int64]:
        found = _places(part, known)
        result = np.where(found < 0, UNLISTED, np.array([*places, 0])[found])
        result[compute.is_null(part, nan_is_null=True).to_numpy(zero_copy_only=False)] = MISSING
        result[_places(part, field.missing_values) >= 0] = MISSING
        return result

    return by_kind(column, of_one_kind, np.int64)


def identities(column: pa.Array, field: Field) -> pa.Array:
    """Write the values of the field of the privacy unit as texts; null is one identity more.

    In a field of numbers a text that is a number is written as the number. A number from 2⁵³ on
    is no identity: stored as a float it stands for several.
    """
    values = plain(column)
    if not pa.types.is_union(values.type):
        return _identities(values, field)
    rows, parts = zip(*kinds(values), strict=True)
    texts = pa.concat_arrays([_identities(part, field) for part in parts])
    return texts.take(pa.array(np.argsort(np.concatenate(rows))))


def unreadable(column: pa.Array, field: Field) -> NDArray[np.bool_]:
    """Tell which values of a field of numbers are texts that are no number, shape (rows,).

    Those of `missingValues` are none of them, and NaN is not.
    """

    def of_one_kind(part: pa.Array) -> NDArray[np.bool_]:
        if is_numeric(part.type):
            return np.zeros(len(part), dtype=bool)
        texts = plain_texts(part)
        # Polars writes NaN as a text where another row holds one.
        named = pa.array([*field.missing_values, *NANS], pa.string())
        stands = compute.or_(compute.is_in(texts, value_set=named), texts.is_null())
        found = compute.and_not(_parsed(texts, field).is_null(), stands)
        result: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
        return result

    return by_kind(column, of_one_kind, np.bool_)


def written(number: float) -> str | None:
    """Write a number in its one way; None for one that may have lost digits, and for NaN.

    A whole number has no point and zero no sign; any other is the shortest text that stands for
    it, as Python writes it.
    """
    if not abs(number) < LAST_INTEGER:
        return None
    return str(int(number)) if number.is_integer() else repr(number)


def texts_of(column: pa.Array) -> pa.Array:
    """Write values of one kind as texts; a number as `written` does."""
    return _written(doubles(column)) if is_numeric(column.type) else plain_texts(column)


def _identities(column: pa.Array, field: Field) -> pa.Array:
    """Write values of one kind as `identities` does."""
    if is_numeric(column.type):
        texts = _written(_of_one_kind(column, field))
    else:
        texts = plain_texts(column)
        if field.is_number:
            values = _of_one_kind(column, field)
            # Polars writes NaN as a text where another row holds one.
            texts = compute.if_else(compute.equal(compute.ascii_lower(texts), "nan"), None, texts)
            texts = compute.if_else(np.isnan(values), texts, _written(values))
    return _without_missing(texts, field)


def _written(values: NDArray[np.float64]) -> pa.Array:
    """Write every number as `written` does."""
    known = np.abs(values) < LAST_INTEGER
    whole = known & (values == np.trunc(values))
    texts = pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole).cast(pa.string())
    others = known & ~whole
    if not others.any():
        return texts
    distinct, at = np.unique(values[others], return_inverse=True)
    rest = pa.array([written(float(x)) for x in distinct], pa.string()).take(pa.array(at))
    return compute.replace_with_mask(texts, pa.array(others), rest)


def _places(column: pa.Array, known: Sequence[str]) -> NDArray[np.int64]:
    """Find each value, of one kind, in a list of texts; -1 where it is not in it."""
    if is_numeric(column.type):
        among = [k for k, text in enumerate(known) if _is_written(text)]
        found = _places_of_numbers(doubles(column), [float(known[k]) for k in among])
        return np.array([*among, -1])[found]
    found = compute.index_in(plain_texts(column), value_set=pa.array(known, pa.string()))
    result: NDArray[np.int64] = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return result


def is_code(text: str) -> bool:
    """Return whether a text is lost where it is read as a number: 01 is none."""
    return bool(re.fullmatch(NUMBER, text)) and not _is_written(text)


def _is_written(text: str) -> bool:
    return bool(re.fullmatch(NUMBER, text)) and written(float(text)) == text


def _places_of_numbers(values: NDArray[np.float64], listed: Sequence[float]) -> NDArray[np.int64]:
    """Find the place of each number in a list, -1 where it is not in it.

    A fraction may be stored in single precision: it stands for the one that is rounded to it,
    unless it is in the list itself.
    """
    if not listed:
        return np.full(len(values), -1)
    exact = np.array(listed, dtype=np.float64)
    fit = (np.abs(exact) >= _SINGLE.tiny) & (np.abs(exact) <= _SINGLE.max)
    single = np.where(fit, exact, 0.0).astype(np.float32).astype(np.float64)
    both = np.concatenate([exact, np.where(single == np.trunc(single), exact, single)])
    order = np.argsort(both, kind="stable")
    at = np.minimum(np.searchsorted(both[order], values), len(both) - 1)
    return np.where(both[order][at] == values, order[at] % len(listed), -1)


def _of_one_kind(column: pa.Array, field: Field) -> NDArray[np.float64]:
    """Convert values of one kind to doubles, NaN where there is no number."""
    if is_numeric(column.type) or pa.types.is_boolean(column.type):
        return doubles(column)
    result: NDArray[np.float64] = _parsed(plain_texts(column), field).to_numpy(zero_copy_only=False)
    return result


def _without_missing(texts: pa.Array, field: Field) -> pa.Array:
    """Return texts with null for those that the schema says stand for no value."""
    missing = compute.is_in(texts, value_set=pa.array(field.missing_values, pa.string()))
    return compute.if_else(missing, None, texts)


def _parsed(texts: pa.Array, field: Field) -> pa.Array:
    """Parse texts as `Field.number` does, in columns; null where a text stands for no number."""
    texts = _without_missing(texts, field)
    if field.group_char:
        texts = compute.replace_substring(texts, field.group_char, "")
    if field.decimal_char != ".":
        texts = compute.replace_substring(texts, field.decimal_char, ".")
    try:
        read = texts.cast(pa.float64())
        # Spellings of NaN such as -nan stand for no number, whatever the other texts are.
        return compute.if_else(compute.is_nan(read), None, read)
    except pa.ArrowInvalid:
        pass
    lowered = compute.ascii_lower(texts)
    for word, number in TRUTHS.items():
        lowered = compute.if_else(compute.equal(lowered, word), str(number), lowered)
    matched = compute.match_substring_regex(lowered, _DOUBLE)
    return compute.if_else(matched, lowered, None).cast(pa.float64())


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
    elif types.is_null(kind) or types.is_boolean(kind):
        written = column.cast(pa.string())
    else:
        written = compute.if_else(column.is_null(), None, UNWRITABLE).cast(pa.string())
    return compute.ascii_trim_whitespace(written)


def dates(values: Any) -> Any:
    """Write points of time, of any unit, as the shortest texts of ISO 8601."""
    return np.datetime_as_string(values, unit="auto")


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


def arrow_cells(cells: Iterable[Any]) -> pa.Array:
    """Make a column of bytes, of doubles, or the union of both; no cell makes it fail.

    A value in one row decides whether a frame stores numbers or objects, so an object that is a
    number becomes the double as which it might have been stored.
    """
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
