"""`describe` and `schema`: how a schema is begun, filled in and confirmed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect.tables import TableSchema
from tests.support.commandline import Outcome, Run
from tests.support.fields import listed
from tests.support.one_row_at_a_time import HOSPITAL
from tests.support.stored_tables import as_dta, as_sav, columns


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fields_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {field["name"]: field for field in report["schema"]["fields"]}


def test_names_and_types_are_listed_with_what_to_fill_in(run: Run) -> None:
    cells = {"age": [18, 99], "sex": ["f", "m"], "smoker": [True, None], "when": [None, None]}
    kinds = [("age", "int32"), ("sex", "string"), ("smoker", "bool"), ("when", "date32")]
    parquet.write_table(pa.table(cells).cast(pa.schema(kinds)), "t.parquet")
    outcome = run("describe", "t.parquet")
    assert outcome.code == 0
    for words in ("age", "constraints.minimum", "categories", "smoker", "type date", "codebook"):
        assert words in outcome.out
    assert "99" not in outcome.out
    report = run("describe", "t.parquet", "--json", "--output", "new.json").report
    assert report["sensitive"] is False
    assert [entry["type"] for entry in report["fields"]] == ["integer", "string", "boolean", "date"]
    assert report["fields"][1]["to_fill_in"] == "categories"
    assert json.loads(Path("new.json").read_text()) == report["schema"]
    assert TableSchema.read("new.json") == TableSchema.skeleton("t.parquet")


def test_of_a_file_without_types_a_type_comes_first_and_rows_do_not_matter(run: Run) -> None:
    reports = []
    for rows in ("1,x\n2,y\n", '\xff,"open\n3\n'):
        Path("t.csv").write_bytes(b"age,sex\n" + rows.encode("latin-1"))
        outcome, text = run("describe", "t.csv", "--json"), run("describe", "t.csv").out
        reports.append(outcome.report)
        assert outcome.err == ""
        assert "A CSV file has no types" in text
        assert text.count("type; categories of text") == 2
    assert reports[0] == reports[1]
    Path("t.csv").write_text("age,sex\n18,f\n")
    proposed = run("describe", "t.csv", "--types-from-data").out
    assert "type; categories of text" not in proposed
    assert "categories" in proposed
    Path("t.csv").write_text("")
    run("describe", "t.csv").failed_with(2, "no header")


def described_by(run: Run, *fields: dict[str, Any], more: tuple[str, ...] = ()) -> Outcome:
    """What is said of a table with this codebook."""
    Path("codebook.json").write_text(json.dumps({"fields": fields}))
    return run("describe", "t.csv", "--codebook", "codebook.json", *more)


def test_a_codebook_fills_in_what_it_knows(run: Run) -> None:
    Path("t.csv").write_text("smoker,sex\n[y],f\n")
    smoker = {"name": "smoker", "type": "boolean", "trueValues": ["[y]"], "falseValues": ["[n]"]}
    fields = (smoker, listed("sex", "f", "m", "x"))
    text = described_by(run, *fields).out
    assert "Nothing is left to fill in. Next 'mipselect check'" in text
    assert "typical range" not in text
    report = described_by(run, *fields, more=("--json",)).report
    assert [entry["to_fill_in"] for entry in report["fields"]] == ["", ""]
    assert "typical range" in described_by(run, smoker).out
    Path("t.csv").write_text("age;sex\n1;2\n")
    categories = [{"value": 1, "label": "m"}, {"value": 2, "label": "f"}]
    sex = {"name": "sex", "title": "Sex", "type": "integer", "categories": categories}
    given = ("--delimiter", ";", "--json")
    report = described_by(run, sex, more=given).report
    assert report["schema"]["fields"][1]["title"] == "Sex"
    assert report["fields"][1]["to_fill_in"] == ""
    report = described_by(run, sex, more=(*given, "--types-from-data")).report
    assert report["schema"]["fields"][0]["type"] == "integer"
    assert "mipselect:typeProposed" not in report["schema"]["fields"][1]
    again = described_by(run, sex, more=(*given, "--output", "codebook.json"))
    again.failed_with(2, "is what is read")


def test_labels_stand_in_the_text_and_in_the_file(run: Run) -> None:
    survey = as_sav(columns(), Path("survey.sav"))
    outcome = run("describe", survey, "--output", "s.json")
    assert "integer" in outcome.out
    assert "note: categories come from labels: smoking. Check each" in outcome.out
    assert "SENSITIVE" not in outcome.out
    assert "never" in Path("s.json").read_text()
    assert TableSchema.read("s.json") == TableSchema.skeleton(survey)
    report = run("describe", as_dta(columns(), Path("t.dta")), "--json").report
    assert report["sensitive"] is False
    assert [note[:30] for note in report["notes"]] == ["categories come from labels: s"]


def test_a_spreadsheet_and_back(run: Run) -> None:
    more = ({"name": "[red]", "type": "string", "mipselect:typeProposed": True},
            {"name": "when", "type": "date"})  # fmt: skip
    fields = [{"name": "id", "type": "string"}, *HOSPITAL["fields"], *more]
    content = {**HOSPITAL, "csvw-eo:privacyUnit": "id", "fields": fields}
    Path("t.json").write_text(json.dumps(content))
    done = run("schema", "to-csv", "t.json", "t.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == "t.csv: 11 fields; to fill in: [red], when; types to confirm: [red]\n"
    report = run("schema", "from-csv", "t.csv", "again.json", "--json").report
    assert TableSchema.read("again.json").content == content
    assert (report["read"], report["written"], report["fields"]) == ("t.csv", "again.json", 11)
    assert run("schema", "to-csv", "t.json", "s.csv", "--delimiter", ";").code == 0
    assert Path("s.csv").read_text(encoding="utf-8-sig").startswith("name;title;type;minimum")
    run("schema", "from-csv", "s.csv", "s.json")
    assert TableSchema.read("s.json").content == content
    # Texts that are no UTF-8 survive.
    odd = {"note": "\ud83d\n", "fields": [{"name": "a", "title": "\ud83d"}]}
    Path("t.json").write_text(json.dumps(odd))
    assert run("schema", "to-csv", "t.json", "odd.csv").code == 0
    assert run("schema", "from-csv", "odd.csv", "odd.json").code == 0
    assert TableSchema.read("odd.json").content == odd


WAYS = ("--delimiter", ";")
TYPES = {"age": "integer", "größe": "integer", "smoker": "boolean", "y": "integer"}


def test_from_a_proposal_to_a_release(run: Run) -> None:
    rows = (f"{20 + k};{k % 7};{['true', 'false'][k % 2]};{k % 5}\n" for k in range(40))
    Path("t.csv").write_bytes(("age;größe;smoker;y\n" + "".join(rows)).encode())
    proposal, schema = ("describe", "t.csv", *WAYS, "--types-from-data"), Path("s.json")
    outcome = run(*proposal, "--output", schema)
    assert outcome.code == 0
    for words in ("SENSITIVE", "integer ?", "schema confirm"):
        assert words in outcome.out
    assert schema.stat().st_mode & 0o077 == 0
    report = run(*proposal, "--json").report
    assert (report["sensitive"], report["delimiter"]) == (True, ";")
    assert report["schema"]["fields"][0]["mipselect:typeProposed"] is True
    assert run("describe", "t.csv", *WAYS, "--json").report["sensitive"] is False
    question = ("--schema", schema, "--target", "y", "--support-size", "1", "--epsilon", "5")
    for command in ("select", "fit"):
        refused = run(command, "t.csv", *question, *WAYS)
        refused.failed_with(2, "the types of age, größe, smoker, y were proposed")
    before = schema.read_text()
    run("schema", "confirm", schema).failed_with(2, "age integer; größe", "give --yes")
    assert schema.read_text() == before
    assert run("schema", "confirm", schema, "--yes", "--json").report["confirmed"] == TYPES
    assert "typeProposed" not in schema.read_text()
    assert "nothing to confirm" in run("schema", "confirm", schema).out
    assert run("select", "t.csv", *question, *WAYS).code == 0


def test_texts_of_a_boolean_are_listed_with_its_type(run: Run) -> None:
    Path("t.csv").write_text("smoker,day\nyes,2020-01-31\nno,\n")
    described = run("describe", "t.csv", "--types-from-data", "--output", "s.json")
    assert described.code == 0
    run("schema", "confirm", "s.json").failed_with(2, "smoker boolean (yes or no); day date")
    assert run("schema", "confirm", "s.json", "--yes").code == 0
    fields = json.loads(Path("s.json").read_text())["fields"]
    assert fields[1] == {"name": "day", "type": "date"}
    assert fields[0]["trueValues"][0] == "yes"


def test_ignored_fields_are_proposed_by_names_alone(run: Run) -> None:
    rows = "".join(f"{i},c{i},,3\n" for i in range(30))
    Path("t.csv").write_text("patient_id,code,comment,age\n" + rows)
    found = run("describe", "t.csv", "--json").report
    ignored = [name for name, field in fields_of(found).items() if "mipselect:role" in field]
    assert ignored == ["patient_id", "comment"]
    assert any("patient_id, comment" in note for note in found["notes"])
    text = run("describe", "t.csv").out
    assert '"mipselect:role": "ignored"' in text
    proposed = run("describe", "t.csv", "--types-from-data", "--json").report
    code = {"name": "code", "type": "string", "mipselect:typeProposed": True}
    assert (fields_of(proposed)["code"], proposed["sensitive"]) == (code, True)
