"""Kinds of values by hand, and one odd value that changes its own kind alone in every storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mipselect.tables import Field, TableSchema, check_table
from mipselect.tables.check import KINDS, kinds_of
from mipselect.tables.mapping import open_columns
from tests.support.fields import schema_of
from tests.support.one_row_at_a_time import HOSPITAL, HOSTILE, ROWS, _number, _value

SCHEMA = TableSchema.of(HOSPITAL)
ALL = sorted({text for row in ROWS for text in row} | set(HOSTILE))


def by_hand(field: Field, text: str) -> str:
    """The kind of a text, from the description in docs."""
    plain = text.strip(" \t\r\n\v\f")
    what, value = _value(field, text)
    if field.is_number and plain not in field.missing_values and plain.lower() != "nan":
        if _number(field, plain) is None:
            return "unreadable"
    elif "\udce9" in text:
        return "unreadable"
    if what == "missing":
        return "missing"
    if what == "unlisted":
        return "unlisted"
    if field.is_measured:
        assert field.minimum is not None
        assert field.maximum is not None
        above = "above" if value > field.maximum else "fine"
        return "below" if value < field.minimum else above
    return "fine"


def kinds(source: Any, schema: TableSchema) -> dict[str, list[str]]:
    """The kind of every value, by field."""
    found: dict[str, list[str]] = {field.name: [] for field in schema.fields}
    for part in open_columns(source, list(found)):
        for batch in part.read(list(found)):
            for k, field in enumerate(schema.fields):
                found[field.name] += [KINDS[kind] for kind in kinds_of(batch.column(k), field)]
    return found


@pytest.mark.parametrize("storage", ["bytes", "pandas", "dictionary"])
def test_every_text_is_of_the_kind_that_a_hand_finds(storage: str) -> None:
    cells = [text.encode("utf-8", "surrogateescape") for text in ALL]
    column: Any = pa.array(cells)
    if storage == "dictionary":
        column = column.dictionary_encode()
    source: Any = pa.table({field.name: column for field in SCHEMA.fields})
    if storage == "pandas":
        source = pd.DataFrame({field.name: cells for field in SCHEMA.fields})
    found = kinds(source, SCHEMA)
    seen = set()
    for field in SCHEMA.fields:
        wanted = [by_hand(field, text) for text in ALL]
        assert found[field.name] == wanted, field.name
        seen |= set(wanted)
    assert seen == set(KINDS)


def test_numbers_are_of_a_kind_as_their_texts_are() -> None:
    numbers = [17.0, 18.0, 59.5, 100.0, 100.1, np.inf, -np.inf, np.nan, -99.0]
    source = pa.table({field.name: numbers for field in SCHEMA.fields})
    found = kinds(source, SCHEMA)
    assert found["age"] == [
        *("below", "fine", "fine", "fine", "above", "above", "below", "missing", "missing")
    ]
    assert found["nyha"] == ["unlisted"] * 7 + ["missing", "unlisted"]
    assert set(found["icd"]) == {"unlisted", "missing"}


def test_a_weight_is_above_zero_and_a_date_is_one_of_iso() -> None:
    schema = schema_of(
        {
            "name": "w",
            "type": "number",
            "mipselect:role": "weight",
            "constraints": {"maximum": 5},
        },
        {"name": "day", "type": "date", "missingValues": ["never"]},
        {"name": "note", "type": "string"},
    )
    days = ["2020-01-31", "31.1.2020", "never", None, ""]
    source = pa.table({"w": [0.0, -1.0, 1e-9, 5.0, 5.1], "day": days, "note": days})
    assert kinds(source, schema) == {
        "w": ["below", "below", "fine", "fine", "above"],
        "day": ["fine", "unreadable", "missing", "missing", "unreadable"],
        "note": ["fine", "fine", "fine", "missing", "missing"],
    }
    stored = pa.table({"w": [1.0], "day": pa.array([18292], pa.date32()), "note": ["x"]})
    assert kinds(stored, schema)["day"] == ["fine"]


@pytest.mark.parametrize("text", ["-nan", "+nan", "Nan", "nan(ind)", "inf", "1e400", "0x10", "1_0"])
def test_a_text_is_of_one_kind_beside_numbers_and_beside_words(text: str) -> None:
    schema = TableSchema.of_numbers({"x": (0, 10)})
    found = {kinds(pa.table({"x": [text, other]}), schema)["x"][0] for other in ("5", "five")}
    assert len(found) == 1
    assert found <= {"unreadable", "above"}


def test_a_date_is_one_as_its_format_writes_it() -> None:
    """A day that does not exist is none."""
    day = {"name": "day", "type": "date", "format": "%d.%m.%Y"}
    schema = schema_of(day, {"name": "at", "type": "datetime"})
    source = pa.table(
        {
            "day": ["31.01.2020", "31.02.2020", "2020-01-31", None],
            "at": ["2020-01-31T07:30", "25:00", "noon", None],
        }
    )
    assert kinds(source, schema) == {
        "day": ["fine", "unreadable", "fine", "missing"],
        "at": ["fine", "unreadable", "unreadable", "missing"],
    }
    texts = [finding.text for finding in check_table(source, schema).findings]
    assert any("are no date of the format %d.%m.%Y" in text for text in texts)
    assert any("are no datetime of ISO 8601" in text for text in texts)


def test_nan_is_missing_also_where_polars_writes_it_as_a_text() -> None:
    schema = TableSchema.of_numbers({"a": (0, 1)})
    floats = pl.DataFrame({"a": pl.Series([float("nan"), 0.5])})
    objects = pl.DataFrame({"a": pl.Series([float("nan"), "x"], strict=False)})
    assert kinds(floats, schema)["a"][0] == kinds(objects, schema)["a"][0] == "missing"
