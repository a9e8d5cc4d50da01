"""Blocks of a document: texts without any markup, which a page escapes when it shows them."""

from __future__ import annotations

import math
from dataclasses import dataclass

WIDE = 5
"""Columns from which on a table has a list for each row on a phone."""

MARGIN = 0.05
"""Share of the span of a plot that is left free at both ends."""

STEPS = (1.0, 2.0, 5.0, 10.0)
RATIOS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
MOST = 5
"""Ticks at most; on a phone more of them run into each other."""


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

    @property
    def wide(self) -> bool:
        """True from `WIDE` columns on."""
        return len(self.titles) >= WIDE


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

    @property
    def ends(self) -> list[float]:
        """Ends of the interval that are not open."""
        return [end for end in (self.low, self.high) if end is not None and math.isfinite(end)]


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

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round positions on the axis, with their texts."""
        return (ratio_ticks if self.ratios else linear_ticks)(*self.span)


Block = Heading | Paragraph | Alert | BulletList | TextTable | KeyedTable | IntervalPlot


@dataclass(frozen=True)
class Document:
    """A title and the blocks below it."""

    title: str
    blocks: tuple[Block, ...]


def linear_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round positions from `low` to `high`, 0 among them if it lies between, with their texts."""
    least = (high - low) / MOST
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * one for one in STEPS if power * one >= least * (1.0 - 1e-9))
    first, last = math.ceil(low / step), math.floor(high / step)
    return [(k * step, f"{k * step:.6g}") for k in range(first, last + 1)]


def ratio_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return logarithms of round ratios from `low` to `high`, with the ratios as texts."""
    found = {0.0: "×1"} if low <= 0.0 <= high else {}
    for ratio in RATIOS[1:]:
        for sign, text in ((1.0, f"×{ratio:g}"), (-1.0, f"÷{ratio:g}")):
            position = sign * math.log(ratio)
            if low <= position <= high:
                found[position] = text
    apart = (high - low) / (MOST + 1)
    kept: list[float] = []
    for position in sorted(found, key=abs):
        if all(abs(position - other) >= apart for other in kept):
            kept.append(position)
    return [(position, found[position]) for position in sorted(kept)]
