"""Panels of --help: no title is cut in a terminal of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from mipselect.cli.commands import imported, known_commands
from mipselect.cli.declared import declared_of

COLUMNS = 80


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command, or those of a group."""
    if hasattr(command, "commands"):
        for inner, each in command.commands.items():
            yield from commands(f"{name} {inner}", each)
    else:
        yield name, command


EVERY = dict(pair for name in sorted(known_commands()) for pair in commands(name, imported(name)))


@pytest.mark.parametrize("name", EVERY)
def test_titles_stand_whole_in_80_columns(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    command = EVERY[name]
    with pytest.raises(SystemExit):
        command.main(["--help"], prog_name=name)
    text = capsys.readouterr().out
    titles = {option.words["rich_help_panel"] for option in declared_of(command.callback)}
    bars = [line for line in text.splitlines() if line.startswith("╭")]
    assert bars
    assert all(len(bar) == COLUMNS and re.fullmatch("╭─ .+ ─+╮", bar) for bar in bars)
    for title in titles - {None}:
        assert any(bar.startswith(f"╭─ {title} ─") for bar in bars), title
