"""`IntervalLaw`: an interval that holds most values of a column, from a public list of intervals.

The exponential mechanism over intervals of many sizes and places, with public weights. Its scores
count values and the public weights are integers, so draws are exact. The list is never written
down: of the intervals that hold no value only their weight is needed
(docs/mathematics/regression.md, (10)).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms.scores.utilities import reach, spendable
from mipselect.privacy.decimals import exact
from mipselect.privacy.randomness import IntegerWeights
from mipselect.validation import checked_epsilon, checked_integer, set_fields

BEYOND = 2.0**90
"""Values from here on lie in no interval."""

PERCENT = 100
PARTS = 20
"""The share of values that should lie outside is so many parts of this."""

FEW = 80.0
"""With more than FEW/ε values halvings may lose less than their percentages: √(n FEW/ε) count."""

OCTAVES = 21
"""Most octaves of places, so that the weights of those of one size are below 2^53 together."""

OF_PLACES = [1 << 30, *(2 << (30 + m - 3 * m // 2) for m in range(OCTAVES))]
"""Weights of the place 0, and of the places ± 2^m .. 2^(m+1) - 1 together, near |place|^(-3/2)."""


def weights_of_places(places: IntArray) -> IntArray:
    """Compute public weights without that of the size, shape (c,); below 2^53 together."""
    _, bits = np.frexp(np.abs(places).astype(np.float64))
    octaves = np.maximum(bits.astype(np.int64) - 1, 0)
    weights: IntArray = np.int64(1) << (30 - 3 * octaves // 2)
    return weights


@dataclass(frozen=True)
class ListedInterval:
    """[(place - 1) h, (place + 1) h) with the half width h = 2^exponent."""

    exponent: int
    place: int

    @property
    def half_width(self) -> float:
        """h."""
        return math.ldexp(1.0, self.exponent)

    def wider(self, factor: float) -> tuple[float, float]:
        """Return the ends of an interval with the same middle that is so many times as wide."""
        middle, half = self.place * self.half_width, factor * self.half_width
        return middle - half, middle + half


@dataclass(frozen=True)
class IntervalList:
    """A public list of intervals: all places |j| < 2^octaves of each half width.

    Attributes
    ----------
    first : int
        Exponent of the smallest half width; that of the next step is twice as large.
    weights : tuple of int
        Public weight of the half width of each step.
    octaves : tuple of int
        By step; at most `OCTAVES`.
    gains : tuple of int
        By step: percent of the values that an interval is worth by its size, at most 100.
    """

    first: int
    weights: tuple[int, ...]
    octaves: tuple[int, ...]
    gains: tuple[int, ...]

    @property
    def total(self) -> int:
        """Weight of the whole list, below 2^63."""
        of_places = map(self.weight_of_places, range(len(self.weights)))
        return sum(w * each for w, each in zip(self.weights, of_places, strict=True))

    def weight_of_places(self, step: int) -> int:
        """Return the weight of all places of a size, without that of the size."""
        return sum(OF_PLACES[: self.octaves[step] + 1])

    def weight(self, interval: ListedInterval) -> int:
        """Return the public weight of an interval."""
        (of_place,) = weights_of_places(np.array([interval.place])).tolist()
        return int(self.weights[interval.exponent - self.first] * of_place)

    def place(self, step: int, source: random.Random) -> int:
        """Draw a place of a size by the public weights alone."""
        upto = list(accumulate(OF_PLACES[: self.octaves[step] + 1]))
        point = source.randrange(upto[-1])
        octave = next(m for m, end in enumerate(upto, -1) if point < end)
        if octave < 0:
            return 0
        return source.randrange(1 << octave, 2 << octave) * source.choice((-1, 1))


EVERYWHERE = IntervalList(
    first=-64,
    weights=tuple(1 << (20 if k < -6 else max(20 - k, 0)) for k in range(-64, 62)),
    octaves=(OCTAVES,) * 126,
    gains=(0,) * 126,
)
"""Intervals of numbers of any size; where many are as good, a narrow one is drawn."""


def halves(*percent: int, times: int = 1) -> IntervalList:
    """List [-1, 1), its halves, their halves, ..., each overlapping the next by half.

    Parameters
    ----------
    *percent : int
        Of the values that the first, second, ... halving may lose.
    times : int
        How much likelier a place of a length is than the same of half of it, without data.
    """
    levels = len(percent)
    return IntervalList(
        first=-levels,
        weights=tuple(times**step for step in range(levels + 1)),
        octaves=tuple(range(levels, -1, -1)),
        gains=tuple(accumulate(percent, initial=0))[::-1],
    )


HALVINGS = (16, 11, 8, 6, 4, 3, 2)
"""Percent of the values of a feature, by experiment."""

WITHIN = {"replace-one": halves(*HALVINGS), "add-remove": halves(*HALVINGS, times=4)}
"""Parts of the range of a number among the features. Where the number of rows is public it is known
beforehand if they are too few; where it is not, most draws from few keep the range."""

OF_TARGET = halves(*[4] * 7)
"""Parts of the range of a target, by experiment: what lies outside of the part is not clipped, but
has little weight in Huber's loss."""

