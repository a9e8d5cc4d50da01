"""Facts that only people know of a release, in a TOML file: the blanks of a privacy card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mipselect.cli.card_content import BLANKS
from mipselect.cli.card_parts import Card, Entry
from mipselect.cli.toml_files import read_toml
from mipselect.errors import InvalidInput
from mipselect.validation import checked_line, did_you_mean, listed, shown

LARGEST = 100_000
"""Bytes of a file of facts."""

LONGEST = 2_000
"""Characters of one fact."""


def blank_facts(card: Card) -> str:
    """Write a file with a line for each blank, for people to fill in."""
    lines = ["# Facts for 'mipselect card' and 'mipselect report', with --facts. They are printed."]
    for part in card.parts:
        for entry in part.entries:
            if entry.text is None:
                lines += ["", f"# {entry.hint}", f'{json.dumps(entry.name)} = ""']
    return "\n".join([*lines, ""])


def read_facts(path: Path) -> dict[str, str]:
    """Read the facts of a file; blanks that are still empty are left out.

    Raises
    ------
    InvalidInput
        For a name that is none of `BLANKS`, and for what is no text.
    """
    facts = {}
    for name, text in read_toml(path, LARGEST).items():
        if name not in BLANKS:
            raise InvalidInput(
                f"{path}: {shown(name)} is no blank of a card; blanks are "
                f"{listed(list(BLANKS))}{did_you_mean(name, BLANKS)}"
            )
        if not isinstance(text, str):
            raise InvalidInput(f"{path}: {shown(name)} must be a text, got {shown(text)}")
        if words := " ".join(text.split()):
            facts[name] = checked_line(words, f"{path}: {shown(name)}", LONGEST)
    return facts


def with_facts(card: Card, facts: Mapping[str, str]) -> Card:
    """Put facts into the blanks of a card; what it says itself stays."""
    return replace(
        card,
        parts=tuple(
            replace(part, entries=tuple(_with_fact(entry, facts) for entry in part.entries))
            for part in card.parts
        ),
    )


def _with_fact(entry: Entry, facts: Mapping[str, str]) -> Entry:
    return replace(entry, text=facts.get(entry.name)) if entry.text is None else entry
