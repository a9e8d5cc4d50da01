"""How a command begins: what is loaded, signals, closed streams, commands of other packages."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

import mipselect
from mipselect.cli import commands, start
from mipselect.cli.commands import GROUP, OWN, known_commands
from mipselect.cli.extension import command, options, required
from mipselect.cli.start import WORDS, Interruptions


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
    for name in (*mipselect.__all__, *mipselect._ROOMS):
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
    with Interruptions() as interruptions:
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        interruptions.raise_from_now_on()
        os.kill(os.getpid(), signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert interruptions.exit_code == 143
        assert interruptions.message.startswith("terminated: nothing was released")
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
