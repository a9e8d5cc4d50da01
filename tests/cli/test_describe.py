"""`mipselect describe`: names, types and codebooks of a table, and what a person must fill in."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect.tables import TableSchema
from tests.support.commandline import Outcome, Run
from tests.support.fields import listed
from tests.support.stored_tables import as_dta, as_sav, columns


@pytest.fixture
def table(tmp_path: Path) -> Path:
    columns = {"age": [18, 99], "sex": ["f", "m"], "smoker": [True, None], "when": [None, None]}
    stored = pa.table(columns).cast(
        pa.schema([("age", "int32"), ("sex", "string"), ("smoker", "bool"), ("when", "date32")])
    )
    parquet.write_table(stored, tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_the_text_lists_what_to_fill_in(run: Run, table: Path) -> None:
    outcome = run("describe", table)
    assert outcome.code == 0
    for words in ("age", "constraints.minimum", "categories", "smoker", "type date", "codebook"):
        assert words in outcome.out
    assert "false is -1, true is +1 and =missing" in outcome.out
    assert "99" not in outcome.out


def test_json_and_the_file(run: Run, table: Path) -> None:
    path = table.with_name("new.schema.json")
    report = run("describe", table, "--json", "--output", path).report
    assert report["sensitive"] is False
    assert [entry["type"] for entry in report["fields"]] == ["integer", "string", "boolean", "date"]
    assert report["fields"][1]["to_fill_in"] == "categories"
    assert json.loads(path.read_text()) == report["schema"]
    assert TableSchema.read(path) == TableSchema.skeleton(table)


def test_of_a_file_without_types_a_type_comes_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,sex\n18,f\n")
    assert run("describe", tmp_path / "t.csv").out.count("type; categories of text") == 2
    proposed = run("describe", tmp_path / "t.csv", "--types-from-data").out
    assert "type; categories of text" not in proposed
    assert "categories" in proposed


def described_by(run: Run, table: Path, schema: object, *more: str) -> Outcome:
    """What is said of a table with this codebook."""
    path = table.with_name("codebook.json")
    path.write_text(json.dumps(schema))
    return run("describe", table, "--codebook", path, *more)


def test_nothing_is_asked_where_nothing_is_left(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("smoker,sex\n[y],f\n")
    smoker = {"name": "smoker", "type": "boolean", "trueValues": ["[y]"], "falseValues": ["[n]"]}
    fields = [smoker, listed("sex", "f", "m", "x")]
    text = described_by(run, table, {"fields": fields}).out
    # Brackets are no markup.
    assert "[n] is -1, [y] is +1" in text
    assert "3 categories and =missing" in text
    assert "Nothing is left to fill in. Next 'mipselect check'" in text
    assert "typical range" not in text
    report = described_by(run, table, {"fields": fields}, "--json").report
    assert [entry["to_fill_in"] for entry in report["fields"]] == ["", ""]
    assert "typical range" in described_by(run, table, {"fields": fields[:1]}).out


def test_rows_do_not_matter(run: Run, tmp_path: Path) -> None:
    reports = []
    for name, rows in (("a.csv", "1,x\n2,y\n"), ("b.csv", '\xff,"open\n3\n')):
        (tmp_path / name).write_bytes(b"age,sex\n" + rows.encode("latin-1"))
        outcome = run("describe", tmp_path / name, "--json")
        reports.append({**outcome.report, "data": ""})
        assert outcome.err == ""
    assert reports[0] == reports[1]
    assert "A CSV file has no types" in run("describe", tmp_path / "a.csv").out


def test_what_is_no_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("")
    run("describe", tmp_path / "t.csv").failed_with(2, "no header")


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


def test_notes_are_in_the_report(run: Run, tmp_path: Path) -> None:
    report = run("describe", as_dta(columns(), tmp_path / "t.dta"), "--json").report
    assert report["sensitive"] is False
    assert [note[:30] for note in report["notes"]] == ["categories come from labels: s"]


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
    again = run("describe", table, *given, "--output", tmp_path / "c.json")
    again.failed_with(2, "is what is read")
