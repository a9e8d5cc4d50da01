"""`mipselect schema`: a schema as a spreadsheet and back, and types that a person confirms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mipselect.tables import TableSchema
from tests.support.commandline import Run
from tests.support.one_row_at_a_time import HOSPITAL


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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


def test_a_spreadsheet_and_back(run: Run, schema: Path) -> None:
    done = run("schema", "to-csv", schema, "t.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == "t.csv: 11 fields; to fill in: [red], when; types to confirm: [red]\n"
    report = run("schema", "from-csv", "t.csv", "again.json", "--json").report
    assert TableSchema.read("again.json").content == TableSchema.read(schema).content
    assert (report["read"], report["written"], report["fields"]) == ("t.csv", "again.json", 11)
    assert run("schema", "to-csv", schema, "s.csv", "--delimiter", ";").code == 0
    text = Path("s.csv").read_text(encoding="utf-8-sig")
    assert text.startswith("name;title;type;minimum")
    run("schema", "from-csv", "s.csv", "s.json")
    assert TableSchema.read("s.json").content == TableSchema.read(schema).content


def test_texts_without_utf8_survive(run: Run, schema: Path) -> None:
    content = {"note": "\ud83d\n", "fields": [{"name": "a", "title": "\ud83d"}]}
    schema.write_text(json.dumps(content))
    assert run("schema", "to-csv", schema, "t.csv").code == 0
    assert run("schema", "from-csv", "t.csv", "again.json").code == 0
    assert TableSchema.read("again.json").content == content


TEXT = "age;größe;smoker;y\n" + "".join(
    f"{20 + k};{k % 7};{['true', 'false'][k % 2]};{k % 5}\n" for k in range(40)
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_bytes(TEXT.encode("latin-1"))
    return tmp_path / "t.csv"


WAYS = ("--delimiter", ";", "--encoding", "latin-1")


def test_from_a_proposal_to_a_release(run: Run, table: Path) -> None:
    schema = table.with_name("s.json")
    outcome = run("describe", table, *WAYS, "--types-from-data", "--output", schema)
    assert outcome.code == 0
    assert "SENSITIVE" in outcome.out
    assert "integer ?" in outcome.out
    assert "schema confirm" in outcome.out
    assert schema.stat().st_mode & 0o077 == 0
    question = ("--schema", schema, "--target", "y", "--support-size", "1", "--epsilon", "5")
    for command in (("select", table, *question), ("fit", table, *question)):
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
    assert run("select", table, *question, *WAYS).code == 0


def test_json_is_marked(run: Run, table: Path) -> None:
    report = run("describe", table, *WAYS, "--types-from-data", "--json").report
    assert report["sensitive"] is True
    assert report["delimiter"] == ";"
    assert report["schema"]["fields"][0]["mipselect:typeProposed"] is True
    assert run("describe", table, *WAYS, "--json").report["sensitive"] is False


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
