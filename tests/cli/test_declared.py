"""Options as fields of dataclasses: what typer reads of them, and what a command gets."""

from __future__ import annotations

import pytest
import typer

from mipselect.cli.commands import typed
from mipselect.cli.declared import given, refuse
from mipselect.cli.extension import argument, command, group, option, options, required
from mipselect.errors import InvalidInput


@options
class Depth:
    PANEL = "Depth"

    metres: float | None = option("--metres", "How deep.", show_default="not")
    delta: float = option("--delta", "Of the depth.", default=0.5, panel="Elsewhere")


@options
class Dive:
    """Arguments with two groups, one of them without an option of the same name as its own."""

    delta: int | None = option("--delta", "Of the dive.")
    depth: Depth = group(Depth, without=("--delta",), help={"--metres": "How deep a dive."})
    site: str = required("--site", "Where.")
    names: list[str] = argument("NAME", "Who.")
    night: bool = option("--night", "By night.", default=False)


def called(*arguments: str) -> Dive:
    """What a command gets."""
    got: list[Dive] = []

    @command
    def dive(arguments: Dive) -> None:
        """Dive."""
        got.append(arguments)

    app = typer.Typer()
    app.command()(typed("dive", dive))
    app(args=arguments, standalone_mode=False)
    return got[0]


def test_a_command_gets_its_dataclass() -> None:
    assert called("Ann", "Bo", "--site", "reef", "--metres", "3", "--delta", "7") == Dive(
        names=["Ann", "Bo"], site="reef", depth=Depth(metres=3.0, delta=0.5), delta=7
    )


def test_help_has_the_words_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IndexError):
        called("--help")
    text = capsys.readouterr().out
    assert "How deep a dive." in text
    assert "Of the dive." in text
    assert "─ Depth ─" in text
    assert "Elsewhere" not in text


def test_arguments_are_missed_first_and_then_what_must_be_given() -> None:
    for arguments, missed in (((), "NAME"), (("Ann",), "--site")):
        with pytest.raises(typer.BadParameter.__mro__[1]) as raised:
            called(*arguments)
        assert missed in raised.value.format_message()


def test_what_was_given_is_what_is_not_at_its_default() -> None:
    dive = Dive(names=["Ann"], site="reef", depth=Depth(metres=0.0, delta=0.5), night=True)
    assert given(dive) == {"--metres": 0.0, "--night": True}
    refuse(Depth(), "is not for snorkels")
    with pytest.raises(InvalidInput, match=r"^--metres is not for snorkels$"):
        refuse(Depth(metres=0.0), "is not for snorkels")
