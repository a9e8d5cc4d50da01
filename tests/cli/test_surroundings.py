"""How a command begins and ends: exit codes, streams, signals, help, commands of others."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, version
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import mipselect
from mipselect.cli import commands, output, start
from mipselect.cli.commands import GROUP, OWN, known_commands, runs_of
from mipselect.cli.declared import command, declared_of, options, required
from mipselect.cli.progress import Watch
from mipselect.cli.start import WORDS, interruption, let_signals_raise, signals_handled
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
    for name in ("solve", "release", "select"):
        text = run(name, "--help")
        assert text.code == 0
        assert f"mipselect {name}" in text.out
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
        own = copied[0].startswith(f"mipselect {name} ")
        assert [line in lines for line in copied] == [own] * len(copied), example
        assert all(line.endswith(" \\") for line in copied[:-1]), example


@pytest.mark.deep
def test_nothing_that_takes_time_is_loaded_before_signals_are_caught() -> None:
    program = "import sys, mipselect.cli; print([m for m in ('numpy', 'rich') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert shown.stdout == b"[]\n"


@pytest.mark.deep
def test_nothing_runs_after_the_answer() -> None:
    program = (
        "import sys; from mipselect.cli import main\n"
        "class Late:\n    def __del__(self): print('late')\n"
        "late = Late(); sys.argv = ['mipselect', sys.argv[1]]; sys.exit(main())"
    )
    for asked, code in (("--version", 0), ("--absent", 2)):
        command = [sys.executable, "-c", program, asked]
        shown = subprocess.run(command, capture_output=True, check=False)
        assert (shown.returncode, b"late" in shown.stdout) == (code, False)


def test_every_public_name_is_there() -> None:
    assert "Instance" in mipselect.__all__
    for name in mipselect.__all__:
        assert getattr(mipselect, name).__name__.endswith(name)
        assert name in dir(mipselect)
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        mipselect.absent  # noqa: B018


@pytest.fixture
def handlers() -> object:
    before = {number: signal.getsignal(number) for number in WORDS}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_that_are_ignored_stay_ignored(handlers: object) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with signals_handled():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        let_signals_raise()
        os.kill(os.getpid(), signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        message, code = interruption()
        assert code == 143
        assert message.startswith("terminated: nothing was released")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_without_a_standard_output_nothing_is_begun(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert start.main(["--version"]) == 1
    assert "standard output is closed" in capsys.readouterr().err


def test_a_message_is_one_printable_line_of_sensible_length() -> None:
    assert start.one_line("a\n b\x1b[31m\x00ε\u202e") == "a b\\x1b[31m\\x00ε\\u202e"
    assert len(start.one_line("n" * 100_000)) < 2_100


def test_what_cannot_be_said_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("no space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    start.say("nobody hears this")


@pytest.mark.deep
def test_files_never_take_the_numbers_of_closed_streams(tmp_path: Path) -> None:
    program = (
        "import sys; from mipselect.cli import start; start.prepare(); "
        f"sys.exit(open({str(tmp_path / 'file')!r}, 'w').fileno())"
    )
    command = f"exec '{sys.executable}' -c \"{program}\" <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], check=False).returncode > 2


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """The entry points that are there, to be filled by a test."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(commands, "entry_points", lambda group: points if group == GROUP else [])
    known_commands.cache_clear()
    yield points
    known_commands.cache_clear()


@options
class HelloArguments:
    name: str = required("--name", "Whom to greet.")


@command
def hello(arguments: HelloArguments) -> None:
    """Say hello."""
    print(f"hello {arguments.name}")


def test_a_command_of_another_package_runs_and_never_in_the_place_of_our_own(
    entry_points: list[EntryPoint],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = ModuleType("guests")
    line = ("guests", "Say hello.")
    module.hello, module.COMMANDS = hello, {"hello": line, "select": ("guests", "Another one.")}
    monkeypatch.setitem(sys.modules, "guests", module)
    entry_points.append(EntryPoint("guests", "guests:COMMANDS", GROUP))
    entry_points.append(EntryPoint("gone", "no_such_package.commands:COMMANDS", GROUP))
    known = known_commands()
    assert list(known) == [*OWN, "hello"]
    assert known["hello"] == line
    assert known["select"] == ("mipselect.cli.select", OWN["select"])
    # One that cannot be loaded is named, and nothing else fails.
    assert "no_such_package.commands:COMMANDS cannot be loaded" in capsys.readouterr().err
    commands.imported("hello").main(["--name", "Ada"], standalone_mode=False)
    assert capsys.readouterr().out == "hello Ada\n"


def test_the_reproduction_of_the_papers_is_found_after_our_own() -> None:
    names = list(known_commands())
    assert names[: len(OWN)] == list(OWN)
    assert "reproduce" in names[len(OWN) :]
