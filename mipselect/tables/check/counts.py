"""`FieldCounts`: what one field holds, and where, in bounded memory. SENSITIVE."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.tables import values
from mipselect.tables.check.kinds import (
    FINE,
    KINDS,
    UNLISTED,
    UNREADABLE,
    FieldRule,
    kinds_of_codes,
)
from mipselect.tables.check.separators import doubtful_separators
from mipselect.tables.fields import Field
from mipselect.validation import printable

MOST_REMEMBERED = 1000
"""Different odd values of a field, or far from its range, that are counted at a time."""

MOST_BYTES = 80
"""Bytes of an odd value that are remembered."""

BEYOND_TEXTS = "a number from 2^53 on"

CODES = (7.0, 8.0, 9.0)
"""Digits that stand for no value where a number beyond the range has no other, as 9, -99 or 888."""

PARTS = 1000
"""Parts of a range that values are counted in."""

TAIL = 0.005
"""Share of the values on either side of the middle 99 %."""

LEAST_VALUES = 100
"""With fewer values the middle 99 % are all of them."""


@dataclass
class Spread:
    """Counts of numbers by the parts of a range, and of those far beyond it.

    Attributes
    ----------
    low, high : float
        The range.
    parts : int array, shape (1000,)
        Values of each part of the range; those beyond it are in its first and last part.
    far_below, far_above : int
        Values that are farther from the range than it is wide.
    suspects : Counter of float
        These values, and others beyond the range that are written as codes of no value are; at most
        `MOST_REMEMBERED` different ones.
    """

    low: float
    high: float
    parts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(PARTS, np.int64))
    far_below: int = 0
    far_above: int = 0
    suspects: Counter[float] = field(default_factory=Counter)

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Count numbers, none of them NaN."""
        width = self.high - self.low
        at = (np.clip(numbers, self.low, self.high) - self.low) * (PARTS / width)
        places = np.minimum(at.astype(np.int64), PARTS - 1)
        self.parts += np.bincount(places, minlength=PARTS)
        below, above = numbers < self.low - width, numbers > self.high + width
        self.far_below += int(below.sum())
        self.far_above += int(above.sum())
        outside = (numbers < self.low) | (numbers > self.high)
        suspect = below | above | (outside & written_as_codes(numbers, self.low))
        found, counts = np.unique(numbers[suspect], return_counts=True)
        self.suspects.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
        if len(self.suspects) > MOST_REMEMBERED:
            self.suspects = Counter(dict(self.suspects.most_common(MOST_REMEMBERED)))

    @property
    def most_frequent_suspect(self) -> tuple[float, int] | None:
        """The most frequent value that may be a code of no value, and its rows; None without."""
        return max(self.suspects.items(), key=lambda pair: (pair[1], pair[0]), default=None)

    @property
    def middle(self) -> float | None:
        """Share of the range that the middle 99 % of the values take up; None for few values."""
        ends = self._ends()
        return None if ends is None else (ends[1] - ends[0] + 1) / PARTS

    @property
    def reach(self) -> float | None:
        """Share of the range, from its low end, that holds all but the largest 0.5 %."""
        ends = self._ends()
        return None if ends is None else (ends[1] + 1) / PARTS

    @property
    def total(self) -> float:
        """Sum of the values, clipped to the range, in units of it and from its low end."""
        return float(self.parts @ (np.arange(PARTS) + 0.5)) / PARTS

    def _ends(self) -> tuple[int, int] | None:
        """Return the first and the last part of the middle 99 %; None for few values."""
        total = int(self.parts.sum())
        if total < LEAST_VALUES:
            return None
        up_to = np.cumsum(self.parts)
        first, last = np.searchsorted(up_to, [TAIL * total, (1.0 - TAIL) * total]).tolist()
        return first, last


def written_as_codes(numbers: NDArray[np.float64], low: float) -> NDArray[np.bool_]:
    """Tell which numbers are written as codes of no value are: -9, 88, 999; shape (n,).

    Where none is expected below 0 any whole number below it may be one.
    """
    whole = np.abs(numbers)
    digits = np.clip(np.floor(np.log10(np.maximum(whole, 1.0))), 0.0, 8.0)
    ones = np.floor(10.0 ** (digits + 1.0) / 9.0)  # 1, 11, 111, ...
    written: NDArray[np.bool_] = np.isin(whole / ones, CODES)
    if low >= 0.0:
        written |= (numbers < 0.0) & (whole == np.floor(whole))
    return written


