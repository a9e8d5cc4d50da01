"""`mipselect ledger`, and everything that draws with a ledger and without one."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mipselect.cli import releasing
from mipselect.privacy import Guarantee, Ledger
from mipselect.tables import TableSchema
from tests.support.commandline import BOUNDS, LISTENING, Run
from tests.support.stays import rows, written


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "study.ledger"


def test_select_is_charged_too_and_notes_what_was_asked(run: Run, folder: Path, file: Path) -> None:
    ledger = Ledger.create(file, epsilon=2.0)
    data = folder / "data.csv"
    command = ("select", data, "--target", "y", "--support-size", "2", "--epsilon", "1", *BOUNDS)
    shown = run(*command, "--ledger", file)
    assert "Ledger study.ledger: charged; ε = 1 is left" in shown.out
    assert "Its row 1 is" in shown.out
    asked = dict(ledger.entries[0].asked)
    assert (asked["data"], asked["target"], asked["x_bound"]) == ("data.csv", "y", 1.0)
    assert len(asked["features_sha256"]) == 64
    assert not {"n", "sensitivity", "features", "number_of_supports"} & set(asked)
    assert str(folder) not in json.dumps(asked)


def test_a_draw_is_paid_or_none_is_made(run: Run, folder: Path, file: Path) -> None:
    plain = ("release", folder / "instance.toml", "--epsilon", "2")
    assert "nothing remembers" in run(*plain).out
    ledger, command = Ledger.create(file, epsilon=4.5), (*plain, "--ledger", file)
    for dry in ((), ("--dry-run",)):
        run(*command, "--epsilon", "5", *dry).failed_with(1, "asked for ε = 5.0")
    assert ledger.entries == ()
    assert len(run(*command, "--json").report["releases"]) == 1
    (entry,) = ledger.entries
    assert (entry.what, entry.guarantee.epsilon) == ("permute-and-flip", 2.0)
    # A seeded draw is marked in the ledger.
    assert run(*command, "--seed", "1").code == 0
    shown = run("ledger", "show", file).out
    assert "seeded: no guarantee" in shown
    assert "all of it together has no guarantee" in shown


def test_under_add_remove_it_costs_half_and_n_is_not_told(
    run: Run, folder: Path, file: Path
) -> None:
    ledger = Ledger.create(file, epsilon=0.5, relation="add-remove")
    command = ("release", folder / "instance.toml", "--epsilon", "1", "--ledger", file)
    planned = run(*command, "--dry-run", "--json").report
    assert planned["guarantee_of_all_draws"]["epsilon"] == 0.5
    report = run(*command, "--json").report
    assert report["guarantee_of_all_draws"]["relation"] == "add-remove"
    for told in (planned, report):
        assert told["n"] is told["sensitivity"] is None
    assert report["nearly_blind"] is None
    assert ledger.remaining.epsilon == 0.0
    other = ("--method", "sis", "--relation", "replace-one")
    run(*command, *other).failed_with(1, "kept under add-remove")


def test_a_ledger_in_rho_pays_for_bounded_range(run: Run, folder: Path, file: Path) -> None:
    ledger = Ledger.create(file, rho=0.25, delta=1e-6)
    command = ("release", folder / "instance.toml", "--epsilon", "1", "--ledger", file)
    # Of two columns by peeling at ½ each 1/16, and of a pure draw at √⅛ as much.
    flips = ("--method", "permute-and-flip", "--epsilon", "0.25")
    left = 0.25
    for more, spent in (((), 0.125), (("--method", "kendall"), 0.0625), (flips, 0.03125)):
        told = f"ρ = {left:g} left, and would have ρ = {left - spent:g}"
        assert told in run(*command, *more, "--dry-run").out
        run(*command, "--method", "mcmc").failed_with(1, "counts ρ")
        assert run(*command, *more).code == 0
        left -= spent
        assert ledger.remaining.rho == left
    run(*command).failed_with(1, "ρ = 0.125, but only ρ = 0")


def test_only_a_ledger_in_rho_keeps_the_exponential_mechanism(
    run: Run, folder: Path, file: Path
) -> None:
    """At the same ε permute-and-flip costs four times as much ρ; where ε is counted it is free."""
    by_rho = Ledger.create(folder / "rho.ledger", rho=1.0, delta=1e-6)
    by_epsilon = Ledger.create(file, epsilon=1.0, delta=1e-6)
    command = ("release", folder / "instance.toml", "--epsilon", "1", "--json")
    named = (*command, "--method", "permute-and-flip")
    for given, method in (
        ((*command, "--ledger", folder / "rho.ledger"), "exponential"),
        ((*named, "--ledger", folder / "rho.ledger"), "permute-and-flip"),
        ((*command, "--ledger", file), "permute-and-flip"),
        (command, "permute-and-flip"),
    ):
        for more in (("--dry-run",), ()):
            assert run(*given, *more).report["method"] == method
    assert [entry.guarantee.rho for entry in by_rho.entries] == [0.125, 0.5]
    assert by_rho.remaining.rho == 0.375
    assert by_epsilon.spent.epsilon == 1.0
    for wanted in ("select", "release"):
        text = " ".join(re.sub(r"[│\s]+", " ", run(wanted, "--help").out).split())
        assert "which is not of bounded range" in text


@pytest.mark.parametrize("command", ["release", "fit"])
def test_the_ledger_is_looked_at_before_the_data(
    run: Run, folder: Path, file: Path, command: str
) -> None:
    if command == "fit":
        written(folder / "data.csv", rows(60))
    table = ("--schema", folder / "schema.json", "--target", "stay", "--support-size", "1")
    source = (folder / "instance.toml",) if command == "release" else (folder / "data.csv", *table)
    asked = (command, *source, "--epsilon", "1", "--ledger")
    (folder / "data.csv").rename(folder / "away.csv")
    run(*asked, file).failed_with(2, "no such file; 'mipselect ledger create'")
    run(*asked, folder / "instance.toml").failed_with(2, "not an SQLite file")
    Ledger.create(file, epsilon=0.5)
    run(*asked, file).failed_with(1, "nothing was drawn")
    other, pays = folder / "other.ledger", folder / "pays.ledger"
    Ledger.create(other, epsilon=100.0, relation="add-remove")
    of_scores = () if command == "fit" else ("--method", "sis")
    refused = run(*asked, other, "--relation", "replace-one", *of_scores)
    refused.failed_with(1, "kept under add-remove")
    Ledger.create(pays, epsilon=100.0)
    run(*asked, pays).failed_with(2, "no such file")
    (folder / "away.csv").rename(folder / "data.csv")
    run(*asked, pays, "--output", pays).failed_with(2, "would be replaced")
    assert Ledger.open(pays).entries == ()


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


PERHAPS = "nothing was released, but the ledger may have been charged"
NOTHING = "nothing was released, nothing was written, no budget is spent"


FLIP = "mipselect.mechanisms.supports.permute_and_flip.PermuteAndFlip"
STEPS: list[tuple[str, str, tuple[str, ...], str, bool]] = [
    # What is said, of which command, where it is interrupted, and whether it is charged by then.
    (NOTHING, "release", (), f"{FLIP}.prepare", False),
    (NOTHING, "release", ("--method", "top-r"), "mipselect.selectors.searched.top_supports", False),
    (PERHAPS, "release", (), f"{FLIP}.sample", True),
    (NOTHING, "release", (), "mipselect.cli.releasing.warnings", False),
    (PERHAPS, "release", (), "mipselect.cli.releasing.ReleasePlan.entries", True),
    (NOTHING, "fit", (), "mipselect.regression.plan.ModelTable.of", False),
    (PERHAPS, "fit", (), "mipselect.regression.plan.ModelRelease.of", True),
]


@pytest.mark.parametrize(("words", "command", "more", "step", "charged"), STEPS)
def test_an_interrupt_says_whether_it_is_paid(
    run: Run, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch, words: str, command: str,
    more: tuple[str, ...], step: str, charged: bool,
) -> None:  # fmt: skip
    """Without a ledger nothing is, before an answer is printed."""
    ledger, output = Ledger.create(file, epsilon=3.0), folder / "answer.json"
    TableSchema.of_numbers(dict.fromkeys("abcy", (-1.0, 1.0))).write(folder / "s.json")
    table = ("--schema", "s.json", "--target", "y", "--support-size", "1")
    source = ("instance.toml",) if command == "release" else ("data.csv", *table)
    monkeypatch.chdir(folder)
    asked = (command, *source, "--epsilon", "1", *more, "--output", output)
    monkeypatch.setattr(step, interrupted)
    for ledgers, said in (((), NOTHING), (("--ledger", file), words)):
        stopped = run(*asked, *ledgers)
        assert (stopped.code, stopped.out) == (130, "")
        assert f"mipselect: error: interrupted: {said}" in stopped.err
    assert not output.exists()
    assert len(ledger.entries) == charged
    assert ledger.remaining == Guarantee(2.0 if charged else 3.0)


def test_an_interrupt_after_the_file_says_where_the_answer_is(
    run: Run, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger.create(file, epsilon=3.0)
    output = folder / "answer.json"
    command = ("release", folder / "instance.toml", "--epsilon", "1", "--ledger", file)
    monkeypatch.setattr(releasing, "print_charged", interrupted)
    stopped = run(*command, "--output", output)
    assert stopped.code == 130
    assert f"its budget as spent; {output} has all of it, if it is there\n" in stopped.err
    assert json.loads(output.read_text())["private"] is True


@pytest.mark.deep
def test_an_interrupt_after_the_answer_changes_nothing(folder: Path, file: Path) -> None:
    ledger, output = Ledger.create(file, epsilon=3.0), folder / "answer.json"
    command = ["release", "instance.toml", "--epsilon", "2", "--ledger", str(file)]
    program = f"""
