"""Types of columns that have none, proposed from their rows: sensitive until they are confirmed.

That a column has nothing but whole numbers tells something of its rows, unless it is known anyway.
So a proposal is marked, and nothing is drawn by it before a person says that it is public.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

import pyarrow as pa
from pyarrow import compute

from mipselect.errors import InvalidInput
from mipselect.tables.fields import BLANKS, PROPOSED, field_of
from mipselect.tables.schema import TableSchema
from mipselect.tables.sources import open_source

NONE = ("", "na", "n/a", "nan", "null", "none", ".")
"""Texts in small letters that are taken for no value while a type is looked for."""

PAIRS = {
    "true/false": ("true", "false"),
    "yes/no": ("yes", "no"),
    "y/n": ("y", "n"),
}
"""Usual pairs of texts of a boolean, the one for true first, in small letters."""

NUMBERS = ("integer", "number")
DAYS = {
    "date": (re.compile(r"\d{4}-\d{2}-\d{2}"), "%Y-%m-%d"),
    "day.month.year": (re.compile(r"\d{2}\.\d{2}\.\d{4}"), "%d.%m.%Y"),
}
"""Days as ISO 8601 writes them, and as much of Europe does."""

COMMA, EITHER = "decimal comma", "comma before three digits"
COMMAS = {
    EITHER: re.compile(r"[+-]?[1-9]\d{0,2},\d{3}"),
    COMMA: re.compile(r"[+-]?\d+,\d+"),
}
"""The first may have thousands, and counts as the second only beside some of these."""

PLAIN_NUMBER = field_of({"name": "x", "type": "number"}, ("",), "")


def proposed_types(source: Any) -> dict[str, dict[str, Any]]:
    """Propose a type for every column of a table without types, as properties of its field.

    It is integer, number, boolean, date or string. A boolean of yes and no, or of y and n, has its
    texts too, a number its decimal comma, and a date its format where that is 31.01.2020. All rows
    are read. The result is SENSITIVE: it is computed from them without any privacy.

    Parameters
    ----------
    source : path or table
        See `mipselect.tables.sources.open_source`.

    Raises
    ------
    InvalidInput
        If the table has types of its own.
    """
    parts = open_source(source)
    if any(part.has_types for part in parts):
        raise InvalidInput(
            f"{parts[0].label}: has types of its own; they are proposed for CSV and Excel only"
        )
    kinds: dict[str, set[str]] = {name: set() for name in parts[0].names}
    for part in parts:
        # Of two columns with one name a file has no type; the schema will be refused.
        names = list(dict.fromkeys(name for name in part.names if name in kinds))
        for batch in part.read(names):
            for name, column in zip(names, batch.columns, strict=True):
                is_union = pa.types.is_union(column.type)
                found = (column if is_union else compute.unique(column)).to_pylist()
                kinds[name].update(map(_kind, found))
    return {name: _properties(_together(found)) for name, found in kinds.items()}


def confirmed(schema: TableSchema) -> TableSchema:
    """Return the same without the marks of types that were proposed from the data."""
    content = schema.content
    for field in content["fields"]:
        field.pop(PROPOSED, None)
    return TableSchema.of(content)


def _kind(value: Any) -> str:
    """Return the kind of one value: a double, bytes or nothing."""
    if value is None:
        return "nothing"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    text = bytes(value).decode("utf-8", "replace").strip(BLANKS)
    if text.lower() in NONE:
        return "nothing"
    pair = next((name for name, words in PAIRS.items() if text.lower() in words), None)
    if pair is not None:
        return pair
    for kind, (day, format_) in DAYS.items():
        if day.fullmatch(text):
            try:
                datetime.datetime.strptime(text, format_)
            except ValueError:
                return "string"
            return kind
    for kind, number_with in COMMAS.items():
        if number_with.fullmatch(text):
            return kind
    number = PLAIN_NUMBER.number(text)
    if number is None:
        return "string"
    digits = text.lstrip("+-")
    if digits.isdigit() and digits.startswith("0") and len(digits) > 1:
        return "string"  # A code: as a number 007 would be 7.
    return "integer" if digits.isdigit() else "number"


def _together(kinds: set[str]) -> str:
    """Return the kind of values of these kinds: all but numbers together are texts."""
    found = kinds - {"nothing"}
    if len(found) < 2:
        return next(iter(found - {EITHER}), "string" if found else "nothing")
    if found == {*NUMBERS}:
        return "number"
    return COMMA if COMMA in found and found <= {"integer", COMMA, EITHER} else "string"


def _properties(kind: str) -> dict[str, Any]:
    """Return the properties of a field of a kind; texts of a boolean in all usual letters."""
    if kind == "nothing":
        return {"type": "string"}
    if kind == COMMA:
        return {"type": "number", "decimalChar": ","}
    if kind in DAYS:
        return {"type": "date", **({} if kind == "date" else {"format": DAYS[kind][1]})}
    if kind not in PAIRS:
        return {"type": kind}
    spelt = ([word, word.capitalize(), word.upper()] for word in PAIRS[kind])
    yes, no = (list(dict.fromkeys(words)) for words in spelt)
    texts = {} if kind == "true/false" else {"trueValues": yes, "falseValues": no}
    return {"type": "boolean", **texts}