@dataclass
class FieldCounts:
    """Counts of the values of one field.

    Attributes
    ----------
    rule : FieldRule
    kinds : int array, shape (6,)
        Values of each kind.
    categories : int array, shape (K,)
        Rows of each category; empty where there are none.
    lowest, highest : float
        Extremes of the numbers after clipping; only whether they differ is told.
    odd : Counter of bytes
        Values that are in no list or unreadable, at most `MOST_REMEMBERED` of them.
    spread : Spread or None
        Where the numbers lie beside their range, weights from 0 to their maximum; None where there
        is no range.
    doubtful : int
        Numbers whose text has a separator at a place that the schema does not mean.
    distinct : set of float
        Different numbers, as long as there are no more than two, and then some more.
    """

    rule: FieldRule
    kinds: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(KINDS), np.int64))
    categories: NDArray[np.int64] = field(init=False)
    lowest: float = np.inf
    highest: float = -np.inf
    odd: Counter[bytes | None] = field(default_factory=Counter)
    spread: Spread | None = field(init=False, default=None)
    doubtful: int = 0
    distinct: set[float] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.categories = np.zeros(len(self.rule.field.category_names), np.int64)
        low, high = 0.0 if self.rule.is_weight else self.rule.low, self.rule.high
        if low is not None and high is not None:
            self.spread = Spread(low, high)

    def add(self, column: pa.Array) -> None:
        """Count the values of a batch."""
        kinds = self.rule.kinds_of(column)
        self.kinds += np.bincount(kinds, minlength=len(KINDS))
        if self.rule.field.is_measured:
            numbers = values.numbers(column, self.rule.field)
            there = numbers[~np.isnan(numbers)]
            if len(there):
                ends = self.rule.low, self.rule.high
                clipped = there if ends == (None, None) else np.clip(there, *ends)
                self.lowest = min(self.lowest, float(clipped.min()))
                self.highest = max(self.highest, float(clipped.max()))
                if len(self.distinct) <= 2:
                    self.distinct.update(np.unique(there).tolist()[:3])
            if self.spread is not None:
                self.spread.add(there)
            doubtful = doubtful_separators(column, self.rule.field) & ~np.isnan(numbers)
            self.doubtful += int(doubtful.sum())
        elif self.rule.field.is_listed:
            codes = values.codes(column, self.rule.field)
            listed = codes[kinds_of_codes(codes) == FINE]
            self.categories += np.bincount(listed, minlength=len(self.categories))
        odd = np.flatnonzero((kinds == UNLISTED) | (kinds == UNREADABLE))
        if len(odd):
            self._remember(column.take(pa.array(odd)))

    @property
    def rows(self) -> int:
        """Rows that were counted."""
        return int(self.kinds.sum())

    @property
    def is_constant(self) -> bool:
        """True if all values that can be read become the same."""
        if self.rule.field.is_measured:
            return self.lowest == self.highest
        return int((self.categories > 0).sum()) == 1 and not self.kinds[UNLISTED]

    @property
    def only_two(self) -> tuple[float, float] | None:
        """The numbers, rising, where there are two."""
        if len(self.distinct) != 2:
            return None
        first, second = sorted(self.distinct)
        return first, second

    def most_frequent(self, most: int) -> tuple[tuple[str, int], ...]:
        """Return the most frequent odd values as printable texts, with their numbers of rows."""
        found: Counter[str] = Counter()
        for cell, count in self.odd.items():
            text = BEYOND_TEXTS if cell is None else cell.decode("utf-8", "backslashreplace")
            found[printable(text)] += count
        return tuple(sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:most])

    def _remember(self, column: pa.Array) -> None:
        """Count odd values; of too many different ones the most frequent stay."""
        plain = Field(self.rule.name, "string", missing_values=())
        counted = values.identities(column, plain).view(pa.binary()).value_counts()
        for entry in counted:
            cell = entry["values"].as_py()
            short = cell if cell is None or len(cell) <= MOST_BYTES else cell[:MOST_BYTES] + b"..."
            self.odd[short] += entry["counts"].as_py()
        if len(self.odd) > MOST_REMEMBERED:
            self.odd = Counter(dict(self.odd.most_common(MOST_REMEMBERED)))
