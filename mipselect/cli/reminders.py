"""Reminders of a look at the table before a draw; they depend on names alone, not on rows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from mipselect.cli.streams import say
from mipselect.tables.described import looking_like_identifiers
from mipselect.validation import listed

OF_CHECK = ("--never", "--range")
"""Options of a draw that its check must have too."""

ONLY_NUMBERS = (
    "Without a schema every column is read as a number. One with text or gaps is refused when "
    "rows are read, before anything is paid."
)


def reminders_of_a_plan(head: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what to look at before a draw from a table; nothing for an instance.

    Parameters
    ----------
    head : mapping
        First entries of the report of a task.
    asked : mapping
        Options about a table with a schema as they were given, by their names.
    """
    if "schema" in head:
        return (expected_check(head, asked),)
    return (ONLY_NUMBERS,) if "target" in head else ()


def note_of_identifiers(head: Mapping[str, Any], names: Sequence[str]) -> None:
    """Print which features of a table without a schema look like identifiers, by their names."""
    if "schema" in head or "target" not in head:
        return
    alike, looks = looking_like_identifiers(names)
    if alike:
        leave = "it leaves it" if len(alike) == 1 else "them leaves them"
        say(f"note: {listed(alike)} {looks}, and may be drawn; --features without {leave} out.")


def expected_check(head: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Say which check of a table with a schema comes before a draw."""
    names = ("data", "--schema", "schema", "--target", "target")
    words = [str(head.get(name, name)) for name in names]
    for name in ("delimiter", "encoding", "sheet"):
        words += [f"--{name}", str(head[name])] if name in head else []
    for option in OF_CHECK:
        value = asked.get(option, [])
        for each in value if isinstance(value, list) else [value]:
            words += [option, str(each)]
    return f"Expects that the curator has looked at: mipselect check {shlex.join(words)}"
