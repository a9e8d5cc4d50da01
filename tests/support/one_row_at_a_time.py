"""The public map by hand: one row of texts at a time, from the description in docs/tables.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mipselect.tables import Field, TableSchema

BLANKS = " \t\r\n\v\f"

HOSPITAL = {
    "missingValues": ["", "NA", "-99"],
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}},
        {"name": "sex", "type": "string", "categories": [{"value": "f"}, {"value": "m"}]},
        {
            "name": "systolic",
            "type": "number",
            "constraints": {"minimum": 80, "maximum": 200, "required": True},
        },
        {"name": "smoker", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
        {
            "name": "nyha",
            "type": "integer",
            "categories": [1, 2, 3, 4],
            "categoriesOrdered": True,
            "missingValues": ["9"],
        },
        {"name": "icd", "type": "string", "categories": ["E", "I", "Jé", "N", "missing"]},
        {
            "name": "dose",
            "type": "number",
            "decimalChar": ",",
            "groupChar": ".",
            "constraints": {"minimum": 0, "maximum": 1e4},
        },
        {"name": "los_days", "type": "number", "constraints": {"minimum": 0, "maximum": 60}},
    ],
}
"""A table with every kind of field; the last one is the target."""

ROWS = [
    ["18", "f", "140", "yes", "1", "E", "2.500,5", "0"],
    ["100", "m", "80", "no", "4", "Jé", "0", "60"],
    ["59", "m", "200", "no", "2", "I", "1e4", "30"],
    ["", "", "", "", "", "", "", ""],
    ["-99", "NA", "NA", "-99", "9", "NA", "NA", "NA"],
    ["60", " f ", "1e999", "yes", "3.0", "N", "5", "12.5"],
    ["20", "x", "-1e9", "maybe", "7", "missing", "5", "1"],
]

HOSTILE = [
    "",
    " ",
    "NA",
    "-99",
    "-99.0",
    "9",
    "nan",
    "NaN",
    "inf",
    "-Infinity",
    "1e999",
    "-1e999",
    "1e-999",
    "0x10",
    "1_0",
    "1,5",
    "1.000,5",
    "--1",
    "+1",
    ".",
    "٣",
    "true",
    "False",
    "yes",
    "no",
    "f",
    "F",
    "Jé",
    "J\udce9",
    "2020-01-01",
    "\0",
    "null",
    "None",
    "'; DROP TABLE",
    "7" * 400,
    "a" * 5000,
    'with "quotes" in it',
    "two\nlines, and a comma",
    "\r\n",
]
"""Values that may stand in any field; a lone surrogate is a byte that is no UTF-8."""


def mapped_row(
    schema: TableSchema, row: Mapping[str, str | None], target: str
) -> tuple[list[float], float]:
    """The features and the target of one row; None is a row without values."""
    x: list[float] = []
    for field in schema.fields:
        if field.name != target:
            x += _columns(field, row[field.name])
    y = _columns(schema.field(target, "target"), row[target])
    return x, y[0]


def _columns(field: Field, text: str | None) -> list[float]:
    kind, value = _value(field, text)
    if field.categories is None and field.type != "boolean":
        assert field.minimum is not None
        assert field.maximum is not None
        x = 0.0
        if kind == "value":
            lo, hi = field.minimum, field.maximum
            x = min(1.0, max(-1.0, (2 * min(max(value, lo), hi) - lo - hi) / (hi - lo)))
        columns = [x]
    else:
        levels: Sequence[object] = field.categories or (False, True)
        k = list(levels).index(value) if kind == "value" else -1
        if len(levels) == 2 or field.ordered:
            columns = [2 * k / (len(levels) - 1) - 1 if k >= 0 else 0.0]
        else:
            columns = [1.0 if j == k else 0.0 for j in range(len(levels))]
    return columns if field.required else [*columns, 1.0 if kind == "missing" else 0.0]


def _value(field: Field, text: str | None) -> tuple[str, float]:
    if text is None or text.strip(BLANKS) in field.missing_values:
        return "missing", 0.0
    text = text.strip(BLANKS)
    if field.type == "boolean":
        truths = dict.fromkeys((*field.true_values, "true"), True)
        truths |= dict.fromkeys((*field.false_values, "false"), False)
        if not any(text.isdecimal() for text in truths):
            truths |= {"0": False, "1": True}
        return ("value", truths[text]) if text in truths else ("unlisted", 0.0)
    if field.type == "string":
        return ("value", text) if text in (field.categories or ()) else ("unlisted", 0.0)  # type: ignore[return-value]
    number = _number(field, text)
    if number is None or number in [_number(field, code) for code in field.missing_values]:
        return "missing", 0.0
    if field.categories is not None and number not in field.categories:
        return "unlisted", 0.0
    return "value", number


def _number(field: Field, text: str) -> float | None:
    if text.lower() in {"true", "false"}:
        return float(text.lower() == "true")
    text = text.replace(field.group_char, "") if field.group_char else text
    text = text.replace(field.decimal_char, ".")
    if "_" in text or not text.isascii():
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number
