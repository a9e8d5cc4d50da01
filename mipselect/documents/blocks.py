"""Blocks of a document: texts without any markup, which a page escapes when it shows them."""

from __future__ import annotations

import math
from dataclasses import dataclass

MARGIN = 0.05
"""Share of the span of a plot that is left free at both ends."""


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 to 6."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """A few sentences."""

    text: str


@dataclass(frozen=True)
class Alert:
    """A warning that cannot be overlooked."""

    text: str


@dataclass(frozen=True)
class Cited:
    """A text that ends with a link for reading; the address is one of ours, never of a file."""

    text: str
    words: str
    address: str


@dataclass(frozen=True)
class BulletList:
    """A list of short texts."""

    items: tuple[str | Cited, ...]


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Attributes
    ----------
    titles : tuple of str
    rows : tuple of tuple of str
    numbers : tuple of str
        Titles of the columns that stand to the right.
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeyedTable:
    """A table without titles: names and what belongs to them; None is to be filled in by people.

    Attributes
    ----------
    rows : tuple of (str, str or None, str)
        A name, its text, and what to fill in where there is no text.
    """

    rows: tuple[tuple[str, str | None, str], ...]


@dataclass(frozen=True)
class PlotRow:
    """A point with its interval.

    Attributes
    ----------
    label : str
    value : float or None
        None where there is nothing to draw: `note` says why.
    low, high : float or None
        None without an interval; infinite where an end is open.
    note : str
        Stands at the end of the row.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class IntervalPlot:
    """Points with intervals beside a line at 0, one row each, on one axis.

    Attributes
    ----------
    rows : tuple of PlotRow
    axis : str
        What the axis shows.
    ratios : bool
        Whether positions are logarithms of what is shown at the ticks.
    """

    rows: tuple[PlotRow, ...]
    axis: str
    ratios: bool = False

    @property
    def span(self) -> tuple[float, float]:
        """Both ends of the axis: 0, every point and every end of an interval lie within."""
        shown = [0.0]
        for row in self.rows:
            numbers = [row.value, row.low, row.high]
            shown += [x for x in numbers if x is not None and math.isfinite(x)]
        low, high = min(shown), max(shown)
        margin = MARGIN * (high - low) if high > low else 1.0
        return low - margin, high + margin

    def place(self, number: float) -> float:
        """Return the position on the axis, between 0 and 1; an infinite number lies at an end."""
        low, high = self.span
        if math.isinf(number):
            return 0.0 if number < 0.0 else 1.0
        return (number - low) / (high - low)


Block = Heading | Paragraph | Alert | BulletList | TextTable | KeyedTable | IntervalPlot


@dataclass(frozen=True)
class Document:
    """A title and the blocks below it."""

    title: str
    blocks: tuple[Block, ...]
