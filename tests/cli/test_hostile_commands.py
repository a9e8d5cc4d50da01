"""Hostile input, each case with a name of its own, and surroundings that take a process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.support.hostile_cases import CASES, SCHEMA, Case, call_falls_short, from_python, judged
from tests.support.wants import wants

COMMAND = (sys.executable, "-m", "mipselect")
SHELL = f"'{sys.executable}' -m mipselect"
SECONDS = 300
LINE = "mipselect: error: "
WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def bare(**more: str) -> dict[str, str]:
    """An environment with nothing in it that changes what Python does with its streams."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/"), **more}


def signals_as_usual() -> None:
    """As in a terminal, also where the tests run in the background."""
    for number in WATCHED:
        signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def started(*arguments: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=bare(),
        cwd=folder,
        preexec_fn=signals_as_usual,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def catches(process: subprocess.Popen[str], number: int) -> bool:
    """Whether a process has a handler for a signal, as Linux tells."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


UNENDING = """
[instance]
support_size = 20
x_bound = 2.0
y_bound = 4.0
coef_bound = 2.0
ridge = 0.01
[data]
source = "correlated-gaussian"
n = 60
p = 300
rho = 0.5
snr = 0.01
support_size = 20
seed = 1
"""
"""Nearly nothing but noise: no machine certifies it, so it is still searched after any delay."""
SEARCH = ("release", "unending.toml", "--epsilon", "1", "--method", "top-r")
COMMANDS = {
    "select": ("select", "data.csv", "--target", "y"),
    "fit": ("fit", "data.csv", "--target", "y", "--epsilon", "1"),
    "predict": ("predict", "model.json", "data.csv"),
    "solve": ("solve", "paper-p1000"),
    "reproduce": ("reproduce", "mip-1a", "--quick"),
    "compare": ("compare", "tiny-plain"),
    "solvers": ("solvers",),
    "instances": ("instances",),
    "help": ("--help",),
}
"""Each is still loading its modules when it is interrupted at once."""


def signalled(number: int, delay: float, folder: Path, arguments: tuple[str, ...] = SEARCH) -> str:
    """A signal at this time after the command has begun, most of it while modules are loaded."""
    (folder / "unending.toml").write_text(UNENDING)
    with started(*arguments, folder=folder) as process:
        begun = time.monotonic()
        while not catches(process, signal.SIGTERM):
            if process.poll() is not None or time.monotonic() > begun + SECONDS:
                return "no handler was installed"
            time.sleep(0.001)
        time.sleep(delay)
        process.send_signal(number)
        out, err = process.communicate(timeout=SECONDS)
    return judged(process.returncode, out, err, 128 + number, ("nothing was released",))


def in_shell(command: str, code: int, words: tuple[str, ...], folder: Path) -> str:
    """A command of the shell; what it writes on standard error must be one line or nothing."""
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, encoding="utf-8", env=bare(), cwd=folder,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    if words:
        return judged(done.returncode, done.stdout, done.stderr, code, words)
    if (done.returncode, done.stdout, done.stderr) != (code, "", ""):
        return f"code {done.returncode}, {done.stdout[:200]!r}, {done.stderr[-300:]!r}"
    return ""


def unbuffered(folder: Path) -> str:
    command = f"PYTHONUNBUFFERED=1 {SHELL} release tiny-plain --epsilon 1 >/dev/full"
    return in_shell(command, 1, ("standard output",), folder)


def bad_backend(folder: Path) -> str:
    (folder / "schema.json").write_text(SCHEMA)
    options = "--target y --rows 99 --support-size 1 --epsilon 1 --plot x.svg"
    command = f"MPLBACKEND=nonsense {SHELL} plan --schema schema.json {options}"
    return in_shell(command, 2, ("MPLBACKEND",), folder)


PROCESSES: Mapping[str, Callable[[Path], str]] = {
    **{
        f"{signal.Signals(number).name} after {delay} s": partial(signalled, number, delay)
        for number, delay in (
            (signal.SIGINT, 0.0),
            (signal.SIGINT, 0.4),
            (signal.SIGINT, 1.2),
            (signal.SIGTERM, 0.2),
            (signal.SIGTERM, 2.0),
            (signal.SIGHUP, 0.8),
        )
    },
    **{
        f"SIGINT at once: {name}": partial(signalled, signal.SIGINT, 0.0, arguments=arguments)
        for name, arguments in COMMANDS.items()
    },
    **{
        f"full: {what}": partial(in_shell, f"{SHELL} {what} >/dev/full", 1, ("standard output",))
        for what in (
            "--version",
            "--help",
            "select --help",
            "solvers --json",
            "release tiny-plain --epsilon 1",
            "release tiny-plain --epsilon 1 --json",
        )
    },
    "full: unbuffered": unbuffered,
    "full: standard error": partial(in_shell, f"{SHELL} solve absent.toml 2>/dev/full", 2, ()),
    "closed: standard output": partial(
        in_shell, f"{SHELL} release tiny-plain --epsilon 1 >&-", 1, ("standard output is closed",)
    ),
    "closed: standard error": partial(in_shell, f"{SHELL} solve absent.toml 2>&-", 2, ()),
    "closed: both": partial(in_shell, f"{SHELL} --version >&- 2>&-", 1, ()),
    "closed: all three": partial(in_shell, f"{SHELL} instances <&- >&- 2>&-", 1, ()),
    "a bad MPLBACKEND": bad_backend,
}
"""By name: takes an empty folder, returns what is wrong, or "" if nothing is."""


on_linux = wants("/dev/full and /proc", sys.platform == "linux")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_input_is_one_clear_line(case: Case, tmp_path: Path) -> None:
    assert case.falls_short(tmp_path) == ""


def test_names_of_cases_are_their_own() -> None:
    names = [*(case.name for case in CASES), *from_python(), *PROCESSES]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("name", from_python())
def test_bad_arguments_are_one_clear_line(name: str) -> None:
    assert call_falls_short(from_python()[name]) == ""


@pytest.mark.deep
@on_linux
@pytest.mark.parametrize("name", PROCESSES)
def test_hostile_surroundings_end_in_one_line(name: str, tmp_path: Path) -> None:
    assert PROCESSES[name](tmp_path) == ""
