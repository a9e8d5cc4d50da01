"""Exact draws: integers from the operating system's generator, never floats."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.errors import InvalidInput

Rng = int | np.integer[Any] | random.Random | np.random.Generator | np.random.RandomState | None
"""None for the operating system's generator; anything else is reproducible and not private."""

MANTISSA_BITS = 53
SMALLEST_EXPONENT = -1074

LARGEST_STEP = -500.0
"""Log of the smallest probability with which a coin shows heads in one step."""

MEMORY_BITS = 2**31
"""Most that all weights may take together; with `MAX_DEPTH` it sets their floor."""

MAX_DEPTH = 2**20
"""No weight is floored that is above the largest one times 2 to the minus this."""

# ln 2 in two parts: the first has 32 significant bits, so that its multiples by integers
# below 2^21 are exact, and nothing cancels in the remainder of a large exponent.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10


def generator(rng: Rng, what: str = "rng") -> tuple[random.Random, bool]:
    """Return a source of exact random integers, and whether its draws may be called private.

    Parameters
    ----------
    rng : None, int, random.Random, numpy.random.Generator or numpy.random.RandomState
        None, or a `random.SystemRandom`, is the operating system's generator. An int is a
        seed. A numpy generator gives 256 bits of seed, and moves on by that.
    what : str
        What an error calls it.

    Raises
    ------
    InvalidInput
        For anything else.
    """
    # Another object than the given one, whose methods somebody may have replaced; and a subclass
    # may have replaced them for all of its objects.
    if rng is None or type(rng) is random.SystemRandom:
        return random.SystemRandom(), True
    if isinstance(rng, random.Random):
        return rng, False
    if isinstance(rng, np.random.Generator | np.random.RandomState):
        return random.Random(int.from_bytes(rng.bytes(32))), False
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return random.Random(int(rng)), False
    raise InvalidInput(
        f"{what} must be None (the operating system's generator), an int seed, a random.Random or "
        f"a numpy.random.Generator or RandomState, got {rng!r}"
    )


def source_of(random_state: Any) -> tuple[random.Random, bool]:
    """Return what `generator` does, for the `random_state` of an estimator."""
    return generator(random_state, "random_state")


def uniform_subset(source: random.Random, size: int, count: int) -> tuple[int, ...]:
    """Draw `count` of the integers 0..size-1, every subset equally likely; sorted."""
    return tuple(sorted(source.sample(range(size), count)))


def rising_index(cumulative: NDArray[np.floating[Any]], source: random.Random) -> int:
    """Draw k with probability exactly (C[k] - C[k-1]) / C[-1], C[-1] standing for 0.

    Parameters
    ----------
    cumulative : ndarray of shape (K,)
        C, nondecreasing positive numbers, the last one finite.
    source : random.Random

    Notes
    -----
    A uniform point of [0, C[-1]) is drawn to as many bits as it takes to tell between which two
    numbers it lies; nothing is rounded.
    """
    _, exponent = math.frexp(float(cumulative[-1]))
    # No double has bits below 2^-1074.
    bits = max(exponent - MANTISSA_BITS, SMALLEST_EXPONENT)
    point = source.randrange(int(math.ldexp(float(cumulative[-1]), -bits)))
    # Both ends of the interval that is drawn so far are doubles.
    first = int(np.searchsorted(cumulative, math.ldexp(point, bits), side="right"))
    last = int(np.searchsorted(cumulative, math.ldexp(point + 1, bits), side="left"))
    while first < last:
        point = (point << MANTISSA_BITS) + source.getrandbits(MANTISSA_BITS)
        bits -= MANTISSA_BITS
        low, high = (Fraction(end) * Fraction(2) ** bits for end in (point, point + 1))
        while first < last and Fraction(float(cumulative[first])) <= low:
            first += 1
        while first < last and Fraction(float(cumulative[last - 1])) >= high:
            last -= 1
    return first


def coin(log_probability: float, source: random.Random) -> bool:
    """Return True with probability exp(log_probability) > 0, to all the digits of that log.

    In steps, each a normal double: below e^-708 doubles lose their digits, and then vanish.
    """
    while log_probability < LARGEST_STEP:
        if rising_index(np.array([math.exp(LARGEST_STEP), 1.0]), source) > 0:
            return False
        log_probability -= LARGEST_STEP
    return rising_index(np.array([math.exp(log_probability), 1.0]), source) == 0


