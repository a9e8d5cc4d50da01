"""`check_table` where the schema does not say whose row it is: columns whose values repeat."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from mipselect.tables import TableSchema, check_table

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 400}}
AGES = list(range(400))


def found(columns: dict[str, list[Any]], *fields: dict[str, Any], **more: Any) -> list[str]:
    schema = TableSchema.of({"fields": [*fields, AGE], **more})
    return [str(one) for one in check_table(pa.table({**columns, "age": AGES}), schema).findings]


def ignored(name: str, kind: str = "string") -> dict[str, Any]:
    return {"name": name, "type": kind, "mipselect:role": "ignored"}


REPEATED = [f"p{k % 200}" for k in range(400)]


def test_an_ignored_identifier_that_repeats_is_told_with_what_would_be_right() -> None:
    (text,) = found({"patient_id": REPEATED}, ignored("patient_id"))
    assert text.startswith("patient_id: all rows have a value that other rows have too; ")
    assert 'write "csvw-eo:privacyUnit": "patient_id" in the schema' in text
    assert text.endswith("and take its mipselect:role out")
    some = [f"p{k}" if k else "p1" for k in range(400)]
    (text,) = found({"patient_id": some}, ignored("patient_id"))
    assert text.startswith("patient_id: 0.5 % of rows have a value")
    numbers = [1000 + k % 200 for k in range(400)]
    assert found({"nr": numbers}, ignored("nr", "integer"))


def test_a_field_that_is_not_used_and_a_column_beside_the_schema_are_looked_at_too() -> None:
    (text,) = found({"patient": REPEATED}, {"name": "patient", "type": "string"})
    assert "privacyUnit" in text
    assert "mipselect:role" not in text
    (text,) = found({"case_id": REPEATED, "comment": REPEATED})
    assert text.startswith("case_id: ")
    assert found({"comment": REPEATED}) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patient_id", [f"p{k}" for k in range(400)]),  # one row each
        ("postcode", [f"{k % 30}" for k in range(400)]),  # few different values
        ("comment", [f"c{max(k, 5)}" for k in range(400)]),  # no name of identifiers, few repeats
        ("patient_id", [None] * 400),
        ("patient_id", [f"p{k}" if k < 200 else None for k in range(400)]),
    ],
)
def test_other_ignored_fields_are_no_finding(name: str, values: list[Any]) -> None:
    columns: dict[str, list[Any]] = {name: values}
    assert found(columns, ignored(name)) == []


def test_days_that_repeat_are_nobody() -> None:
    days = [f"2020-01-{1 + k % 31:02}" for k in range(62)] * 6 + [f"20{k}-02-03" for k in range(28)]
    assert found({"day": days}, ignored("day", "date")) == []


def test_nothing_is_counted_where_the_schema_says_whose_row_it_is() -> None:
    person = {"name": "patient_id", "type": "string"}
    columns: dict[str, list[Any]] = {"patient_id": REPEATED, "case_id": REPEATED}
    assert found(columns, person, ignored("case_id"), **{"csvw-eo:privacyUnit": "patient_id"}) == []


def test_of_very_many_values_the_first_ones_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from mipselect.tables.check import identities

    monkeypatch.setattr(identities, "MOST_VALUES", 50)
    schema = TableSchema.of({"fields": [ignored("patient_id"), AGE]})
    check = check_table(pa.table({"patient_id": REPEATED, "age": AGES}), schema)
    (one,) = check.to_dict()["identities"]
    assert (one["different_values"], one["rows"], one["rows_with_repeated_values"]) == (
        50,
        100,
        100,
    )
    assert one["findings"]
