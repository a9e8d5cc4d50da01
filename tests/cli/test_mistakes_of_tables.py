"""Mistakes on the way to a right schema: each is one clear line of `check`, or one clear error."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.commandline import Outcome, Run

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}}
SMOKER = {"name": "smoker", "type": "string", "categories": ["no", "yes"]}
CHARGES = {"name": "charges", "type": "number", "constraints": {"minimum": 0, "maximum": 60_000}}
WEIGHT = {
    "name": "weight",
    "type": "number",
    "mipselect:role": "weight",
    "constraints": {"maximum": 5},
}
COLUMNS: Mapping[str, Callable[[np.random.Generator], list[str]]] = {
    "id": lambda draw: [f"p{k}" for k in range(400)],
    "age": lambda draw: [str(v) for v in draw.integers(18, 91, 400)],
    "smoker": lambda draw: [("no", "yes")[v] for v in draw.integers(0, 2, 400)],
    "charges": lambda draw: [f"{v:.2f}" for v in draw.uniform(1_000, 58_000, 400)],
}


def lines(run: Run, folder: Path, *more: str) -> list[str]:
    """The findings of a check, each one line of its text and one entry of its JSON."""
    asked = ("check", folder / "t.csv", "--schema", folder / "schema.json", *more)
    outcome = run(*asked)
    assert (outcome.code, outcome.err) == (0, "")
    found = [line[2:] for line in outcome.out.splitlines() if line.startswith("- ")]
    report = run(*asked, "--json").report
    assert report["sensitive"] is True
    assert found == [f"{one['about']}: {one['text']}." for one in report["findings"]]
    return found


def write(
    folder: Path,
    fields: list[dict[str, Any]],
    cells: Mapping[str, list[str]] | None = None,
    separator: str = ",",
    **schema: Any,
) -> None:
    """A table of these fields, some cells of it replaced, and its schema."""
    draw = np.random.default_rng(0)
    columns = {name: make(draw) for name, make in COLUMNS.items()} | dict(cells or {})
    header = separator.join(columns)
    rows = (separator.join(row) for row in zip(*columns.values(), strict=True))
    (folder / "t.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    content = {"missingValues": ["", "NA"], "fields": fields, **schema}
    (folder / "schema.json").write_text(json.dumps(content))


def test_a_right_schema_has_no_findings(run: Run, tmp_path: Path) -> None:
    people = {"csvw-eo:privacyUnit": "id"}
    write(tmp_path, [{"name": "id", "type": "string"}, AGE, SMOKER, CHARGES], **people)
    assert lines(run, tmp_path) == []
    assert "Nothing was found" in run(
        "check", tmp_path / "t.csv", "--schema", tmp_path / "schema.json"
    ).out  # fmt: skip


def test_wrong_categories(run: Run, tmp_path: Path) -> None:
    write(tmp_path, [AGE, SMOKER, CHARGES], {"smoker": ["0", "1", "1", "0"] * 100})
    (line,) = lines(run, tmp_path, "--target", "charges")
    assert line.startswith("smoker: all values are in no list; the file writes other codes than ")
    assert "'no', 'yes'; see the codebook" in line
    assert "'0' (200 rows), '1' (200 rows)" in line


def test_some_values_in_no_list(run: Run, tmp_path: Path) -> None:
    write(tmp_path, [AGE, SMOKER], {"smoker": ["no", "yes", "yes", "unknown"] * 100})
    (line,) = lines(run, tmp_path)
    assert line.startswith("smoker: 25 % of values are in no list")


def test_a_wrong_range(run: Run, tmp_path: Path) -> None:
    narrow = {"name": "charges", "type": "number", "constraints": {"minimum": 0, "maximum": 1000}}
    write(tmp_path, [AGE, SMOKER, narrow], {"charges": ["900"] * 28 + ["45000"] * 372})
    (line,) = lines(run, tmp_path)
    assert line == (
        "charges: 93 % of values are above the maximum 1,000; take a range where nearly all values "
        "lie, such as from the codebook."
    )
    assert "45" not in line
    wide = {"name": "charges", "type": "number", "constraints": {"minimum": 5e4, "maximum": 1e6}}
    write(
        tmp_path,
        [AGE, SMOKER, wide],
        {"charges": [str(900 + k) for k in range(28)] + ["55000"] * 372},
    )
    (line,) = lines(run, tmp_path)
    assert line.startswith("charges: 7.0 % of values are below the minimum 50,000")


@pytest.mark.parametrize(
    ("name", "cells", "words"),
    [
        ("smoker", {}, "smoker: only 2 different people in 400 rows, and one row of each counts"),
        ("id", {"id": [""] * 300 + [f"p{k}" for k in range(100)]},
         "id: 75 % of rows have no identity, and all of these count as one person"),
    ],
)  # fmt: skip
def test_a_wrong_person_column(
    run: Run, tmp_path: Path, name: str, cells: dict[str, list[str]], words: str
) -> None:
    fields = [{"name": name, "type": "string", "missingValues": [""]}, AGE, CHARGES]
    write(tmp_path, fields, cells, **{"csvw-eo:privacyUnit": name})
    (line,) = lines(run, tmp_path)
    assert line.startswith(words)
    assert "see whether this column says whose row it is" in line


@pytest.mark.parametrize("date", ["31.12.2019", "12/31/2019", "2019-12-31", "2019-12-31 10:00"])
def test_dates_as_text_in_a_field_of_numbers(run: Run, tmp_path: Path, date: str) -> None:
    write(tmp_path, [AGE, CHARGES], {"age": [date] * 400})
    (line,) = lines(run, tmp_path)
    assert line.startswith("age: all values are text that is no number and not in missingValues")
    assert 'a date by the type "date"' in line
    assert f"Most frequent: '{date}' (400 rows)" in line


def test_dates_that_are_not_iso_in_a_field_of_dates(run: Run, tmp_path: Path) -> None:
    fields = [AGE, {"name": "id", "type": "date"}]
    write(tmp_path, fields, {"id": ["31.12.2019"] * 400})
    (line,) = lines(run, tmp_path)
    assert line.startswith('id: all values are no date of ISO 8601; see the "format" of the field')


def test_another_separator(run: Run, tmp_path: Path) -> None:
    write(tmp_path, [AGE, SMOKER, CHARGES], separator=";")
    outcome = run("check", tmp_path / "t.csv", "--schema", tmp_path / "schema.json")
    outcome.failed_with(2, "t.csv")
    assert "separated by commas" in outcome.err or "--delimiter" in outcome.err


@pytest.mark.parametrize(
    "value", ["12,5", "1.234,50", "1,234.50", "1,234", "1 234.5", "1'234", "12 kg", "$12.50", "5%"]
)
def test_numbers_that_are_written_in_another_way(run: Run, tmp_path: Path, value: str) -> None:
    write(tmp_path, [AGE, CHARGES], {"charges": [f'"{value}"'] * 350 + ["7"] * 50})
    (line,) = lines(run, tmp_path)
    assert line.startswith("charges: 88 % of values are text that is no number")
    assert "decimalChar" in line
    assert f"Most frequent: '{value}' (350 rows)" in line


def test_labels_in_place_of_codes(run: Run, tmp_path: Path) -> None:
    labels = [{"value": 1, "label": "never"}, {"value": 2, "label": "daily"}]
    for kind, cast in (("integer", int), ("string", str)):
        codes = [{**entry, "value": cast(entry["value"])} for entry in labels]
        field = {"name": "smoker", "type": kind, "categories": codes}
        write(tmp_path, [AGE, field], {"smoker": ["never", "Daily"] * 200})
        (line,) = lines(run, tmp_path)
        assert line.startswith("smoker: all values are ")
        assert "'Daily' (200 rows)" in line


def test_weights_of_zero_and_above_their_maximum(run: Run, tmp_path: Path) -> None:
    cells = {"weight": ["0"] * 40 + ["-1"] * 20 + ["5.5"] * 20 + ["1.5"] * 320}
    write(tmp_path, [AGE, CHARGES, WEIGHT], cells)
    below, above = lines(run, tmp_path, "--target", "charges")
    assert below == "weight: 15 % of weights are 0 or below; a weight must be a number above 0."
    assert above.startswith("weight: 5.0 % of weights are above the maximum 5")


def test_a_schema_for_another_table(run: Run, tmp_path: Path) -> None:
    fields = [{"name": name, "type": "number"} for name in ("alcohol", "acidity", "sugar")]
    write(tmp_path, [*fields, AGE])
    outcome = run("check", tmp_path / "t.csv", "--schema", tmp_path / "schema.json")
    outcome.failed_with(2, "t.csv", "there is no column alcohol, acidity, sugar; columns: id")


def test_required_values_that_are_missing(run: Run, tmp_path: Path) -> None:
    required = {**AGE, "constraints": {**AGE["constraints"], "required": True}}  # type: ignore[dict-item]
    write(tmp_path, [required, SMOKER], {"age": ["NA"] * 4 + ["30", "71"] * 198})
    (line,) = lines(run, tmp_path)
    assert line.startswith("age: 1.0 % of values are missing, and the field is required")
    write(tmp_path, [AGE, SMOKER], {"age": ["NA"] * 300 + ["30", "71"] * 50})
    (line,) = lines(run, tmp_path)
    assert line.startswith("age: 75 % of values are missing; see whether this is the column")


def test_bytes_that_are_no_utf8(run: Run, tmp_path: Path) -> None:
    write(tmp_path, [AGE, SMOKER], {"smoker": ["nö", "yes"] * 200})
    path = tmp_path / "t.csv"
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    found: Outcome = run("check", path, "--schema", tmp_path / "schema.json")
    assert (
        "smoker: 50 % of values have bytes that are no UTF-8; save the file as UTF-8" in found.out
    )