def standard_exponential(source: random.Random) -> float:
    """Draw -ln U for a uniform U, which is drawn to as many bits as it takes.

    The result is off by a factor within 1 ± 2^-50, however small or large it is.
    """
    bits, point = 64, source.getrandbits(64)
    while min(point, (1 << bits) - 1 - point) < 1 << (MANTISSA_BITS + 2):
        point = (point << 64) + source.getrandbits(64)
        bits += 64
    return -log_ratio(2 * point + 1, 2 << bits)


@dataclass(frozen=True, eq=False)
class IntegerWeights:
    """A distribution on 0..K-1 whose probabilities are ratios of integers.

    The weights are kept as arrays, so that millions of them are no burden; only their sums, and
    the weights of single indices, are integers of Python. Weights of one shift form a bin. A bin
    is drawn by its exact sum, and a member of it by rejection, which accepts at least every
    third time. All of it is sensitive and therefore not in the repr.

    Attributes
    ----------
    mantissas : ndarray of int64, shape (K,)
        The leading bits of each weight, between 2^52 and 2^54.
    shifts : ndarray of int32, shape (K,)
        Weight k is multiplicities.get(k, 1) · mantissas[k] · 2^shifts[k].
    multiplicities : mapping of int to int
        m_k where it is not 1.

    Notes
    -----
    From log weights l_k and multiplicities m_k the weights are m_k ⌊2^B exp(l_k - max l)⌋
    with a B that is large enough for nothing to be cut off: exp(l_k) is written as 2^e times
    a 53-bit integer, and the 2^e are made integers by the smallest e. A larger B would
    multiply all weights by the same power of two.

    Very small weights would need unbounded memory. Their logs l_k are raised to max l - c, with a
    c that is public, before rounding and before the m_k come in. This costs no privacy, as a floor
    of weights would (docs/mathematics/exact-draws.md, (7)), no probability is ever zero, and no
    draw is refused because of the data. c is 2^20 bits up to K = 2,048 and at
    least 1,073 bits (e^-743) up to K = 2,000,000, plus `log_outcomes`, with which all outcomes
    at the floor together, however many, have a probability below 2^-1000.

    Many equally likely outcomes that share an index are counted in one of two ways. An exact
    integer multiplies the weight as it is: right for a few classes of supports, of which one may
    hold nearly all C(p, s). A log of the number is added to l_k: right for millions of classes
    of items, whose sizes would be long integers each. Draws are as exact, but the weights, and
    so ε, are then right to about 1e-12 only, as the sums of logs are.
    """

    mantissas: NDArray[np.int64] = field(repr=False)
    shifts: NDArray[np.int32] = field(repr=False)
    multiplicities: Mapping[int, int] = field(repr=False)
    # The members of the bins that were drawn so far: to find them takes all K shifts.
    _members: dict[int, NDArray[np.intp]] = field(init=False, repr=False, default_factory=dict)

    @classmethod
    def from_logs(
        cls,
        log_weights: ArrayLike,
        multiplicities: Mapping[int, int] | None = None,
        *,
        log_sizes: NDArray[np.floating[Any]] | None = None,
        log_outcomes: float = 0.0,
    ) -> IntegerWeights:
        """Round m_k exp(l_k), relative to the largest exp(l_k), to integers.

        Parameters
        ----------
        log_weights : array_like of float, shape (K,)
            l_k; natural logarithms, ``-inf`` allowed, but not for all of them.
        multiplicities : mapping of int to int, optional
            m_k ≥ 1, of any size, by index k; 1 where none is given.
        log_sizes : ndarray of float, shape (K,), optional
            log m_k ≥ 0, in place of `multiplicities`.
        log_outcomes : float
            log Σ m_k, or more; public. It lowers the floor.

        Raises
        ------
        InvalidInput
            If a log weight is NaN or ``inf``, or a multiplicity is not positive.
        """
        logs = np.asarray(log_weights, dtype=np.float64)
        if logs.ndim != 1 or logs.size == 0 or not math.isfinite(float(logs.max())):
            raise InvalidInput("log weights must be a non-empty list of numbers below infinity")
        counts = {int(k): int(count) for k, count in (multiplicities or {}).items()}
        if any(count < 1 or not 0 <= k < logs.size for k, count in counts.items()):
            raise InvalidInput(f"multiplicities must be positive integers for 0..{logs.size - 1}")
        depth = min(MAX_DEPTH, MEMORY_BITS // logs.size)
        floored = np.maximum(logs - logs.max(), -depth * math.log(2.0) - log_outcomes)
        if log_sizes is not None:
            floored += log_sizes
        return cls(*_as_integers(floored), counts)

    def weight(self, index: int) -> int:
        """Return the integer weight of `index`, 0 ≤ index < K."""
        mantissa, shift = int(self.mantissas[index]), int(self.shifts[index])
        return (mantissa << shift) * self.multiplicities.get(index, 1)

    @cached_property
    def total(self) -> int:
        """The sum of all weights."""
        parts = (part << shift for shift, part in reversed(self._bins.items()))
        return sum(self._named.values()) + sum(parts)

    def draw(self, source: random.Random) -> int:
        """Draw an index, with exactly the probabilities of the integer weights."""
        left = source.randrange(self.total)
        for index, weight in self._named.items():
            left -= weight
            if left < 0:
                return index
        for shift, part in self._bins.items():
            left -= part << shift
            if left < 0:
                break
        return self._member(shift, source)

    def log_probability(self, index: int, among: int = 1) -> float:
        """Return the log of the probability with which `draw` returns `index`, 0 ≤ index < K.

        With `among`, that of one of so many outcomes that are equally likely given `index`.
        """
        return log_ratio(self.weight(index), self.total * among)

    def log_probabilities(self) -> NDArray[np.floating[Any]]:
        """Compute the log probability of every index, to double precision; shape (K,)."""
        bits = self.total.bit_length()
        logs = np.log(self.mantissas) - math.log(self.total / (1 << bits))
        logs += (self.shifts - float(bits)) * math.log(2.0)
        for k, count in self.multiplicities.items():
            logs[k] += math.log(count)
        return logs

    @cached_property
    def _named(self) -> dict[int, int]:
        """The weights of the indices with a multiplicity: each of them is a bin of its own."""
        return {k: self.weight(k) for k in self.multiplicities}

    @cached_property
    def _bins(self) -> dict[int, int]:
        """The sum of all other mantissas of a shift, by shift, the largest first."""
        sums = _sums_by_shift(self.mantissas, self.shifts)
        for k in self.multiplicities:
            sums[int(self.shifts[k])] -= int(self.mantissas[k])
        return {shift: part for shift, part in sums.items() if part}

    def _member(self, shift: int, source: random.Random) -> int:
        """Draw one of the indices of a shift that have no multiplicity."""
        if shift not in self._members:
            members = np.flatnonzero(self.shifts == shift)
            named = [k for k in self.multiplicities if self.shifts[k] == shift]
            self._members[shift] = np.setdiff1d(members, named) if named else members
        members = self._members[shift]
        if members.size == 1:
            return int(members[0])
        while True:
            index = int(members[source.randrange(members.size)])
            if source.getrandbits(MANTISSA_BITS + 1) < self.mantissas[index]:
                return index


def _as_integers(logs: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Write exp(l) as mantissa · 2^(shift - constant), mantissas near 2^53, shifts ≥ 0.

    The logs are overwritten.
    """
    exponents = np.rint(logs / math.log(2.0))
    logs -= exponents * LN2_HIGH
    logs -= exponents * LN2_LOW
    mantissas = np.rint(np.exp(logs) * 2.0**MANTISSA_BITS).astype(np.int64)
    return mantissas, (exponents - exponents.min()).astype(np.int32)


def _sums_by_shift(mantissas: NDArray[np.int64], shifts: NDArray[np.int32]) -> dict[int, int]:
    """Add up the mantissas of equal shifts, exactly: in halves of bits that doubles can hold.

    Largest shift first. A mantissa has more than `half` bits, so the sum of high halves is not 0.
    """
    half = (MANTISSA_BITS + 1) // 2
    high = np.bincount(shifts, mantissas >> half)
    low = np.bincount(shifts, mantissas & ((1 << half) - 1))
    present = np.flatnonzero(high)[::-1].tolist()
    return {shift: (int(high[shift]) << half) + int(low[shift]) for shift in present}


def log_ratio(part: int, whole: int) -> float:
    """Compute log(part / whole) of integers 0 < part ≤ whole of any size, to machine precision."""
    if 2 * part > whole:
        return math.log1p(-((whole - part) / whole))
    shift = whole.bit_length() - part.bit_length()
    return math.log((part << shift) / whole) - shift * math.log(2.0)