MARGIN = 0.125
"""Share of its length by which a part is longer on each side than where values count."""

NARROWEST = math.ldexp(2.0, -len(HALVINGS))
"""Length of the shortest part, without its margins."""


def part_of(
    values: FloatArray, epsilon: float, listed: IntervalList, source: random.Random
) -> tuple[float, float]:
    """Draw the part of [-1, 1] where most values lie, of shape (n,) and NaN where missing; ε.

    Examples
    --------
    >>> import random
    >>> import numpy as np
    >>> from mipselect.regression.typical_intervals import WITHIN, part_of
    >>> values = np.random.default_rng(0).normal(0.3, 0.02, 5000)
    >>> low, high = part_of(values, 0.5, WITHIN["replace-one"], random.Random(0))
    >>> 0.1 < low < 0.27 and 0.33 < high < 0.5
    True
    """
    return ends_of_part(law_of_part(values, epsilon, listed).sample(source))


def law_of_part(values: FloatArray, epsilon: float, listed: IntervalList) -> IntervalLaw:
    """Return the law of intervals of [-1, 1), by values in [-1, 1]; the last of these is inside."""
    return IntervalLaw(np.minimum(values, np.nextafter(1.0, 0.0)), epsilon, 0, listed)


def ends_of_part(interval: ListedInterval) -> tuple[float, float]:
    """Return the ends of an interval with its margins, within [-1, 1]."""
    low, high = interval.wider(1.0 + 2.0 * MARGIN)
    return max(-1.0, low), min(1.0, high)


class Size(NamedTuple):
    """All intervals of one half width that hold a value.

    Attributes
    ----------
    step : int
        The place of the half width in the list.
    places : ndarray of int64, shape (c,)
    inside : ndarray of int64, shape (c,)
        How many values each of them holds, at least 1. Sensitive.
    """

    step: int
    places: IntArray
    inside: IntArray


