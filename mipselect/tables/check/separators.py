"""Texts that are read as numbers, though a point or comma in them may mean another thing."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from mipselect.frames import is_numeric
from mipselect.tables.fields import Field
from mipselect.tables.value_kinds import by_kind, plain_texts

POINT = "."


def doubtful_separators(column: pa.Array, field: Field) -> NDArray[np.bool_]:
    """Find texts with a separator at a place where it is not meant by the schema, shape (rows,).

    That is a point where decimals have another sign, and a sign of thousands that does not stand
    before three digits. Neither is what `values.numbers` refuses: what a text stands for must not
    depend on how others of its column are stored.
    """

    def of_one_kind(part: pa.Array) -> NDArray[np.bool_]:
        if is_numeric(part.type):
            return np.zeros(len(part), dtype=bool)
        texts = _readable(plain_texts(part))
        found = compute.match_substring(texts, sign)
        if field.group_char:
            found = compute.and_not(found, compute.match_substring_regex(texts, grouped))
        result: NDArray[np.bool_] = found.fill_null(False).to_numpy(zero_copy_only=False)
        return result

    sign = field.group_char or POINT
    if not field.group_char and field.decimal_char == POINT:
        return np.zeros(len(column), dtype=bool)
    group, decimal = re.escape(field.group_char), re.escape(field.decimal_char)
    grouped = rf"^[+-]?\d{{1,3}}({group}\d{{3}})+({decimal}\d*)?$"
    return by_kind(column, of_one_kind, np.bool_)


def _readable(texts: pa.Array) -> pa.Array:
    """Return texts with null for those that are no UTF-8."""
    try:
        return texts.view(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.nulls(len(texts), pa.string())
