"""`IntervalLaw`: an interval that holds nearly all values of a column, drawn without any range.

The exponential mechanism over a public list of intervals of all sizes and places, with public
weights. Its utilities count values and the public weights are integers, so draws are exact. The
list is never written down: of the intervals that hold no value only their weight is needed
(docs/mathematics/regression.md, (11)).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, product

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.mechanisms.scores.utilities import reach, spendable
from mipselect.privacy.randomness import IntegerWeights
from mipselect.validation import checked_epsilon, checked_integer, set_fields

EXPONENTS = range(-64, 62)
MANTISSAS = (1.0, 1.5)
"""Half widths are a mantissa times 2 to an exponent."""

OCTAVES = 21
FARTHEST = 2.0**OCTAVES
"""Centres are less than so many half widths away from 0."""

BEYOND = 2.0**90
"""Values from here on lie in no interval."""

PARTS = 20
"""The share of values that should lie outside is so many parts of this."""

OF_PLACES = [1 << 30, *(2 << (30 + m - 3 * m // 2) for m in range(OCTAVES))]
"""Weights of the place 0, and of the places ± 2^m .. 2^(m+1) - 1 together."""


def weight_of_size(exponent: int) -> int:
    """Return the public weight of a half width: where many are as good, a narrow one is drawn."""
    return 1 << (20 if exponent < -6 else max(20 - exponent, 0))


def weight_of_place(place: int) -> int:
    """Return the public weight of a place, near |place|^(-3/2)."""
    octave = max(abs(place).bit_length() - 1, 0)
    return 1 << (30 - 3 * octave // 2)


TOTAL = sum(OF_PLACES) * len(MANTISSAS) * sum(map(weight_of_size, EXPONENTS))
"""Weight of the whole list, below 2^63."""

LOG_TOTAL = math.log(TOTAL)


@dataclass(frozen=True)
class ListedInterval:
    """[(place - 1) h, (place + 1) h) with the half width h = mantissa · 2^exponent."""

    mantissa: float
    exponent: int
    place: int

    @property
    def half_width(self) -> float:
        """h."""
        return math.ldexp(self.mantissa, self.exponent)

    @property
    def centre(self) -> float:
        """Middle of the interval, place · h."""
        return self.place * self.half_width

    @property
    def weight(self) -> int:
        """Public weight."""
        return weight_of_size(self.exponent) * weight_of_place(self.place)


@dataclass(frozen=True, eq=False)
class Size:
    """All intervals of one half width that hold a value.

    Attributes
    ----------
    mantissa, exponent
        Of the half width.
    places : ndarray of int64, shape (c,)
    inside : ndarray of int64, shape (c,)
        How many values each of them holds, at least 1. Sensitive.
    """

    mantissa: float
    exponent: int
    places: IntArray
    inside: IntArray

    @property
    def weights(self) -> IntArray:
        """Public weights of the intervals, shape (c,)."""
        return weight_of_size(self.exponent) * self.weights_of_places

    @property
    def weights_of_places(self) -> IntArray:
        """Weights without that of the size; below 2^53 together."""
        _, bits = np.frexp(np.abs(self.places).astype(np.float64))
        octaves = np.maximum(bits.astype(np.int64) - 1, 0)
        weights: IntArray = np.int64(1) << (30 - 3 * octaves // 2)
        return weights


@dataclass(frozen=True, eq=False)
class IntervalLaw:
    """P(I) ∝ w_I exp(-ε |20 out(I) - k m| / 40), of m values of which out(I) lie outside of I.

    Where a row is replaced, added or removed, or loses its value, 20 out - k m moves by at most 20,
    so ε holds under both relations.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Sensitive. NaN is no value and counts nowhere; an infinite one lies outside of all.
    epsilon : float
    outside : int
        k, from 1 to 19: about so many twentieths of the values should lie outside; public.

    References
    ----------
    docs/mathematics/regression.md, (11).

    Examples
    --------
    >>> import random
    >>> import numpy as np
    >>> from mipselect.regression.typical_intervals import IntervalLaw
    >>> ages = np.random.default_rng(0).normal(50.0, 10.0, 5000)
    >>> interval = IntervalLaw(ages, epsilon=1.0, outside=2).sample(random.Random(0))
    >>> interval.centre - interval.half_width < 50.0 < interval.centre + interval.half_width
    True
    """

    values: FloatArray
    epsilon: float
    outside: int

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        set_fields(
            self,
            values=np.sort(np.clip(values[~np.isnan(values)], -BEYOND, BEYOND)),
            epsilon=checked_epsilon(self.epsilon),
            outside=checked_integer(self.outside, "outside", 1, PARTS - 1),
        )
        spendable(self.epsilon, LOG_TOTAL)

    def sample(self, source: random.Random) -> ListedInterval:
        """Draw an interval, with exactly the probabilities of integer weights."""
        inside, weights = self._levels
        level = self._law.draw(source)
        left = source.randrange(int(weights[level]))
        for size in occupied(self.values):
            chosen = np.flatnonzero(size.inside == inside[level])
            upto = np.cumsum(size.weights[chosen])
            if upto.size and left < upto[-1]:
                place = size.places[chosen[np.searchsorted(upto, left, side="right")]]
                return ListedInterval(size.mantissa, size.exponent, int(place))
            left -= int(upto[-1]) if upto.size else 0
        while self._inside(interval := publicly_drawn(source)):
            pass
        return interval

    def log_probability(self, interval: ListedInterval) -> float:
        """Return the log of the probability that `sample` returns an interval. Sensitive."""
        inside, weights = self._levels
        level = int(np.searchsorted(inside, self._inside(interval)))
        share = interval.weight / int(weights[level])
        return self._law.log_probability(level) + math.log(share)

    @cached_property
    def _levels(self) -> tuple[IntArray, IntArray]:
        """Rising numbers of values in an interval, and the weights of those; shape (K,)."""
        weights = np.zeros(len(self.values) + 1, dtype=np.int64)
        for size in occupied(self.values):
            held = np.bincount(size.inside, size.weights_of_places, len(weights))
            weights += weight_of_size(size.exponent) * held.astype(np.int64)
        weights[0] = TOTAL - weights.sum()
        inside = np.flatnonzero(weights)
        return inside, weights[inside]

    @cached_property
    def _law(self) -> IntegerWeights:
        inside, weights = self._levels
        m = len(self.values)
        distances = np.abs(PARTS * (m - inside) - self.outside * m)
        rate = spendable(self.epsilon, LOG_TOTAL) / (2.0 * PARTS)
        logs = -rate * (distances - distances.min())
        return IntegerWeights.from_logs(
            np.maximum(logs, -reach(self.epsilon, LOG_TOTAL)),
            log_sizes=np.log(weights),
            log_outcomes=LOG_TOTAL,
        )

    def _inside(self, interval: ListedInterval) -> int:
        """Count the values that an interval holds."""
        cells = cells_of(self.values, interval.mantissa, interval.exponent)
        low, high = np.searchsorted(cells, [interval.place - 1.0, interval.place + 1.0])
        return int(high - low)


def cells_of(values: FloatArray, mantissa: float, exponent: int) -> FloatArray:
    """Compute ⌊value/h⌋, rounded once, at the smallest half width; any other follows from it."""
    smallest = np.floor(values / math.ldexp(mantissa, EXPONENTS[0]))
    cells: FloatArray = np.floor(np.ldexp(smallest, EXPONENTS[0] - exponent))
    return cells


def occupied(values: FloatArray) -> Iterator[Size]:
    """List the intervals that hold a value, size by size.

    Parameters
    ----------
    values : ndarray of shape (m,), finite, sorted

    Notes
    -----
    An interval is two cells side by side, and the cell of a value depends on this value alone. Half
    widths that are twice as large have ⌊⌊x⌋/2⌋ = ⌊x/2⌋.
    """
    for mantissa in MANTISSAS:
        cells = cells_of(values, mantissa, EXPONENTS[0])
        counts = np.ones(len(cells), dtype=np.int64)
        for exponent in EXPONENTS:
            first = np.flatnonzero(np.diff(cells, prepend=-np.inf))
            if first.size:
                cells, counts = cells[first], np.add.reduceat(counts, first)
            yield Size(mantissa, exponent, *_pairs_of_cells(cells, counts))
            cells = np.floor(cells / 2.0)


def _pairs_of_cells(cells: FloatArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Find places with one of these cells, place - 1 and place, and how many values they have."""
    low, high = np.searchsorted(cells, [-FARTHEST, FARTHEST])
    cells, counts = cells[low:high], counts[low:high]
    neighbours = np.diff(cells) == 1.0
    inside = counts.copy()
    inside[1:] += np.where(neighbours, counts[:-1], 0)
    last = np.append(~neighbours, True)[: len(cells)]
    places = np.concatenate([cells, cells[last] + 1.0])
    inside = np.concatenate([inside, counts[last]])
    near = np.abs(places) < FARTHEST
    return places[near].astype(np.int64), inside[near]


def publicly_drawn(source: random.Random) -> ListedInterval:
    """Draw an interval by the public weights alone."""
    sizes = list(product(MANTISSAS, EXPONENTS))
    mantissa, exponent = sizes[_drawn([weight_of_size(k) for _, k in sizes], source)]
    octave = _drawn(OF_PLACES, source) - 1
    place = 0
    if octave >= 0:
        place = source.randrange(1 << octave, 2 << octave) * source.choice((-1, 1))
    return ListedInterval(mantissa, exponent, place)


def _drawn(weights: list[int], source: random.Random) -> int:
    """Draw an index by integer weights."""
    upto = list(accumulate(weights))
    point = source.randrange(upto[-1])
    return next(k for k, end in enumerate(upto) if point < end)
