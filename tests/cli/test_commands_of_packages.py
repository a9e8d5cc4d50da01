"""Commands of other packages: found by their entry points, never in the place of our own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from mipselect.cli import commands
from mipselect.cli.commands import GROUP, OWN, known_commands
from mipselect.cli.extension import command, options, required


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """The entry points that are there, to be filled by a test."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(commands, "entry_points", lambda group: points if group == GROUP else [])
    known_commands.cache_clear()
    yield points
    known_commands.cache_clear()


def package(monkeypatch: pytest.MonkeyPatch, name: str, **found: tuple[str, str]) -> EntryPoint:
    module = ModuleType(name)
    module.COMMANDS = found
    monkeypatch.setitem(__import__("sys").modules, name, module)
    return EntryPoint(name, f"{name}:COMMANDS", GROUP)


@options
class HelloArguments:
    name: str = required("--name", "Whom to greet.")


@command
def hello(arguments: HelloArguments) -> None:
    """Say hello."""
    print(f"hello {arguments.name}")


def test_the_reproduction_of_the_papers_is_found_after_our_own() -> None:
    names = list(known_commands())
    assert names[: len(OWN)] == list(OWN)
    assert "reproduce" in names[len(OWN) :]


def test_a_command_of_another_package_runs(
    entry_points: list[EntryPoint],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entry_points.append(package(monkeypatch, "guests", hello=("guests", "Say hello.")))
    assert known_commands()["hello"] == ("guests", "Say hello.")
    __import__("sys").modules["guests"].hello = hello
    commands.imported("hello").main(["--name", "Ada"], standalone_mode=False)
    assert capsys.readouterr().out == "hello Ada\n"


def test_our_own_commands_cannot_be_replaced(
    entry_points: list[EntryPoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_points.append(package(monkeypatch, "guests", select=("guests", "Another one.")))
    module, line = known_commands()["select"]
    assert (module, line) == ("mipselect.cli.select", OWN["select"])


def test_a_package_that_cannot_be_loaded_is_named_and_nothing_else_fails(
    entry_points: list[EntryPoint], capsys: pytest.CaptureFixture[str]
) -> None:
    entry_points.append(EntryPoint("gone", "no_such_package.commands:COMMANDS", GROUP))
    assert list(known_commands()) == list(OWN)
    told = capsys.readouterr().err
    assert "no_such_package.commands:COMMANDS cannot be loaded" in told
