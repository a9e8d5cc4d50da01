"""Exact draws: integers from the operating system's generator, never floats."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput

Rng = int | np.integer[Any] | random.Random | np.random.Generator | None
"""None for the operating system's generator; anything else is reproducible and not private."""

MANTISSA_BITS = 53
MEMORY_BITS = 2**31
"""What all weights of one draw may take together; with `MAX_DEPTH` it sets their floor."""

MAX_DEPTH = 2**20
"""No weight is floored that is above the largest one times 2 to the minus this."""

# ln 2 in two parts: the first has 32 significant bits, so that its multiples by integers
# below 2^21 are exact, and nothing cancels in the remainder of a large exponent.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10


def generator(rng: Rng) -> tuple[random.Random, bool]:
    """Return a source of exact random integers, and whether its draws may be called private.

    Parameters
    ----------
    rng : None, int, random.Random or numpy.random.Generator
        None, or a `random.SystemRandom`, is the operating system's generator. An int is a
        seed. A numpy generator gives 256 bits of seed, and moves on by that.

    Raises
    ------
    InvalidInput
        For anything else.
    """
    if rng is None:
        return random.SystemRandom(), True
    if isinstance(rng, random.Random):
        # A subclass of SystemRandom may have replaced what makes it unpredictable.
        return rng, type(rng) is random.SystemRandom
    if isinstance(rng, np.random.Generator):
        return random.Random(int.from_bytes(rng.bytes(32))), False
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return random.Random(int(rng)), False
    raise InvalidInput(
        "rng must be None (the operating system's generator), an int seed, a random.Random or a "
        f"numpy.random.Generator, got {rng!r}"
    )


def uniform_subset(source: random.Random, size: int, count: int) -> tuple[int, ...]:
    """Draw `count` of the integers 0..size-1, every subset equally likely; sorted."""
    return tuple(sorted(source.sample(range(size), count)))


@dataclass(frozen=True)
class IntegerWeights:
    """A distribution on 0..K-1 whose probabilities are ratios of integers.

    Attributes
    ----------
    cumulative : tuple of int
        Sums of the weights up to and including each index; increasing. As sensitive as the
        weights, and therefore not in the repr.

    Notes
    -----
    From log weights l_k and multiplicities m_k the weights are m_k ⌊2^B exp(l_k - max l)⌋
    with a B that is large enough for nothing to be cut off: exp(l_k) is written as 2^e times
    a 53-bit integer, and the 2^e are made integers by the smallest e. A larger B would
    multiply all weights by the same power of two.

    With a fixed B, such as 128, and ``max(1, ·)``, weights at the floor would be
    integers like 1 or 2, and a change of l_k by ε/2 could double one: pure ε would be lost.

    Very small weights must be floored nevertheless, or they would need unbounded memory. It
    is done on the logs, before rounding: l_k is raised to max l - c with a c that depends on K
    alone. If no l_k moves by more than a from one data set to its neighbour, neither does
    max(l_k, max l - c), so this costs no privacy, no probability is ever zero, and no
    draw is refused because of the data. c is at least 1,073 bits (e^-743) up to K = 2,000,000,
    and 2^20 bits up to K = 2,048.
    """

    cumulative: tuple[int, ...] = field(repr=False)

    @classmethod
    def from_logs(
        cls, log_weights: ArrayLike, multiplicities: Iterable[int] | None = None
    ) -> IntegerWeights:
        """Round m_k exp(l_k), relative to the largest, to integers.

        Parameters
        ----------
        log_weights : array_like of float, shape (K,)
            l_k; natural logarithms, ``-inf`` allowed, but not for all of them.
        multiplicities : iterable of K int, optional
            m_k ≥ 1, of any size; default 1.

        Raises
        ------
        InvalidInput
            If a log weight is NaN or ``inf``, or a multiplicity is not positive.
        """
        logs = np.asarray(log_weights, dtype=np.float64)
        if logs.ndim != 1 or logs.size == 0 or not math.isfinite(float(logs.max())):
            raise InvalidInput("log weights must be a non-empty list of numbers below infinity")
        depth = min(MAX_DEPTH, MEMORY_BITS // logs.size)
        mantissas, shifts = _as_integers(np.maximum(logs - logs.max(), -depth * math.log(2.0)))
        weights = (m << e for m, e in zip(mantissas, shifts, strict=True))
        if multiplicities is not None:
            counts = [int(count) for count in multiplicities]
            if len(counts) != logs.size or min(counts) < 1:
                raise InvalidInput(f"multiplicities must be {logs.size} positive integers")
            weights = (c * w for c, w in zip(counts, weights, strict=True))
        return cls(tuple(accumulate(weights)))

    def draw(self, source: random.Random) -> int:
        """Draw an index, with exactly the probabilities of the integer weights."""
        return bisect_right(self.cumulative, source.randrange(self.cumulative[-1]))

    def log_probability(self, index: int, among: int = 1) -> float:
        """Log of the probability with which `draw` returns `index`, 0 ≤ index < K.

        With `among`, that of one of so many outcomes that are equally likely given `index`.
        """
        below = self.cumulative[index - 1] if index else 0
        return log_ratio(self.cumulative[index] - below, self.cumulative[-1] * among)


def _as_integers(logs: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[list[int], list[int]]:
    """Write exp(l) as mantissa · 2^(shift - constant), mantissas near 2^53, shifts ≥ 0."""
    exponents = np.rint(logs / math.log(2.0))
    remainders = (logs - exponents * LN2_HIGH) - exponents * LN2_LOW
    mantissas = np.rint(np.exp(remainders) * 2.0**MANTISSA_BITS).astype(np.int64)
    shifts = (exponents - exponents.min()).astype(np.int64)
    return mantissas.tolist(), shifts.tolist()


def log_ratio(part: int, whole: int) -> float:
    """log(part / whole) of integers 0 < part ≤ whole of any size, to machine precision."""
    if 2 * part > whole:
        return math.log1p(-((whole - part) / whole))
    shift = whole.bit_length() - part.bit_length()
    return math.log((part << shift) / whole) - shift * math.log(2.0)
