"""`describe` and `schema`: how a schema is begun, filled in and confirmed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect.tables import TableSchema
from tests.support.commandline import Outcome, Run
from tests.support.fields import listed
from tests.support.one_row_at_a_time import HOSPITAL
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


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("t.schema.json")
    content = {**HOSPITAL, "csvw-eo:privacyUnit": "id"}
    content["fields"] = [
        {"name": "id", "type": "string"},
        *HOSPITAL["fields"],
        {"name": "[red]", "type": "string", "mipselect:typeProposed": True},
        {"name": "when", "type": "date"},
    ]
    path.write_text(json.dumps(content))
    return path


def test_a_spreadsheet_and_back(run: Run, hospital: Path) -> None:
    done = run("schema", "to-csv", hospital, "t.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == "t.csv: 11 fields; to fill in: [red], when; types to confirm: [red]\n"
    report = run("schema", "from-csv", "t.csv", "again.json", "--json").report
    assert TableSchema.read("again.json").content == TableSchema.read(hospital).content
    assert (report["read"], report["written"], report["fields"]) == ("t.csv", "again.json", 11)
    assert run("schema", "to-csv", hospital, "s.csv", "--delimiter", ";").code == 0
    text = Path("s.csv").read_text(encoding="utf-8-sig")
    assert text.startswith("name;title;type;minimum")
    run("schema", "from-csv", "s.csv", "s.json")
    assert TableSchema.read("s.json").content == TableSchema.read(hospital).content


def test_texts_without_utf8_survive(run: Run, hospital: Path) -> None:
    content = {"note": "\ud83d\n", "fields": [{"name": "a", "title": "\ud83d"}]}
    hospital.write_text(json.dumps(content))
    assert run("schema", "to-csv", hospital, "t.csv").code == 0
    assert run("schema", "from-csv", "t.csv", "again.json").code == 0
    assert TableSchema.read("again.json").content == content


TEXT = "age;größe;smoker;y\n" + "".join(
    f"{20 + k};{k % 7};{['true', 'false'][k % 2]};{k % 5}\n" for k in range(40)
)


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_bytes(TEXT.encode("latin-1"))
    return tmp_path / "t.csv"


WAYS = ("--delimiter", ";", "--encoding", "latin-1")


def test_from_a_proposal_to_a_release(run: Run, typed: Path) -> None:
    schema = typed.with_name("s.json")
    outcome = run("describe", typed, *WAYS, "--types-from-data", "--output", schema)
    assert outcome.code == 0
    assert "SENSITIVE" in outcome.out
    assert "integer ?" in outcome.out
    assert "schema confirm" in outcome.out
    assert schema.stat().st_mode & 0o077 == 0
    question = ("--schema", schema, "--target", "y", "--support-size", "1", "--epsilon", "5")
    for command in (("select", typed, *question), ("fit", typed, *question)):
        run(*command, *WAYS).failed_with(2, "the types of age, größe, smoker, y were proposed")
    before = schema.read_text()
    run("schema", "confirm", schema).failed_with(2, "age integer; größe", "give --yes")
    assert schema.read_text() == before
    report = run("schema", "confirm", schema, "--yes", "--json").report
    assert report["confirmed"] == {
        "age": "integer",
        "größe": "integer",
        "smoker": "boolean",
        "y": "integer",
    }
    assert "typeProposed" not in schema.read_text()
    assert "nothing to confirm" in run("schema", "confirm", schema).out
    assert run("select", typed, *question, *WAYS).code == 0


def test_json_is_marked(run: Run, typed: Path) -> None:
    report = run("describe", typed, *WAYS, "--types-from-data", "--json").report
    assert report["sensitive"] is True
    assert report["delimiter"] == ";"
    assert report["schema"]["fields"][0]["mipselect:typeProposed"] is True
    assert run("describe", typed, *WAYS, "--json").report["sensitive"] is False


def test_texts_of_a_boolean_are_listed_with_its_type(run: Run, tmp_path: Path) -> None:
    path, schema = tmp_path / "t.csv", tmp_path / "s.json"
    path.write_text("smoker,day\nyes,2020-01-31\nno,\n")
    described = run("describe", path, "--types-from-data", "--output", schema)
    assert "no is -1, yes is +1" in described.out
    run("schema", "confirm", schema).failed_with(2, "smoker boolean (yes or no); day date")
    assert run("schema", "confirm", schema, "--yes").code == 0
    fields = json.loads(schema.read_text())["fields"]
    assert fields[1] == {"name": "day", "type": "date"}
    assert fields[0]["trueValues"][0] == "yes"


def test_ignored_fields_are_proposed_by_names_alone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("patient_id,code,comment,age\n" + "".join(f"{i},c{i},,3\n" for i in range(30)))
    found = run("describe", path, "--json").report
    fields = {field["name"]: field for field in found["schema"]["fields"]}
    assert [n for n in fields if "mipselect:role" in fields[n]] == ["patient_id", "comment"]
    assert any("patient_id, comment" in note for note in found["notes"])
    text = run("describe", path).out
    assert "nothing, it is ignored" in text
    assert '"mipselect:role": "ignored"' in text
    proposed = run("describe", path, "--types-from-data", "--json").report
    fields = {field["name"]: field for field in proposed["schema"]["fields"]}
    assert fields["code"] == {"name": "code", "type": "string", "mipselect:typeProposed": True}
    assert proposed["sensitive"] is True
