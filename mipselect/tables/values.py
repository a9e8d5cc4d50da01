"""One column of a batch as numbers, as codes of categories or as identities, value by value.

What a value stands for depends on it and on the field alone, and not on how the column is stored,
for a value in one row may decide that: as text, as integers or floats, as truth values, as a
dictionary, or as a union of several kinds. So every number is read as a double first, and is
written in one way (`written`) where texts are wanted. No kernel here fails on any value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from mipselect.frames import doubles, is_numeric
from mipselect.tables.fields import NUMBER, Field
from mipselect.tables.value_kinds import by_kind, kinds, plain, plain_texts
from mipselect.validation import LAST_INTEGER, TRUTHS

MISSING, UNLISTED = -1, -2
"""Codes of no value, and of a value that is in no list."""

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
    """Tell which values the type of the field cannot stand for, shape (rows,).

    In a field of numbers these are texts that are no number, but for those of `missingValues` and
    NaN; in any other field bytes that are no UTF-8.
    """

    def of_one_kind(part: pa.Array) -> NDArray[np.bool_]:
        if is_numeric(part.type):
            return np.zeros(len(part), dtype=bool)
        texts = plain_texts(part)
        if not field.is_number:
            return _is_no_utf8(texts)
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


def _is_no_utf8(texts: pa.Array) -> NDArray[np.bool_]:
    """Tell which texts have bytes that are no UTF-8; null has none."""
    stored = texts.view(pa.binary())
    try:
        stored.cast(pa.string())
        return np.zeros(len(stored), dtype=bool)
    except pa.ArrowInvalid:
        encoded = stored.dictionary_encode("encode")
    cells = [cell or b"" for cell in encoded.dictionary.to_pylist()]
    wrong = pa.array(
        [cell.decode("utf-8", "ignore").encode() != cell for cell in cells], pa.bool_()
    )
    result: NDArray[np.bool_] = wrong.take(encoded.indices).to_numpy(zero_copy_only=False)
    return result


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


def texts_of(column: pa.Array) -> pa.Array:
    """Write values of one kind as texts; a number as `written` does."""
    return _written(doubles(column)) if is_numeric(column.type) else plain_texts(column)
