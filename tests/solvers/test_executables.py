"""Executables: their processes end at the time limit, and nothing sensitive is left behind."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from mipselect.backends import MipStatus, available_solvers, solver_by_name
from tests.support.wants import skip_for_want_of, wants

pytestmark = wants("shell scripts and signals", os.name == "posix")

EXECUTABLES = [("cbc", "cbc"), ("glpk", "glpsol")]

SLOW = """#!/bin/sh
case "$*" in *.lp*)
    ls -ld "$TMPDIR"/* > {folder}/seen
    echo $$ > {folder}/process
    exec sleep 1000
esac
echo Version 9.9
"""


def slow(folder: Path, executable: str) -> None:
    """An executable that says its version, and of a model nothing for ever."""
    script = folder / executable
    script.write_text(SLOW.format(folder=folder))
    script.chmod(0o755)


def written(file: Path) -> str:
    for _ in range(600):
        if file.exists() and file.read_text().strip():
            return file.read_text().strip()
        time.sleep(0.05)
    raise AssertionError(f"{file} was never written")


def has_ended(process: int) -> bool:
    for _ in range(100):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
        ).stdout.strip()
        if state in ("", "Z"):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.mark.parametrize(("name", "executable"), EXECUTABLES)
def test_a_process_past_its_time_limit_is_ended(
    name: str, executable: str, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(tmp_path, executable)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    master = solver_by_name(name).master(4, 2)
    master.add_cut(0.0, -np.ones(4))
    solution = master.solve(cutoff=math.inf, time_limit=2.0)
    assert (solution.status, solution.chosen) == (MipStatus.TIME_LIMIT, None)
    assert has_ended(int(written(tmp_path / "process")))
    assert written(tmp_path / "seen").startswith("drwx------")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("name", "executable"), EXECUTABLES)
def test_an_interrupt_leaves_no_model_and_no_process(
    name: str, executable: str, tmp_path: Path, temporary: Path
) -> None:
    slow(tmp_path, executable)
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            # Whoever starts the tests in the background has had interrupts ignored.
            "import math, numpy, signal\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from mipselect.backends import solver_by_name\n"
            f"master = solver_by_name({name!r}).master(4, 2)\n"
            "master.add_cut(0.0, -numpy.ones(4))\n"
            "master.solve(cutoff=math.inf, time_limit=math.inf)",
        ],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    )
    slept = int(written(tmp_path / "process"))
    assert len(list(temporary.glob("*/*.lp"))) == 1
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert has_ended(slept)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("name", ["cbc", "glpk"])
def test_a_solve_leaves_nothing_behind(name: str, temporary: Path) -> None:
    if name not in available_solvers():
        skip_for_want_of(name)
    master = solver_by_name(name).master(4, 2)
    master.add_cut(10.0, -np.arange(4.0) / 3.0)
    assert master.solve(cutoff=math.inf, time_limit=60.0).chosen.tolist() == [2, 3]
    assert list(temporary.iterdir()) == []
