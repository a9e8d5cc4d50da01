"""Elements of a privacy card: its parts and entries, its pages, and the blanks that people fill in.

What only people know of a release stands in a TOML file of facts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mipselect.documents.blocks import Block, Document, Heading, KeyedTable
from mipselect.documents.html import html_page
from mipselect.documents.markdown import markdown_page
from mipselect.errors import InvalidInput
from mipselect.toml_files import read_toml
from mipselect.validation import checked_line, did_you_mean, listed, shown

BLANKS = {
    "Name of the study": "a title and a reference number",
    "Data curator": "who holds the data and answers for the release",
    "Intended use": "what the release is for, and who will read it",
    "People in the data": "who they are, where and when data were collected",
    "Date and place of publication": "when and where it is published",
    "Legal basis and approval": "consent, law, the vote of the ethics board",
    "Privacy unit": "whom one row stands for; one person must be in one row",
    "Who had access to the data": "names or roles, before the release",
    "Other releases from the same data": (
        "their privacy losses add to this one; also of releases by other software"
    ),
    "Where the public settings came from": (
        "bounds, ridge, size, ε and δ must have been chosen without looking at these data"
    ),
    "Preparation of the data": "what was done before, by public rules only",
}
"""Entries that only people know, and a hint for each."""

LARGEST = 100_000
"""Bytes of a file of facts."""

LONGEST = 2_000
"""Characters of one fact."""


@dataclass(frozen=True)
class Entry:
    """One field; without a text it is to be filled in by people, and `hint` says with what."""

    name: str
    text: str | None
    hint: str = ""


@dataclass(frozen=True)
class CardPart:
    """One part of a card."""

    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Card:
    """A privacy card."""

    title: str
    parts: tuple[CardPart, ...]

    def blocks(self, level: int) -> Iterator[Block]:
        """Yield a heading of this level and a table for each part."""
        for part in self.parts:
            yield Heading(level, part.title)
            yield KeyedTable(tuple((entry.name, entry.text, entry.hint) for entry in part.entries))

    @property
    def document(self) -> Document:
        """The card by itself."""
        return Document(self.title, tuple(self.blocks(level=2)))

    def html(self) -> str:
        """Write the card as one HTML file that loads nothing."""
        return html_page(self.document)

    def markdown(self) -> str:
        """Write the card as Markdown."""
        return markdown_page(self.document)


def blank(name: str, text: str | None = None) -> Entry:
    """Return an entry of `BLANKS`, which people fill in where nothing is known."""
    return Entry(name, text, BLANKS[name])


def blank_facts(card: Card) -> str:
    """Write a file with a line for each blank, for people to fill in."""
    lines = ["# Facts for 'mipselect card' and 'mipselect report', with --facts. They are printed."]
    for part in card.parts:
        for entry in part.entries:
            if entry.text is None:
                lines += ["", f"# {entry.hint}", f'{json.dumps(entry.name)} = ""']
    return "\n".join([*lines, ""])


def read_facts(path: Path | None) -> dict[str, str]:
    """Read the facts of a file, none without one; blanks that are still empty are left out.

    Raises
    ------
    InvalidInput
        For a name that is none of `BLANKS`, and for what is no text.
    """
    if path is None:
        return {}
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
            replace(
                part,
                entries=tuple(
                    replace(one, text=facts.get(one.name)) if one.text is None else one
                    for one in part.entries
                ),
            )
            for part in card.parts
        ),
    )