import sys, time
{LISTENING}
import mipselect.cli
from mipselect.cli.releasing import ReleasePlan

deliver = ReleasePlan.deliver

def wait(*given, **more):
    deliver(*given, **more)
    print("ready", file=sys.stderr, flush=True)
    time.sleep(1.0)

ReleasePlan.deliver = wait
sys.argv[1:] = {[*command, "--output", str(output)]!r}
sys.exit(mipselect.cli.main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stderr is not None
        while (line := process.stderr.readline()) not in ("ready\n", ""):
            pass
        assert line == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert "released support" in out
    assert json.loads(output.read_text())["private"] is True
    assert ledger.remaining == Guarantee(1.0)


@pytest.mark.deep
def test_a_killed_command_has_paid_for_what_it_told(folder: Path, file: Path) -> None:
    """Killed at any moment: whoever saw a release finds it charged."""
    ledger = Ledger.create(file, epsilon=100.0)
    command = ["release", str(folder / "instance.toml"), "--epsilon", "1", "--ledger", str(file)]
    start = f"{LISTENING}; from mipselect.cli import main; main({command!r})"
    told = 0
    for wait in (0.8, 1.2, 1.6, 2.0, 2.6, 8.0):
        process = subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        told += b"released support" in process.communicate()[0]
    assert told <= len(ledger.entries)
    ledger.verify()


def test_create_show_verify_export(run: Run, file: Path) -> None:
    made = run("ledger", "create", file, "--epsilon", "50", "--unit", "patient")
    assert (made.code, made.err) == (0, "")
    assert "ε = 50 under replace-one; one row is one patient" in made.out
    empty = run("ledger", "show", file)
    assert "Left: ε = 50." in empty.out
    ledger = Ledger.open(file)
    for _ in range(49):
        ledger.spend(Guarantee(1.0, rho=0.125), "exponential")
    ledger.spend(Guarantee(1.0, rho=0.125), "[bold]markup[/bold]")
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
    assert "51 rows, all in order; the last is row 50" in verified.out
    exported = run("ledger", "export", file).report
    previous = "0" * 64
    for row in exported["rows"]:
        lines = (str(row["number"]), row["event"], row["time"], row["content"], previous)
        previous = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        assert row["hash"] == previous
    assert run("ledger", "verify", file, "--head", previous).code == 0


def test_a_ledger_in_rho_or_with_a_delta(run: Run, file: Path, tmp_path: Path) -> None:
    pair = tmp_path / "pair.ledger"
    run("ledger", "create", pair, "--epsilon", "2", "--delta", "1e-6")
    Ledger.open(pair).spend(Guarantee(0.5, 1e-7))
    assert "Left: ε = 1.5, δ = 9e-07." in run("ledger", "show", pair).out
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


def test_what_is_charged_is_kept_with_the_data(run: Run, file: Path) -> None:
    ledger = Ledger.create(file, epsilon=1.0)
    assert run("ledger", "show", file, "--json").report["sensitive"] is False
    ledger.spend(Guarantee(0.1))
    output = file.with_name("show.json")
    assert run("ledger", "show", file, "--output", output).code == 0
    assert json.loads(output.read_text())["sensitive"] is True
    assert output.stat().st_mode & 0o077 == 0


def test_entries_have_the_numbers_of_their_rows_and_name_their_tables(
    run: Run, folder: Path, file: Path
) -> None:
    """A charge names the row of the file that it has written last."""
    Ledger.create(file, epsilon=9.0)
    (folder / "other.csv").write_bytes((folder / "data.csv").read_bytes())
    asked = ("--target", "y", "--support-size", "2", "--epsilon", "1", "--ledger", file)
    named, shown = [], []
    for name in ("data.csv", "other.csv"):
        text = run("select", folder / name, *asked).out
        named.append(int(text.partition("Its row ")[2].split()[0]))
        shown.append(run("ledger", "show", file).out)
        assert name in shown[-1]
    titles = next(line for line in shown[1].splitlines() if "time (UTC)" in line)
    assert "table" in titles
    assert "target" in titles
    Ledger.open(file).spend(Guarantee(1.0))
    report = run("ledger", "show", file, "--json").report
    rows = [entry["row"] for entry in report["entries"]]
    assert rows == [*named, 3] == [1, 2, 3]
    assert [entry["number"] for entry in report["entries"]] == rows
    lines = [line for line in run("ledger", "show", file).out.splitlines() if line[:1] == "│"]
    assert [line.split("│")[1].strip() for line in lines[:3]] == ["1", "2", "3"]
    stored = run("ledger", "export", file).report["rows"]
    assert [row["event"] for row in stored] == ["created"] + ["charged"] * 3
