"""`check_table`: kinds of values by hand, counts, people and codes against brute force."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect.tables import Field, TableCheck, TableSchema, check_table
from mipselect.tables.check import KINDS, kinds_of
from mipselect.tables.mapping import open_columns
from tests.support.fields import listed, numeric, schema_of
from tests.support.one_row_at_a_time import HOSPITAL, HOSTILE, ROWS, _number, _value
from tests.support.patients import SCHEMA, patients


def texts(check: TableCheck) -> list[str]:
    return [str(finding) for finding in check.findings]


def test_counts_of_every_field_add_up_to_the_rows() -> None:
    frame = patients(2000)
    check = check_table(frame, SCHEMA)
    assert (check.rows, check.ignored) == (2000, ("other",))
    by_name = {field.name: field for field in check.fields}
    assert all(sum(field.kinds.values()) == field.rows == 2000 for field in check.fields)
    assert by_name["sex"].kinds["missing"] == int((frame["sex"] == "NA").sum())
    stay = frame["stay"].astype(float)
    assert by_name["stay"].kinds["below"] == int((stay < 0).sum())
    assert by_name["stay"].kinds["above"] == int((stay > 60).sum())
    json.dumps(check.to_dict(), allow_nan=False)
    # A stream that can be read once is enough; a table without rows is told.
    assert check_table(pa.table(frame).to_reader(), SCHEMA).to_dict() == check.to_dict()
    assert texts(check_table(frame[:0], SCHEMA)) == ["the table: has no rows"]


def test_the_minimum_of_a_weight_changes_nothing() -> None:
    weights = {**numeric("w", 9, 300), "mipselect:role": "weight"}
    table = pd.DataFrame({"days": [1.0] * 4, "w": [1.0, 31.0, 400.0, -5.0]})
    weight = check_table(table, schema_of(numeric("days", 0, 40), weights)).fields[-1]
    assert (weight.kinds["fine"], weight.kinds["below"], weight.kinds["above"]) == (2, 1, 1)


def test_one_number_beyond_the_range_may_be_a_code_of_no_value() -> None:
    """Also where it is too rare for a range that cuts off values."""
    age = np.random.default_rng(0).normal(60, 12, 3000).clip(18, 95)
    schema = TableSchema.of_numbers({"x": (18, 100)})
    # Of half of the rows it is no code: the range is wrong.
    for code, rows, told in ((-9, 20, True), (999, 400, True), (999, 1500, False), (999, 2, False)):
        mixed = np.where(np.arange(3000) < rows, float(code), age)
        lines = texts(check_table(pa.table({"x": mixed}), schema))
        assert any(f"are {code}, " in line and "missingValues" in line for line in lines) == told
        # Among other values beyond the range it is none.
        more = np.append(mixed, np.sign(code) * np.linspace(200, 300, 2 * rows))
        lines = texts(check_table(pa.table({"x": more}), schema))
        assert not any("missingValues" in line for line in lines)


def test_people_are_counted_by_their_identities() -> None:
    unit = {"csvw-eo:privacyUnit": "id"}
    schema = schema_of({"name": "id", "type": "string"}, numeric("x", 0, 1), **unit)
    who = [f"p{k}" for k in range(300)] + ["p0"] * 4 + ["p1"] + [None] * 3
    table = pa.table({"id": who, "x": [0.5] * len(who)})
    for source in (table, pa.Table.from_batches(table.to_batches(max_chunksize=7))):
        people = check_table(source, schema).people
        assert people is not None
        assert tuple(people.to_dict().values()) == ("id", 301, 308, 5, 3, 3)
        assert "1.0 % of them with several rows, at most 5; 3 rows without one" in people.summary


def test_records_of_another_length_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n3\n4,5,6\n\xff,7\n" + b"8,9\n" * 16)
    schema = TableSchema.of_numbers({"a": (0, 10), "b": (0, 10)})
    check = check_table(path, schema)
    assert (check.rows, check.rows_without_values) == (20, 2)
    assert check.fields[0].kinds["unreadable"] == 1
    assert "2 rows (10 %) have no value in any field" in texts(check)[0]


def test_odd_values_are_the_most_frequent_ones_and_printable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mipselect.tables.check.MOST_REMEMBERED", 50)
    cells = ["\x1b[31mred"] * 900 + [f"x{k}" for k in range(900)] + ["y" * 500] * 300
    (field,) = check_table(pa.table({"ward": cells}), schema_of(listed("ward", "a", "b"))).fields
    assert field.odd[:2] == (("\\x1b[31mred", 900), ("y" * 80 + "...", 300))
    assert len(field.odd) == 5
    assert "\x1b" not in str(field.findings[0])


@pytest.mark.deep
def test_a_table_larger_than_memory_streams(tmp_path: Path) -> None:
    """Six times the rows take no more memory of Python and NumPy."""
    path, rng = tmp_path / "t.parquet", np.random.default_rng(0)
    schema = TableSchema.of_numbers(dict.fromkeys("af", (0, 1)))
    peaks = []
    for groups in (2, 12):
        fields = pa.schema([(name, pa.float64()) for name in "af"])
        with parquet.ParquetWriter(path, fields) as writer:
            for _ in range(groups):
                rows = {name: rng.uniform(0, 1.1, 1 << 16) for name in "af"}
                writer.write_table(pa.table(rows))
        tracemalloc.start()
        allocated = pa.total_allocated_bytes()
        check = check_table(path, schema)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert check.rows == groups << 16
        assert pa.total_allocated_bytes() <= allocated + (1 << 24)
        assert 0.08 < check.fields[0].share("above") < 0.1
    assert peaks[1] < 1.5 * peaks[0]


OF_HOSPITAL = TableSchema.of(HOSPITAL)
ALL = sorted({text for row in ROWS for text in row} | set(HOSTILE))


def by_hand(field: Field, text: str) -> str:
    """The kind of a text, from the description in docs."""
    plain = text.strip(" \t\r\n\v\f")
    what, value = _value(field, text)
    named = plain in field.missing_values or plain.lower() == "nan"
    if field.is_number and not named and _number(field, plain) is None:
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
    source: Any = pa.table({field.name: column for field in OF_HOSPITAL.fields})
    if storage == "pandas":
        source = pd.DataFrame({field.name: cells for field in OF_HOSPITAL.fields})
    found = kinds(source, OF_HOSPITAL)
    seen = set()
    for field in OF_HOSPITAL.fields:
        wanted = [by_hand(field, text) for text in ALL]
        assert found[field.name] == wanted, field.name
        seen |= set(wanted)
    assert seen == set(KINDS)


def test_numbers_are_of_a_kind_as_their_texts_are() -> None:
    numbers = [17.0, 18.0, 59.5, 100.0, 100.1, np.inf, -np.inf, np.nan, -99.0]
    source = pa.table({field.name: numbers for field in OF_HOSPITAL.fields})
    found = kinds(source, OF_HOSPITAL)
    assert found["age"] == [
        *("below", "fine", "fine", "fine", "above", "above", "below", "missing", "missing")
    ]
    assert found["nyha"] == ["unlisted"] * 7 + ["missing", "unlisted"]
    assert set(found["icd"]) == {"unlisted", "missing"}


@pytest.mark.parametrize("text", ["-nan", "+nan", "Nan", "nan(ind)", "inf", "1e400", "0x10", "1_0"])
def test_a_text_is_of_one_kind_beside_numbers_and_beside_words(text: str) -> None:
    schema = TableSchema.of_numbers({"x": (0, 10)})
    found = {kinds(pa.table({"x": [text, other]}), schema)["x"][0] for other in ("5", "five")}
    assert len(found) == 1
    assert found <= {"unreadable", "above"}


def test_nan_is_missing_also_where_polars_writes_it_as_a_text() -> None:
    schema = TableSchema.of_numbers({"a": (0, 1)})
    floats = pl.DataFrame({"a": pl.Series([float("nan"), 0.5])})
    objects = pl.DataFrame({"a": pl.Series([float("nan"), "x"], strict=False)})
    assert kinds(floats, schema)["a"][0] == kinds(objects, schema)["a"][0] == "missing"


def test_a_weight_is_above_zero_and_a_date_is_one_of_iso_8601() -> None:
    """A day that does not exist is none."""
    weight = {"name": "w", "type": "number", "mipselect:role": "weight"}
    schema = schema_of(
        {**weight, "constraints": {"maximum": 5}},
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
    schema = schema_of({"name": "at", "type": "datetime"})
    source = pa.table({"at": ["2020-01-31T07:30", "25:00", "noon", None]})
    assert kinds(source, schema) == {"at": ["fine", "unreadable", "unreadable", "missing"]}
    assert "are no datetime of ISO 8601" in " ".join(texts(check_table(source, schema)))
