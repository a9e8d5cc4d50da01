"""Elements of a privacy card: the card, its parts and their entries; and its pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mipselect.documents.blocks import Block, Document, Heading, KeyedTable
from mipselect.documents.html import html_page
from mipselect.documents.markdown import markdown_page


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
