from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from mipselect.privacy import Guarantee, Ledger
from tests.support.commandline import Run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


def test_create_show_verify_export(run: Run, file: Path) -> None:
    made = run("ledger", "create", file, "--epsilon", "50", "--unit", "patient")
    assert (made.code, made.err) == (0, "")
    assert "ε = 50 under replace-one; one row is one patient" in made.out
    empty = run("ledger", "show", file)
    assert "Left: ε = 50." in empty.out
    ledger = Ledger.open(file)
    for _ in range(49):
        ledger.spend(Guarantee(1.0, rho=0.125), "exponential")
    with ledger.charged(Guarantee(1.0, rho=0.125), "[bold]markup[/bold]"):
        pass
    shown = run("ledger", "show", file)
    assert shown.code == 0
    for words in ("23.6973 *", "Left: ε = 0.", "[bold]markup[/bold]", "Keep this"):
        assert words in shown.out
    report = run("ledger", "show", file, "--json").report
    assert [found["way"] for found in report["together"]] == ["sum", "rho"]
    assert report["sensitive"] is True
    assert report["spent"]["epsilon"] == 50.0
    assert len(report["entries"]) == 50
    verified = run("ledger", "verify", file)
    assert "52 rows, all in order; the last is row 51" in verified.out
    exported = run("ledger", "export", file).report
    previous = "0" * 64
    for row in exported["rows"]:
        lines = (str(row["number"]), row["event"], row["time"], row["content"], previous)
        previous = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        assert row["hash"] == previous
    assert run("ledger", "verify", file, "--head", previous).code == 0


def test_entries_name_their_tables(run: Run, folder: Path, file: Path) -> None:
    Ledger.create(file, epsilon=9.0)
    other = folder / "other.csv"
    other.write_bytes((folder / "data.csv").read_bytes())
    asked = ("--target", "y", "--support-size", "2", "--epsilon", "1", "--ledger", file)
    run("select", folder / "data.csv", *asked)
    one = run("ledger", "show", file)
    assert "data.csv" in one.out
    assert "different tables" not in one.out
    run("select", other, *asked)
    both = run("ledger", "show", file)
    assert "The entries are about 2 different tables (data.csv, other.csv)" in both.out
    titles = next(line for line in both.out.splitlines() if "time (UTC)" in line)
    assert "table" in titles
    assert "target" in titles
    report = run("ledger", "show", file, "--json").report
    assert report["tables"] == ["data.csv", "other.csv"]


def test_entries_have_the_numbers_of_their_rows(run: Run, folder: Path, file: Path) -> None:
    """A charge names the row of the file that it has written last."""
    Ledger.create(file, epsilon=9.0)
    select = ("select", folder / "data.csv", "--target", "y", "--support-size", "2")
    named = []
    for _ in range(2):
        text = run(*select, "--epsilon", "1", "--ledger", file).out
        named.append(int(text.partition("Its row ")[2].split()[0]))
    Ledger.open(file).spend(Guarantee(1.0))
    report = run("ledger", "show", file, "--json").report
    rows = [entry["rows"] for entry in report["entries"]]
    assert rows == [[1, 2], [3, 4], [5]]
    assert [numbers[-1] for numbers in rows[:2]] == named
    assert [entry["number"] for entry in report["entries"]] == [*range(1, len(rows) + 1)]
    shown = [line.split("│")[1].strip() for line in run("ledger", "show", file).out.splitlines()
             if line.startswith("│")]  # fmt: skip
    assert shown[:3] == ["1, 2", "3, 4", "5"]
    stored = run("ledger", "export", file).report["rows"]
    assert [row["event"] for row in stored if row["number"] in (1, 3, 5)] == ["charged"] * 3


def test_a_ledger_with_a_delta_says_both(run: Run, file: Path) -> None:
    run("ledger", "create", file, "--epsilon", "2", "--delta", "1e-6")
    Ledger.open(file).spend(Guarantee(0.5, 1e-7))
    assert "Left: ε = 1.5, δ = 9e-07." in run("ledger", "show", file).out


def test_a_ledger_in_rho(run: Run, file: Path) -> None:
    made = run("ledger", "create", file, "--rho", "6.25", "--delta", "1e-6")
    assert "ρ = 6.25, which is (23.6973, 1e-06)" in made.out
    shown = run("ledger", "show", file)
    assert "Left: ρ = 6.25, such as one pure draw at ε = 3.53553, or one draw from an" in shown.out
    assert run("ledger", "show", file, "--json").report["currency"] == "rho"
    Ledger.open(file).spend(Guarantee(1.0))
    report = run("ledger", "show", file, "--json", "--delta", "1e-9").report
    assert report["together"][1]["delta"] == 1e-9
    assert "step by step" in report["together"][1]["meaning"]


def test_a_hash_that_was_kept_shows_an_older_copy(run: Run, file: Path) -> None:
    ledger = Ledger.create(file, epsilon=1.0)
    ledger.spend(Guarantee(0.1))
    old = file.read_bytes()
    ledger.spend(Guarantee(0.9))
    head = ledger.verify().hash
    file.write_bytes(old)
    assert run("ledger", "verify", file).code == 0
    run("ledger", "verify", file, "--head", head).failed_with(1, "no row has the hash")


def test_what_is_charged_without_a_draw_is_kept_with_the_data(run: Run, file: Path) -> None:
    ledger = Ledger.create(file, epsilon=1.0)
    with ledger.charged(Guarantee(0.1), "drawn"):
        pass
    assert run("ledger", "show", file, "--json").report["sensitive"] is False
    with pytest.raises(ValueError, match="x"), ledger.charged(Guarantee(0.1), "failed"):
        raise ValueError("x")
    output = file.with_name("show.json")
    assert run("ledger", "show", file, "--output", output).code == 0
    assert json.loads(output.read_text())["sensitive"] is True
    assert output.stat().st_mode & 0o077 == 0
