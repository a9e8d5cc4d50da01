"""Options as fields of dataclasses: what typer reads of them, and what a command gets."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest
import typer

from mipselect.cli.commands import typed
from mipselect.cli.declared import (
    argument,
    command,
    given,
    group,
    names_of,
    option,
    options,
    refuse,
    required,
)
from mipselect.errors import InvalidInput


@options
class Depth:
    """A group with a panel."""

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


@command
def dive(arguments: Dive) -> None:
    """Dive."""


def told(option: str) -> Any:
    return signature(typed("dive", dive)).parameters[option].annotation.__metadata__[0]


def test_a_command_gets_its_dataclass() -> None:
    assert called("Ann", "Bo", "--site", "reef", "--metres", "3") == Dive(
        names=["Ann", "Bo"], site="reef", depth=Depth(metres=3.0)
    )


def test_an_option_that_a_group_is_without_is_another_one() -> None:
    found = called("Ann", "--site", "reef", "--delta", "7")
    assert (found.delta, found.depth.delta) == (7, 0.5)


def test_arguments_come_first_and_then_what_must_be_given() -> None:
    made = typed("dive", dive)
    assert list(signature(made).parameters) == ["name", "site", "delta", "metres", "night"]
    assert made.__doc__ == "Dive."


def test_the_words_are_those_of_the_command() -> None:
    assert (told("metres").help, told("metres").show_default) == ("How deep a dive.", "not")
    assert (told("metres").rich_help_panel, told("delta").rich_help_panel) == ("Depth", None)
    assert names_of(Depth) == ("--metres", "--delta")


def test_what_was_given_is_what_is_not_at_its_default() -> None:
    dive = Dive(names=["Ann"], site="reef", depth=Depth(metres=0.0, delta=0.5), night=True)
    assert given(dive) == {"--metres": 0.0, "--night": True}
    refuse(Depth(), "is not for snorkels")
    with pytest.raises(InvalidInput, match=r"^--metres is not for snorkels$"):
        refuse(Depth(metres=0.0), "is not for snorkels")