@dataclass(frozen=True, eq=False)
class IntervalLaw:
    """P(I) ∝ w_I exp(ε u(I)/2), u(I) = G_I m' - |out(I) - k m/20|, of m values.

    Outside of I lie out(I); G_I is the gain of its size; m' = ⌊min(m, √(80 m/ε))⌋. One of G and k
    is 0. Where a row is replaced, added or removed, or loses its value, all u(I) move
    within an interval of length 2, so ε holds under both relations.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Sensitive. NaN is no value and counts nowhere; an infinite one lies outside of all.
    epsilon : float
    outside : int
        k, from 0 to 19: about so many twentieths of the values should lie outside; public.
    listed : IntervalList
        The intervals, with the gains of their sizes; public.

    References
    ----------
    docs/mathematics/regression.md, (10).

    Examples
    --------
    >>> import random
    >>> import numpy as np
    >>> from mipselect.regression.typical_intervals import IntervalLaw
    >>> ages = np.random.default_rng(0).normal(50.0, 10.0, 5000)
    >>> low, high = IntervalLaw(ages, epsilon=1.0, outside=2).sample(random.Random(0)).wider(1.0)
    >>> low < 50.0 < high
    True
    """

    values: FloatArray
    epsilon: float
    outside: int
    listed: IntervalList = EVERYWHERE

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        set_fields(
            self,
            values=np.sort(np.clip(values[~np.isnan(values)], -BEYOND, BEYOND)),
            epsilon=checked_epsilon(self.epsilon),
            outside=checked_integer(self.outside, "outside", 0, PARTS - 1),
        )
        if self.outside and any(self.listed.gains):
            raise InvalidInput("outside must be 0 where sizes have gains")
        spendable(self.epsilon, self._log_total)

    def sample(self, source: random.Random) -> ListedInterval:
        """Draw an interval, with exactly the probabilities of integer weights."""
        scores, weights = self._levels
        level = self._law.draw(source)
        left = source.randrange(int(weights[level]))
        for size in self.occupied():
            weight = self.listed.weights[size.step]
            exponent = self.listed.first + size.step
            fits = np.flatnonzero(self._scores(size.step, size.inside) == scores[level])
            upto = weight * np.cumsum(weights_of_places(size.places[fits]))
            if upto.size and left < upto[-1]:
                place = size.places[fits[np.searchsorted(upto, left, side="right")]]
                return ListedInterval(exponent, int(place))
            left -= int(upto[-1]) if upto.size else 0
            if self._scores(size.step, 0) != scores[level]:
                continue
            if left < weight * self._empty(size):
                while (drawn := self.listed.place(size.step, source)) in size.places:
                    pass
                return ListedInterval(exponent, drawn)
            left -= weight * self._empty(size)
        raise AssertionError("the weights of a level are those of its intervals")

    def log_probability(self, interval: ListedInterval) -> float:
        """Return the log of the probability that `sample` returns an interval. Sensitive."""
        scores, weights = self._levels
        step = interval.exponent - self.listed.first
        level = int(np.searchsorted(scores, self._scores(step, self.inside(interval))))
        share = self.listed.weight(interval) / int(weights[level])
        return self._law.log_probability(level) + math.log(share)

    def inside(self, interval: ListedInterval) -> int:
        """Count the values that an interval holds. Sensitive."""
        steps = interval.exponent - self.listed.first
        cells = np.floor(np.ldexp(self._smallest_cells, -steps))
        low, high = np.searchsorted(cells, [interval.place - 1.0, interval.place + 1.0])
        return int(high - low)

    def occupied(self) -> Iterator[Size]:
        """List the intervals that hold a value, size by size.

        An interval is two cells side by side, and the cell of a value depends on this value alone.
        Half widths that are twice as large have ⌊⌊x⌋/2⌋ = ⌊x/2⌋.
        """
        cells = self._smallest_cells
        counts = np.ones(len(cells), dtype=np.int64)
        for step, octaves in enumerate(self.listed.octaves):
            first = np.flatnonzero(np.diff(cells, prepend=-np.inf))
            if first.size:
                cells, counts = cells[first], np.add.reduceat(counts, first)
            yield Size(step, *_pairs_of_cells(cells, counts, 2.0**octaves))
            cells = np.floor(cells / 2.0)

    @property
    def _log_total(self) -> float:
        return math.log(self.listed.total)

    @cached_property
    def gaining(self) -> int:
        """m': it moves by 0 or 1, the same way, where m moves by 1. Sensitive."""
        m = len(self.values)
        return min(m, math.isqrt(math.floor(m * Fraction(FEW) / exact(self.epsilon))))

    def _scores(self, step: int, inside: IntArray | int) -> IntArray:
        """Return u in hundredths, of intervals of a size by how many values they hold."""
        m = len(self.values)
        missed = np.abs(PERCENT * (m - np.asarray(inside)) - PERCENT // PARTS * self.outside * m)
        scores: IntArray = self.listed.gains[step] * self.gaining - missed
        return scores

    def _empty(self, size: Size) -> int:
        """Return the weight of the places of a size whose intervals hold nothing."""
        return self.listed.weight_of_places(size.step) - int(weights_of_places(size.places).sum())

    @cached_property
    def _levels(self) -> tuple[IntArray, IntArray]:
        """Rising scores of intervals, and the weights of those with each; shape (K,)."""
        scores, weights = [], []
        for size in self.occupied():
            held = np.bincount(size.inside, weights_of_places(size.places), 1).astype(np.int64)
            held[0] = self._empty(size)
            inside = np.flatnonzero(held)
            scores.append(self._scores(size.step, inside))
            weights.append(self.listed.weights[size.step] * held[inside])
        levels, places = np.unique(np.concatenate(scores), return_inverse=True)
        of_levels = np.zeros(len(levels), dtype=np.int64)
        np.add.at(of_levels, places, np.concatenate(weights))
        return levels, of_levels

    @cached_property
    def _law(self) -> IntegerWeights:
        scores, weights = self._levels
        rate = spendable(self.epsilon, self._log_total) / (2.0 * PERCENT)
        return IntegerWeights.from_logs(
            np.maximum(rate * (scores - scores[-1]), -reach(self.epsilon, self._log_total)),
            log_sizes=np.log(weights),
            log_outcomes=self._log_total,
        )

    @property
    def _smallest_cells(self) -> FloatArray:
        """⌊value/h⌋ at the smallest half width; others follow from it."""
        cells: FloatArray = np.floor(np.ldexp(self.values, -self.listed.first))
        return cells


def _pairs_of_cells(
    cells: FloatArray, counts: IntArray, farthest: float
) -> tuple[IntArray, IntArray]:
    """Find places with one of these cells, place - 1 and place, and how many values they have."""
    low, high = np.searchsorted(cells, [-farthest, farthest])
    cells, counts = cells[low:high], counts[low:high]
    neighbours = np.diff(cells) == 1.0
    inside = counts.copy()
    inside[1:] += np.where(neighbours, counts[:-1], 0)
    last = np.append(~neighbours, True)[: len(cells)]
    places = np.concatenate([cells, cells[last] + 1.0])
    inside = np.concatenate([inside, counts[last]])
    near = np.abs(places) < farthest
    return places[near].astype(np.int64), inside[near]
