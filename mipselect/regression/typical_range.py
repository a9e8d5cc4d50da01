"""`TypicalRange`: the part of a range where most values of a number lie, drawn with pure ε.

A coefficient costs as much noise as its column has range, and people state ranges in which all
values are possible. Most of them lie in a small part (docs/mathematics/regression.md, (10)).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.mechanisms.scores.noisy_max import (
    permute_and_flip,
    permute_and_flip_log_probability,
)
from mipselect.privacy.decimals import exact
from mipselect.privacy.guarantee import checked_relation
from mipselect.validation import checked_epsilon, set_fields

HALVINGS = (16, 11, 8, 6, 4, 3, 2)
"""Percent of the values that the first, second, ... halving of a range may lose; by experiment."""

GAINS = np.cumsum([0, *HALVINGS])

PERCENT = 100

FEW = 80.0
"""With more than FEW/ε values halvings may lose less than these percentages: √(n FEW/ε) count."""

MARGIN = 0.125
"""Share of its length by which an interval is longer on each side than where values count."""

LOG_2 = Fraction(math.log(2.0))

LESS_LIKELY = {"replace-one": Fraction(0), "add-remove": Fraction(1)}
"""Log of how much less likely every halving is without data. Where the number of rows is public
it is known beforehand if they are too few; where it is not, most draws from few keep the range."""


def _intervals() -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """Return the number of halvings and the ends of all intervals, shapes (c,); first [-1, 1].

    After l halvings they have the length 2/2^l, and every half of it one begins.
    """
    halvings, lows = [0], [-1.0]
    for level in range(1, len(HALVINGS) + 1):
        count = 2 ** (level + 1) - 1
        halvings += [level] * count
        lows += [-1.0 + k * 2.0**-level for k in range(count)]
    levels, low = np.array(halvings), np.array(lows)
    return levels, low, low + 2.0 * 2.0**-levels


LEVELS, LOWS, HIGHS = _intervals()
NARROWEST = float((HIGHS - LOWS).min())


@dataclass(frozen=True, eq=False)
class TypicalRange:
    """Permute-and-flip over intervals of [-1, 1], by the values in them and their length.

    The score of an interval after l halvings is the number of values in it and the percentages of
    its halvings of `weight`: another halving is worth so many values. A value on a boundary is in
    neither neighbour, so that many equal ones end up inside of an interval. Without data every
    length is as likely under replace-one, and a shorter one less so under add-remove.

    Parameters
    ----------
    values : ndarray of shape (n,)
        In [-1, 1], NaN where there is none. Sensitive.
    epsilon : float
    relation : {"replace-one", "add-remove"}

    References
    ----------
    docs/mathematics/regression.md, (10).

    Examples
    --------
    >>> import random
    >>> import numpy as np
    >>> from mipselect.regression.typical_range import TypicalRange
    >>> values = np.random.default_rng(0).normal(0.3, 0.02, 5000)
    >>> low, high = TypicalRange(values, epsilon=0.5).draw(random.Random(0))
    >>> 0.1 < low < 0.27 and 0.33 < high < 0.5
    True
    """

    values: FloatArray
    epsilon: float
    relation: str = "replace-one"

    gains: ClassVar[NDArray[np.int64]] = GAINS
    """Percent of `weight` that an interval is worth by its halvings."""

    longer: ClassVar[Mapping[str, Fraction]] = {
        relation: LOG_2 + less for relation, less in LESS_LIKELY.items()
    }
    """Log of how much likelier one interval is without data than one with one halving more."""

    def __post_init__(self) -> None:
        checked_epsilon(self.epsilon)
        checked_relation(self.relation, "relation")
        values = np.asarray(self.values, dtype=np.float64)
        set_fields(self, values=np.sort(values[~np.isnan(values)]))

    @property
    def spread(self) -> int:
        """Range over the intervals of how a score moves between neighbours, in hundredths.

        A value adds 1 where it lies and, where the weight rises, the gain of every interval.
        Replaced by another one the gains cancel; added, removed, or replaced by none they do not.
        """
        added = PERCENT + int(self.gains[-1])
        return {"replace-one": max(2 * PERCENT, added), "add-remove": added}[self.relation]

    @cached_property
    def scores(self) -> NDArray[np.int64]:
        """Scores of all intervals in hundredths, shape (c,)."""
        # [-1, 1] is the whole line: what lies on its ends, or rounds beyond, is inside.
        first = np.searchsorted(self.values, np.where(LOWS > -1.0, LOWS, -np.inf), side="right")
        last = np.searchsorted(self.values, np.where(HIGHS < 1.0, HIGHS, np.inf), side="left")
        found: NDArray[np.int64] = PERCENT * (last - first) + self.gains[LEVELS] * self.weight
        return found

    @property
    def weight(self) -> int:
        """m = ⌊min(n, √(n FEW/ε))⌋ of n values: it moves by at most 1 with n."""
        n = len(self.values)
        return min(n, math.isqrt(math.floor(n * Fraction(FEW) / exact(self.epsilon))))

    @property
    def _exponents(self) -> list[Fraction]:
        rate, halving = exact(self.epsilon) / self.spread, self.longer[self.relation]
        pairs = zip(self.scores.tolist(), LEVELS.tolist(), strict=True)
        return [rate * score - level * halving for score, level in pairs]

    def sample(self, source: random.Random) -> int:
        """Draw the index of an interval, exactly."""
        return permute_and_flip(self._exponents, source)

    def log_probability(self, index: int) -> float:
        """Return the log of the probability that `sample` returns `index`. Sensitive."""
        exponents = self._exponents
        best = max(exponents)
        utilities = np.array([float(one - best) for one in exponents])
        return permute_and_flip_log_probability(utilities, index)

    def draw(self, source: random.Random) -> tuple[float, float]:
        """Draw an interval and add the margin on both sides: its ends, within [-1, 1]."""
        return ends(self.sample(source))


def ends(index: int) -> tuple[float, float]:
    """Return the ends of an interval with its margins, within [-1, 1]."""
    margin = MARGIN * (HIGHS[index] - LOWS[index])
    low, high = LOWS[index] - margin, HIGHS[index] + margin
    return max(-1.0, float(low)), min(1.0, float(high))


def within(x: FloatArray, low: float, high: float) -> FloatArray:
    """Map [low, high] to [-1, 1] and clip what lies outside; shape (n,)."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    found: FloatArray = np.clip((x - middle) / half, -1.0, 1.0)
    return found
