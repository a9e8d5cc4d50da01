"""One column of a batch as numbers or as codes of categories, value by value.

What a value stands for depends on it and on the field alone, and not on how the column is stored:
as text, as numbers, as truth values or as a dictionary. No kernel here fails on any value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from mipselect.tables.fields import NUMBER, TRUTHS, Field

MISSING, UNLISTED = -1, -2
"""Codes of no value, and of a value that is in no list."""

UNWRITABLE = "\0"
"""Stands for a value that is no scalar; no category is written so."""

_DOUBLE = f"^({NUMBER})$"


def numbers(column: pa.Array, field: Field) -> NDArray[np.float64]:
    """The values of a field of numbers, missing ones as NaN, shape (rows,); may be infinite."""
    column, kind, types = _plain(column), _plain(column).type, pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        # Unsafe only in that integers beyond 2⁵³ are rounded.
        parsed = column.cast(pa.float64(), safe=False)
    else:
        parsed = _parsed(_texts(column), field)
    result: NDArray[np.float64] = parsed.to_numpy(zero_copy_only=False)
    for text in field.missing_values:
        number = field.number(text)
        if number is not None:
            result = np.where(result == number, np.nan, result)
    return result


def codes(column: pa.Array, field: Field) -> NDArray[np.int64]:
    """The place of each value among the categories, `MISSING` or `UNLISTED`, shape (rows,).

    A boolean has the categories false and true.
    """
    if field.is_number:
        return _codes_of_numbers(numbers(column, field), field)
    texts = _texts(_plain(column))
    if field.type == "boolean":
        known = [*field.false_values, *field.true_values]
        places = [0] * len(field.false_values) + [1] * len(field.true_values)
        for place, text in enumerate(("false", "true")):
            if text not in known:
                known.append(text)
                places.append(place)
    else:
        known = [str(value) for value in field.categories or ()]
        places = list(range(len(known)))
    found = _places(texts, known)
    result = np.where(found < 0, UNLISTED, np.array([*places, 0])[found])
    result[texts.is_null().to_numpy(zero_copy_only=False)] = MISSING
    result[_places(texts, list(field.missing_values)) >= 0] = MISSING
    return result


def identities(column: pa.Array) -> pa.Array:
    """The values of the field of the privacy unit as texts; null is one identity more."""
    return _texts(_plain(column))


def _codes_of_numbers(values: NDArray[np.float64], field: Field) -> NDArray[np.int64]:
    listed = np.array(field.categories or (), dtype=np.float64)
    order = np.argsort(listed)
    at = np.minimum(np.searchsorted(listed[order], values), len(listed) - 1)
    result = np.where(listed[order][at] == values, order[at], UNLISTED)
    result[np.isnan(values)] = MISSING
    return result


def _places(texts: pa.Array, known: list[str]) -> NDArray[np.int64]:
    """The place of each text in a list, -1 where it is not in it."""
    found = compute.index_in(texts, value_set=pa.array(known, pa.string()))
    result: NDArray[np.int64] = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return result


def _parsed(texts: pa.Array, field: Field) -> pa.Array:
    """Texts as doubles, null where a text stands for no number: `Field.number` in columns."""
    listed = compute.is_in(texts, value_set=pa.array(field.missing_values, pa.string()))
    texts = compute.if_else(listed, None, texts)
    if field.group_char:
        texts = compute.replace_substring(texts, field.group_char, "")
    if field.decimal_char != ".":
        texts = compute.replace_substring(texts, field.decimal_char, ".")
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    lowered = compute.ascii_lower(texts)
    for word, number in TRUTHS.items():
        lowered = compute.if_else(compute.equal(lowered, word), str(number), lowered)
    matched = compute.match_substring_regex(lowered, _DOUBLE)
    return compute.if_else(matched, lowered, None).cast(pa.float64())


def _plain(column: pa.Array) -> pa.Array:
    """The column without the ways to store it that say nothing of its values."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(column.storage)
    if pa.types.is_dictionary(kind):
        known = _plain(column.dictionary)
        # Views cannot be looked up in PyArrow.
        known = known.cast(pa.binary()) if _is_text(known.type) else known
        return pa.DictionaryArray.from_arrays(column.indices, known).dictionary_decode()
    if pa.types.is_run_end_encoded(kind):
        return _plain(compute.run_end_decode(column))
    return column


def _texts(column: pa.Array) -> pa.Array:
    """Every value as a text without outer blanks; the bytes need be no UTF-8. NaN is null."""
    types = pa.types
    if types.is_decimal(column.type):
        column = column.cast(pa.float64())
    kind = column.type
    if types.is_floating(kind):
        column = compute.if_else(compute.is_nan(column), None, column)
    if _is_text(kind):
        # Cast to bytes and looked at as texts, for a cast to texts refuses what is no UTF-8.
        column = column.cast(pa.binary()).view(pa.string())
    elif types.is_null(kind) or types.is_date(kind) or _is_written_plainly(kind):
        column = column.cast(pa.string())
    else:
        column = compute.if_else(column.is_null(), None, UNWRITABLE).cast(pa.string())
    return compute.ascii_trim_whitespace(column)


def _is_written_plainly(kind: Any) -> bool:
    return bool(pa.types.is_primitive(kind) and not pa.types.is_temporal(kind))


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
