"""Cautions come before a draw, on standard error and in JSON, and depend on no row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mipselect.privacy import Ledger
from tests.support.commandline import Run
from tests.support.stays import SCHEMA, rows, written

DRAW = ("--target", "stay", "--support-size", "1")
DRAWS = pytest.mark.parametrize("command", ["select", "fit", "evaluate"])
ONE_ROW = (
    "but the schema does not say whose row is whose: the guarantee is about one row, and about one "
    "patient only if none has more than one row; csvw-eo:privacyUnit in its schema names the field"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Stays of people with several rows, and a schema that does not say whose they are."""
    path = written(tmp_path / "t.csv", rows(300))
    ignored = {"name": "id", "type": "string", "mipselect:role": "ignored"}
    of_rows = {key: value for key, value in SCHEMA.items() if key != "csvw-eo:privacyUnit"}
    of_rows["fields"] = [ignored, *SCHEMA["fields"][1:]]
    path.with_name("rows.json").write_text(json.dumps(of_rows))
    return path


def ledger_of(path: Path, unit: str) -> Path:
    file = path.with_name(f"{unit}.ledger")
    Ledger.create(file, epsilon=1000.0, unit=unit)
    return file


def asked(table: Path, command: str, schema: str = "rows.json") -> tuple[object, ...]:
    public = ("--schema", table.with_name(schema))
    if command == "evaluate":
        return (command, table.with_name("model.json"), table, *public)
    return (command, table, *public, *DRAW)


@pytest.fixture
def model(run: Run, table: Path) -> Path:
    """A seeded model of a copy of the table, one row each, in a file beside it."""
    model, past = table.with_name("model.json"), table.with_name("past.csv")
    past.write_bytes(table.read_bytes())
    fit = asked(past, "fit")
    assert run(*fit, "--epsilon", "5", "--seed", "1", "--output", model).code == 0
    return model


@DRAWS
@pytest.mark.usefixtures("model")
def test_a_ledger_of_people_and_a_schema_of_rows_is_told_before_the_draw(
    run: Run, table: Path, command: str
) -> None:
    more = ("--epsilon", "1", "--json", "--ledger")
    file = ledger_of(table, "patient")
    found = run(*asked(table, command), *more, file)
    assert found.code == 0, found.err
    note = f"the ledger counts one row as one patient, {ONE_ROW}"
    assert f"mipselect: warning: {note}" in found.err
    assert found.report["notes"] == [f"{note} that says it"]
    if command != "evaluate":
        named = run(*asked(table, command, "schema.json"), *more, file)
        assert (named.code, named.report["notes"]) == (0, [])
        assert "warning: the ledger counts" not in named.err
    by_row = run(*asked(table, command), *more, ledger_of(table, "Rows"))
    assert by_row.report["notes"] == []


def test_notes_come_before_the_charge_and_in_a_dry_run(
    run: Run, table: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    file = ledger_of(table, "visit")
    instance = ("release", folder / "instance.toml", "--epsilon", "1", "--ledger", file)
    told = run(*instance).err
    assert "but nothing says whose row is whose" in told
    assert "csvw-eo:privacyUnit in a schema names" in told
    draw = (*asked(table, "select"), "--epsilon", "1", "--ledger", file)
    assert "one row as one visit" in run(*draw, "--dry-run").err
    monkeypatch.setattr("mipselect.cli.releasing.ReleasePlan.law", stop)
    stopped = run(*draw)
    assert stopped.code == 130
    assert "one row as one visit" in stopped.err
    assert len(Ledger.open(file).entries) == 1


@pytest.mark.parametrize("command", ["select", "fit"])
def test_a_draw_says_nothing_of_rows(run: Run, tmp_path: Path, command: str) -> None:
    """The words are the same for rows that fit and for rows that do not."""
    for lines in (rows(300), [["p", "?", "?", "?", "?", "?", "?"]] * 300):
        path = written(tmp_path / "t.csv", [[f"p{k}", *line[1:]] for k, line in enumerate(lines)])
        draw = (*asked(path, command, "schema.json"), "--epsilon", "1")
        for more in ((), ("--dry-run",), ("--json",)):
            assert run(*draw, *more).err == ""


COUNTS = {
    "first": "the first in the order of the file counts (unit_rule first)",
    "last": "the last in the order of the file counts (unit_rule last)",
    "mean": "means of the numbers count, and of all else the first in the order of the file "
    "(unit_rule mean)",
}


@pytest.mark.parametrize("command", ["select", "fit"])
@pytest.mark.parametrize("rule", COUNTS)
def test_what_becomes_of_several_rows_of_one_person_is_said(
    run: Run, table: Path, command: str, rule: str
) -> None:
    more = () if rule == "first" else ("--unit-rule", rule)
    draw = (*asked(table, command, "schema.json"), "--epsilon", "1", *more)
    for way in ((), ("--dry-run",)):
        text = run(*draw, *way)
        assert f"People: Of all rows with the same id {COUNTS[rule]}" in text.out, text.err
        assert run(*draw, *way, "--json").report["unit_rule"] == rule
    assert "unit_rule" not in run(*asked(table, command), "--epsilon", "1", "--json").report


@pytest.mark.parametrize("command", ["select", "fit", "evaluate", "release"])
@pytest.mark.usefixtures("model")
def test_a_large_epsilon_is_said_to_protect_little(
    run: Run, table: Path, folder: Path, command: str
) -> None:
    draw = asked(table, command)
    if command == "release":
        draw = ("release", folder / "instance.toml")
    words = "ε = 10 protects little"
    large = run(*draw, "--epsilon", "10", "--json")
    assert large.err.count(words) == 1
    assert any(words in note for note in large.report["notes"])
    assert "protects little" not in run(*draw, "--epsilon", "9.9").err
    # Of a seeded draw nothing is promised.
    assert "protects little" not in run(*draw, "--epsilon", "10", "--seed", "1").err


def test_a_large_delta_is_said_to_protect_little(run: Run, table: Path, folder: Path) -> None:
    """Of 300 rows 1/300 is the least; where their number is not known, 1/1000."""
    draw = (*asked(table, "select"), "--method", "mcmc", "--mcmc-steps", "9", "--epsilon", "1")
    large = run(*draw, "--delta", "0.0034", "--json")
    words = "δ = 0.0034 protects little: with that probability a row may be released as it is"
    assert large.err.count(words) == 1
    assert any(words in note for note in large.report["notes"])
    for more in (("0.0033",), ("0.0034", "--seed", "1")):
        assert "protects little" not in run(*draw, "--delta", *more).err
    assert "δ = 0.001 protects" in run(*draw, "--delta", "0.001", "--dry-run").err
    assert "protects little" not in run(*draw, "--delta", "0.00099", "--dry-run").err
    chain = ("release", folder / "instance.toml", "--epsilon", "1", "--method", "mcmc")
    assert "δ = 0.05 protects little" in run(*chain, "--delta", "0.05").err
