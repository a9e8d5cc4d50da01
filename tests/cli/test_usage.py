"""Exit codes, clean streams, help, and files that are written whole or not at all."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from mipselect.cli import output
from mipselect.cli.commands import known_commands, runs_of
from mipselect.cli.declared import declared_of
from mipselect.cli.progress import Watch
from mipselect.problem.stored import load_problem, public_problem
from mipselect.search.progress import Progress
from tests.support.commandline import Run

RELEASE = ("release", "diabetes", "--epsilon", "1")


def test_processes_end_with_the_same_codes(shell: Run, folder: Path) -> None:
    solved = shell("solve", "tiny-plain", "--solver", "highs", "--json")
    assert (solved.code, solved.err) == (0, "")
    assert solved.report["certified"] is True
    shell("solve", "paper-p100", "--time-limit", "1e-9").failed_with(1, "time limit")
    shell("release", folder / "absent.toml", "--epsilon", "1").failed_with(2, "no such file")


def test_help_and_version(run: Run) -> None:
    assert run("--version").out == f"mipselect {version('mipselect')}\n"
    for option in ("-h", "--help"):
        assert "select" in run(option).out
    for command in ("solve", "release", "select"):
        text = run(command, "--help")
        assert text.code == 0
        assert f"mipselect {command}" in text.out
        assert "Example" in text.out


def test_listings(run: Run) -> None:
    listed = run("instances", "--json").report["instances"]
    names = [entry["name"] for entry in listed]
    assert names == sorted(names)
    assert {"diabetes", "paper-p100", "paper-p1000", "tiny-groups"} <= set(names)
    for entry in listed:
        problem, n = public_problem(entry["name"])
        known = load_problem(entry["name"]).data.n if n is None else n
        said = (entry["n"], entry["p"], entry["n_features"], entry["support_size"])
        assert said == (known, problem.p, problem.n_features, problem.support_size)
        assert entry["description"]
    solvers = {entry["name"]: entry for entry in run("solvers", "--json").report["solvers"]}
    assert solvers["highs"]["usable"] is True
    assert "paper-p100" in run("instances").out
    assert "highs" in run("solvers").out


def test_interrupt_while_answering_counts_as_spent(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "text_console", interrupt)
    run(*RELEASE).failed_with(130, "its budget as spent")


@pytest.mark.deep
def test_json_survives_a_terminal_without_greek(folder: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for extra in ("--json",), ():
        done = subprocess.run(
            [sys.executable, "-m", "mipselect", *RELEASE, *extra],
            capture_output=True,
            env=environment,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
        if extra:
            assert json.loads(done.stdout)["private"] is True


@pytest.mark.parametrize("details", [True, False])
def test_progress_lines_are_rare_and_tell_only_what_they_may(
    details: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("mipselect.cli.progress.time.monotonic", lambda: now[0])
    report = Progress("level 2", 1.0, 0.125, 0.25, done=3, total=7, nodes=11)
    draw = Progress("cells", 1.0, -np.inf, np.inf, done=3, total=7, nodes=1234)
    with Watch("diabetes", details=details) as watch:
        for second in range(25):
            now[0] = float(second)
            watch(report)
        now[0] = 36.0
        watch(draw)
    captured = capsys.readouterr()
    assert captured.out == ""
    *lines, last = captured.err.splitlines()
    assert last == "mipselect: preparing an exact draw from diabetes, 36 s"
    assert len(lines) == 2
    for line in lines:
        assert ("sensitive" in line) is details
        assert ("level 2" in line) is details
        assert ("0.125" in line) is details


EVERY = [(name, run) for name in known_commands() for run in runs_of(name)]


@pytest.mark.parametrize(("name", "command"), EVERY)
def test_help_is_whole_on_a_common_terminal(
    run: Run, name: str, command: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Titles stand whole, words are those of the docstring, and examples can be copied."""
    monkeypatch.setenv("COLUMNS", "80")
    parts = runs_of(name)
    inner = [command.__name__.replace("_", "-")] if len(parts) > 1 else []
    shown = run(name, *inner, "--help").out.splitlines()
    titles = {option.words["rich_help_panel"] for option in declared_of(command)}
    bars = [line for line in shown if line.startswith("╭")]
    assert bars
    assert all(len(bar) == 80 and re.fullmatch("╭─ .+ ─+╮", bar) for bar in bars)
    for title in titles - {None}:
        assert any(bar.startswith(f"╭─ {title} ─") for bar in bars), title
    lines = [line.strip() for line in shown]
    first, *paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    if not inner:
        assert first.replace("\n", " ") == known_commands()[name][1]
        assert all(line in lines for each in paragraphs for line in each.splitlines())
    examples = getattr(inspect.getmodule(command), "EXAMPLES", "")
    for example in examples.strip().split("\n\n")[1:]:
        copied = [line.strip() for line in example.splitlines()]
        assert all(line in lines for line in copied), example
        assert all(line.endswith(" \\") for line in copied[:-1]), example
