"""`mipselect describe` of files with a codebook in them, or beside them."""

from __future__ import annotations

import json
from pathlib import Path

import openpyxl
import pytest

from mipselect.tables import TableSchema
from tests.support.commandline import Run
from tests.support.stored_tables import as_dta, as_sav, as_xlsx, columns


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return as_sav(columns(), tmp_path / "survey.sav")


def test_labels_stand_in_the_text_and_in_the_file(run: Run, survey: Path) -> None:
    path = survey.with_name("s.json")
    outcome = run("describe", survey, "--output", path)
    for words in ("Age in years", "3 ordered categories and =missing", "integer"):
        assert words in outcome.out
    assert "note: categories come from labels: smoking. Check each" in outcome.out
    assert "SENSITIVE" not in outcome.out
    assert "never" in path.read_text()
    assert TableSchema.read(path) == TableSchema.skeleton(survey)
    assert run("describe", survey, "--schema", path).code == 0


def test_notes_are_in_the_report(run: Run, tmp_path: Path) -> None:
    report = run("describe", as_dta(columns(), tmp_path / "t.dta"), "--json").report
    assert report["sensitive"] is False
    assert [note[:30] for note in report["notes"]] == [
        "'age': one value only has a la",
        "categories come from labels: s",
    ]


def test_a_codebook_is_given(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("age;sex\n1;2\n")
    categories = [{"value": 1, "label": "m"}, {"value": 2, "label": "f"}]
    sex = {"name": "sex", "title": "Sex", "type": "integer", "categories": categories}
    (tmp_path / "c.json").write_text(json.dumps({"fields": [sex]}))
    given = ("--delimiter", ";", "--codebook", tmp_path / "c.json")
    report = run("describe", table, *given, "--json").report
    assert report["schema"]["fields"][1]["title"] == "Sex"
    assert report["fields"][1]["to_fill_in"] == ""
    report = run("describe", table, *given, "--types-from-data", "--json").report
    assert report["schema"]["fields"][0]["type"] == "integer"
    assert "mipselect:typeProposed" not in report["schema"]["fields"][1]
    (tmp_path / "s.json").write_text(json.dumps({"fields": [{"name": "age"}]}))
    both = run("describe", table, *given, "--schema", tmp_path / "s.json")
    both.failed_with(2, "--codebook begins a new schema")
    again = run("describe", table, *given, "--output", tmp_path / "c.json")
    again.failed_with(2, "is what is read")


def test_a_spreadsheet_has_no_types(run: Run, tmp_path: Path) -> None:
    path = as_xlsx(columns(), tmp_path / "t.xlsx")
    outcome = run("describe", path)
    assert "nor has a sheet of Excel" in outcome.out
    book = openpyxl.load_workbook(path)
    book.create_sheet("report", 0).append(["Report of 2020"])
    book.save(path)
    run("describe", path).failed_with(2, "'report' has one name only; the header must be the first")
    assert run("describe", path, "--sheet", "Sheet").out == outcome.out
    assert run("describe", path, "--sheet", "Sheet", "--types-from-data").code == 0


def test_ways_that_are_wrong_are_named_by_their_option(run: Run, survey: Path) -> None:
    run("describe", survey, "--sheet", "a").failed_with(2, "--sheet is for Excel files")
    run("describe", survey, "--delimiter", "ab").failed_with(2, "--delimiter must be one character")
    run("describe", survey, "--encoding", "x y").failed_with(2, "--encoding: no encoding of texts")
