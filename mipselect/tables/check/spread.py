"""`Spread`: where the numbers of a field lie beside its range, in bounded memory. SENSITIVE."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

PARTS = 1000
"""Parts of a range that values are counted in."""

TAIL = 0.005
"""Share of the values on either side of the middle 99 %."""

MOST_REMEMBERED = 1000
"""Different values far from the range that are counted at a time."""

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
    far : Counter of float
        These values, at most `MOST_REMEMBERED` different ones.
    """

    low: float
    high: float
    parts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(PARTS, np.int64))
    far_below: int = 0
    far_above: int = 0
    far: Counter[float] = field(default_factory=Counter)

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Count numbers, none of them NaN."""
        width = self.high - self.low
        at = (np.clip(numbers, self.low, self.high) - self.low) * (PARTS / width)
        places = np.minimum(at.astype(np.int64), PARTS - 1)
        self.parts += np.bincount(places, minlength=PARTS)
        below, above = numbers < self.low - width, numbers > self.high + width
        self.far_below += int(below.sum())
        self.far_above += int(above.sum())
        values, counts = np.unique(numbers[below | above], return_counts=True)
        self.far.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        if len(self.far) > MOST_REMEMBERED:
            self.far = Counter(dict(self.far.most_common(MOST_REMEMBERED)))

    @property
    def most_frequent_far(self) -> tuple[float, int] | None:
        """The most frequent value that is far from the range, and its rows; None without any."""
        return max(self.far.items(), key=lambda pair: (pair[1], pair[0]), default=None)

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

    def _ends(self) -> tuple[int, int] | None:
        """Return the first and the last part of the middle 99 %; None for few values."""
        total = int(self.parts.sum())
        if total < LEAST_VALUES:
            return None
        up_to = np.cumsum(self.parts)
        first, last = np.searchsorted(up_to, [TAIL * total, (1.0 - TAIL) * total]).tolist()
        return first, last
