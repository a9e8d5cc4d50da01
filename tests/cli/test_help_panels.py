"""Panels of --help: no title is cut in a terminal of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from mipselect.cli.commands import known_commands, runs_of
from mipselect.cli.declared import declared_of
from tests.support.commandline import Run

COLUMNS = 80
EVERY = [(name, run) for name in known_commands() for run in runs_of(name)]


@pytest.mark.parametrize(("name", "command"), EVERY)
def test_titles_stand_whole_in_80_columns(
    run: Run, name: str, command: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    inner = [command.__name__.replace("_", "-")] if len(runs_of(name)) > 1 else []
    text = run(name, *inner, "--help").out
    titles = {option.words["rich_help_panel"] for option in declared_of(command)}
    bars = [line for line in text.splitlines() if line.startswith("╭")]
    assert bars
    assert all(len(bar) == COLUMNS and re.fullmatch("╭─ .+ ─+╮", bar) for bar in bars)
    for title in titles - {None}:
        assert any(bar.startswith(f"╭─ {title} ─") for bar in bars), title
