"""`mipselect reproduce`: what it writes, going on after an interrupt, bad input, and no data."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect import errors
from mipselect.errors import InvalidInput, NotCertified
from mipselect_papers import runner
from mipselect_papers.catalogue import EXPERIMENTS
from mipselect_papers.commands import reproduce as command
from mipselect_papers.kendall import Copies
from mipselect_papers.runner import FORMAT, KEYS, START, Trial, TrialFile, all_measured
from tests.support.commandline import LISTENING, Run
from tests.support.wants import skip_for_want_of

# The cheapest one: two trials.
COPIES = ("reproduce", "kendall-copies", "--quick")


def files_of(folder: Path) -> dict[str, bytes]:
    """All but the trials, which have times."""
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".csv", ".svg")
    }


def test_list_names_every_experiment(run: Run) -> None:
    outcome = run("reproduce", "--list")
    assert (outcome.code, outcome.err) == (0, "")
    for experiment in EXPERIMENTS:
        assert f"  {experiment.name} " in outcome.out
        assert f"{experiment.row}: {experiment.title}" in outcome.out
    report = run("reproduce", "--list", "--json").report
    assert [entry["name"] for entry in report["experiments"]] == [e.name for e in EXPERIMENTS]
    assert {entry["needs"] for entry in report["experiments"]} == {
        None, "microarray", "scores", "regression",
    }  # fmt: skip


def test_it_writes_a_figure_tables_a_verdict_and_the_trials(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    outcome = run(*COPIES, "--output", folder, "--json")
    assert outcome.code == 0
    report = outcome.report
    assert (report["private"], report["sensitive"], report["quick"]) == (False, False, True)
    (entry,) = report["experiments"]
    assert [claim["verdict"] for claim in entry["claims"]] == ["not seen", "seen"]
    assert {Path(name).name for name in entry["files"]} == {path.name for path in folder.iterdir()}
    text = (folder / "kendall-copies-quick.md").read_text()
    assert "mipselect reproduce kendall-copies --quick" in text
    assert "| of copies exactly one is selected (theorem 3.8) | not seen |" in text
    assert "draws of seed 0, data and splits of seed 0" in text
    with (folder / "kendall-copies-quick.csv").open() as file:
        lines = list(csv.DictReader(file))
    trials = (folder / "kendall-copies-quick.jsonl").read_text().splitlines()
    readings = [reading for line in trials for reading in json.loads(line)["readings"]]
    for line in lines:
        values = [
            value
            for panel, method, x, metric, value in readings
            if (panel, method, metric) == (line["panel"], line["method"], line["metric"])
            and x == float(line["x"])
        ]
        assert float(line["value"]) == pytest.approx(np.mean(values))
        assert int(line["repeats"]) == len(values) == 2
    assert (folder / "kendall-copies-quick.svg").read_text().startswith("<?xml")


@pytest.mark.deep
def test_the_same_command_draws_the_same_and_another_seed_another(run: Run, tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in "abc")
    quick = ("reproduce", "sis-instability", "--quick", "--repeats", "1")
    for folder in (one, two):
        assert run(*quick, "--output", folder).code == 0
    assert files_of(one) == files_of(two)
    assert run(*quick, "--seed", "1", "--output", other).code == 0
    assert files_of(one) != files_of(other)


def interrupted(trials: Sequence[Trial], processes: int, apart: bool) -> Iterator[Any]:
    for number, pair in enumerate(all_measured(trials, processes)):
        if number == 1:
            raise KeyboardInterrupt
        yield pair


def test_it_goes_on_after_an_interrupt(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "made"
    run(*COPIES, "--output", whole)
    monkeypatch.setattr(runner, "all_measured", interrupted)
    outcome = run(*COPIES, "--output", folder)
    assert (outcome.code, outcome.out) == (130, "")
    assert "1 of 2 trials of kendall-copies are kept" in outcome.err
    assert [path.suffix for path in folder.iterdir()] == [".jsonl"]
    # A line that was cut off is taken away.
    trials = folder / "kendall-copies-quick.jsonl"
    with trials.open("a") as file:
        file.write('{"format": "mipselect-tri')
    monkeypatch.undo()
    outcome = run(*COPIES, "--output", folder)
    assert outcome.code == 0
    assert "1 of 2 trials are done already" in outcome.err
    assert files_of(folder) == files_of(whole)
    assert len(trials.read_text().splitlines()) == 2
    before = trials.read_bytes()
    assert "2 of 2 trials are done already" in run(*COPIES, "--output", folder).err
    assert trials.read_bytes() == before


@pytest.mark.deep
@pytest.mark.parametrize("pause", [0.0, 0.15, 1.5])
def test_an_interrupt_from_outside_ends_all_processes(pause: float, tmp_path: Path) -> None:
    arguments = ["reproduce", "mip-1a", "--quick", "--jobs", "2", "--output", str(tmp_path / "o")]
    process = subprocess.Popen(
        [sys.executable, "-c", f"{LISTENING}; from mipselect.cli import main; "
         f"raise SystemExit(main({arguments!r}))"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    listing = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        if not listing.exists():
            skip_for_want_of("/proc/PID/task/TID/children")
        deadline = time.monotonic() + 100.0
        while not listing.read_text() and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(pause)
        children = listing.read_text().split()
        # The terminal sends it to the whole group.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert re.match(r"mipselect: error: interrupted: [0-3] of 4", err.decode().splitlines()[-1])
    assert "Traceback" not in err.decode()
    time.sleep(0.5)
    assert not any(Path(f"/proc/{child}/exe").exists() for child in children)


def test_without_matplotlib_there_are_tables_only(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise InvalidInput("matplotlib is missing; install it with: pip install 'mipselect[plot]'")

    monkeypatch.setattr(command, "require_matplotlib", missing)
    outcome = run(*COPIES, "--output", tmp_path / "made", "--json")
    assert outcome.code == 0
    assert outcome.err.count("tables only, no figures: matplotlib is missing") == 1
    assert not list((tmp_path / "made").glob("*.svg"))
    assert all(not name.endswith(".svg") for name in outcome.report["experiments"][0]["files"])


def test_what_fails_is_said_and_tried_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Copies, repeat: int, seed: int, source: None) -> list[Any]:
        raise NotCertified("no proof in time", bound=0.0)

    monkeypatch.setattr(Copies, "measure", fail)
    outcome = run(*COPIES, "--output", tmp_path, "--json")
    assert outcome.code == 1
    assert (
        "n = 5,000, draws = 20, epsilon = 1, repeat 1: no proof in time (and 1 more)" in outcome.err
    )
    (entry,) = outcome.report["experiments"]
    assert len(entry["missing"]) == 2
    assert {claim["verdict"] for claim in entry["claims"]} == {"not decided"}
    assert "**Not run:**" in (tmp_path / "kendall-copies-quick.md").read_text()
    monkeypatch.undo()
    assert run(*COPIES, "--output", tmp_path).code == 0
    assert "Not run" not in (tmp_path / "kendall-copies-quick.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mip-1c",), "experiment 'mip-1c' is unknown; known: all, mip-1a"),
        ((), "which experiment?"),
        (("--list", "mip-1a"), "--list takes no name"),
        (("all", "mip-1a"), "'all' already has the other names"),
        ((*COPIES[1:], "--jobs", "0"), "--jobs"),
        ((*COPIES[1:], "--repeats", "0"), "--repeats"),
        ((*COPIES[1:], "--seed", "-1"), "--seed"),
        ((*COPIES[1:], "--data-seed", "-1"), "--data-seed"),
        ((*COPIES[1:], "--output", "no/such"), "no does not exist"),
        ((*COPIES[1:], "--output", "file"), "is a file, not a folder"),
        ((*COPIES[1:], "--data", "nowhere"), "--data nowhere: no such file or folder"),
        (
            ("sis-table-1", "--data", "nowhere"),
            "--data nowhere: no such file or folder; microarray/*.npz: the R package",
        ),
        (("sis-table-1",), "sis-table-1 needs --data with microarray/*.npz: the R package"),
        (("kendall-regression",), "OpenML tasks 361072 to 361104"),
        (("canonical-counts", "--data", "empty"), "--data empty: no scores/*.npy there"),
        (("canonical-counts", "--data", "file"), "no scores/*.npy there"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...],
    words: str,
) -> None:  # fmt: skip
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    run("reproduce", *arguments).failed_with(2, words)
    assert {path.name for path in tmp_path.iterdir()} == {"file", "empty"}


def test_other_tables_of_the_same_shape_will_do_and_are_sensitive(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.floor(3000.0 / np.arange(1, 41)))
    made = tmp_path / "made"
    outcome = run(
        "reproduce", "canonical-counts", "--quick", "--data", tmp_path, "--output", made, "--json"
    )
    assert outcome.code == 0
    assert outcome.report["sensitive"] is True
    assert "SENSITIVE" in outcome.report["warning"][0]
    assert "mine, k = 10" in (made / "canonical-counts-quick.md").read_text()
    for path in made.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_all_leaves_out_what_needs_data(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [e for e in EXPERIMENTS if e.name in ("kendall-copies", "sis-table-1")]
    monkeypatch.setattr(command, "EXPERIMENTS", tuple(few))
    outcome = run("reproduce", "all", "--quick", "--output", tmp_path, "--json")
    assert outcome.code == 0
    (left_out,) = outcome.report["left_out"]
    assert left_out.startswith("left out sis-table-1: it needs --data")
    assert [entry["name"] for entry in outcome.report["experiments"]] == ["kendall-copies"]


ROW: dict[str, Any] = {**dict.fromkeys(KEYS, "x"), "sensitive": False}
LINE = json.dumps({"format": FORMAT, **ROW}) + "\n"
WITHOUT = LINE.replace('"experiment"', '"other"')


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def written(file: Path) -> list[Any]:
    return [json.loads(line)["readings"] for line in file.read_text().splitlines()]


def test_two_runs_on_one_file_lose_no_line(file: Path) -> None:
    with TrialFile(file) as slow, TrialFile(file) as quick:
        quick.append({**ROW, "readings": "quick"})
        slow.append({**ROW, "readings": "slow"})
    assert written(file) == ["quick", "slow"]


def test_a_half_written_line_is_cut_off_only_if_nobody_has_written_since(file: Path) -> None:
    file.write_bytes(START[:9])
    with TrialFile(file) as slow, TrialFile(file) as quick:
        quick.append({**ROW, "readings": "quick"})
        with pytest.raises(errors.MipselectError, match="another run writes to it"):
            slow.append({**ROW, "readings": "slow"})
    assert written(file) == ["quick"]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("epsilon,exact\n1,0.5\n", 1, "it is not JSON"),
        ('{"format": "other"}\n', 1, "its format is not 'mipselect-trials-1'"),
        ("[1, 2]\n", 1, "its format is not"),
        ("a note without an end", 1, "it is cut off and begins like no other"),
        ("\n", 1, "it is not JSON"),
        (WITHOUT, 1, "it lacks 'experiment'"),
        (f"{LINE}{LINE}x\n", 3, "it is not JSON"),
        (f"{LINE}trailing", 2, "it is cut off"),
        (b"\xff\xfe\n", 1, "it is not JSON"),
        ("[" * 100_000 + "]" * 100_000 + "\n", 1, "nested too deeply"),
    ],
)
def test_files_of_others_are_left_alone(
    file: Path, content: str | bytes, line: int, reason: str
) -> None:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = file.read_bytes()
    with pytest.raises(errors.InvalidInput, match=f"line {line}, is no trial: .*{reason}"):
        TrialFile(file)
    assert file.read_bytes() == before


def test_a_row_that_is_sensitive_closes_the_file_that_is_written(file: Path) -> None:
    with TrialFile(file) as open_file:
        open_file.append(ROW)
        assert file.stat().st_mode & 0o004
        open_file.append({**ROW, "sensitive": True})
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_row_that_cannot_be_written_is_an_error(file: Path) -> None:
    file.symlink_to("/dev/full")
    with TrialFile(file.parent / "none") as open_file:
        open_file.path = file
        with pytest.raises(errors.MipselectError, match="No space left"):
            open_file.append(ROW)
