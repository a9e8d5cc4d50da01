"""`mipselect schema confirm`, and what refuses a schema before."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.support.commandline import Run

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
    out = ("--schema", schema, "--target", "y", "--output", table.with_name("m.npz"))
    run("moments", table, *WAYS, *out).failed_with(2, "were proposed from the data")
    before = schema.read_text()
    run("schema", "confirm", schema).failed_with(2, "answer on a terminal, or give --yes")
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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "confirmed"), [("y\n", True), ("no\n", False), ("", False)])
def test_a_person_answers(
    answer: str, confirmed: bool, run: Run, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = table.with_name("s.json")
    run("describe", table, *WAYS, "--types-from-data", "--output", schema)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    outcome = run("schema", "confirm", schema)
    assert "smoker" in outcome.err
    assert "boolean" in outcome.err
    assert "known without the data" in outcome.err
    assert (outcome.code == 0) == confirmed
    assert ("typeProposed" in schema.read_text()) != confirmed


def test_json_is_marked(run: Run, table: Path) -> None:
    report = run("describe", table, *WAYS, "--types-from-data", "--json").report
    assert report["sensitive"] is True
    assert report["delimiter"] == ";"
    assert report["schema"]["fields"][0]["mipselect:typeProposed"] is True
    assert run("describe", table, *WAYS, "--json").report["sensitive"] is False


def test_a_file_of_types_has_none_to_propose(run: Run, table: Path) -> None:
    schema = table.with_name("s.json")
    schema.write_text(json.dumps({"fields": [{"name": "age", "type": "integer"}]}))
    outcome = run("describe", table, *WAYS, "--types-from-data", "--schema", schema)
    outcome.failed_with(2, "--types-from-data begins a new schema")
    run("schema", "confirm", table).failed_with(2, "t.csv")
    run("schema", "confirm", table.with_name("absent.json")).failed_with(2, "no such file")


def test_texts_of_a_boolean_are_asked_for_with_its_type(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, schema = tmp_path / "t.csv", tmp_path / "s.json"
    path.write_text("smoker,day\nyes,2020-01-31\nno,\n")
    described = run("describe", path, "--types-from-data", "--output", schema)
    assert "no is -1, yes is +1" in described.out
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    outcome = run("schema", "confirm", schema)
    assert outcome.code == 0
    assert "boolean, yes or no" in outcome.err
    assert "date" in outcome.err
    fields = json.loads(schema.read_text())["fields"]
    assert fields[1] == {"name": "day", "type": "date"}
    assert fields[0]["trueValues"][0] == "yes"
