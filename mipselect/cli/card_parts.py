"""Elements of a privacy card: the card, its parts and their entries."""

from __future__ import annotations

from dataclasses import dataclass


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
