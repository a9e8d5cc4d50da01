"""Exact draws: integers from the operating system's generator, never floats."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.errors import InvalidInput

Rng = (
    int | np.integer[Any] | random.Random | np.random.Generator | np.random.RandomState | None
)
"""None for the operating system's generator; anything else is reproducible and not private."""

MANTISSA_BITS = 53
BLOCK = 512
"""So many mantissas, each below 2^54, are added up in an int64."""

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
    rng : None, int, random.Random, numpy.random.Generator or numpy.random.RandomState
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
    if isinstance(rng, np.random.Generator | np.random.RandomState):
        return random.Random(int.from_bytes(rng.bytes(32))), False
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return random.Random(int(rng)), False
    raise InvalidInput(
        "rng must be None (the operating system's generator), an int seed, a random.Random or a "
        f"numpy.random.Generator or RandomState, got {rng!r}"
    )


def uniform_subset(source: random.Random, size: int, count: int) -> tuple[int, ...]:
    """Draw `count` of the integers 0..size-1, every subset equally likely; sorted."""
    return tuple(sorted(source.sample(range(size), count)))


@dataclass(frozen=True, eq=False)
class IntegerWeights:
    """A distribution on 0..K-1 whose probabilities are ratios of integers.

    The weights are kept as arrays, so that millions of them are no burden; only the totals of
    blocks of them are integers of Python. All of it is sensitive and therefore not in the repr.

    Attributes
    ----------
    mantissas, shifts : ndarray of int64, shape (K,)
        Weight k is multiplicities.get(k, 1) · mantissas[k] · 2^shifts[k].
    multiplicities : mapping of int to int
        m_k where it is not 1.

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
    draw is refused because of the data. c is 2^20 bits up to K = 2,048 and at least 1,073 bits
    (e^-743) up to K = 2,000,000.
    """

    mantissas: NDArray[np.int64] = field(repr=False)
    shifts: NDArray[np.int64] = field(repr=False)
    multiplicities: Mapping[int, int] = field(repr=False)

    @classmethod
    def from_logs(
        cls, log_weights: ArrayLike, multiplicities: Mapping[int, int] | None = None
    ) -> IntegerWeights:
        """Round m_k exp(l_k), relative to the largest, to integers.

        Parameters
        ----------
        log_weights : array_like of float, shape (K,)
            l_k; natural logarithms, ``-inf`` allowed, but not for all of them.
        multiplicities : mapping of int to int, optional
            m_k ≥ 1, of any size, by index k; 1 where none is given.

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
        floored = np.maximum(logs - logs.max(), -depth * math.log(2.0))
        return cls(*_as_integers(floored), counts)

    def weight(self, index: int) -> int:
        """The integer weight of `index`, 0 ≤ index < K."""
        return (int(self.mantissas[index]) << int(self.shifts[index])) * self.multiplicities.get(
            index, 1
        )

    @property
    def total(self) -> int:
        """The sum of all weights."""
        return self._blocks[1][-1]

    def draw(self, source: random.Random) -> int:
        """Draw an index, with exactly the probabilities of the integer weights."""
        blocks, cumulative = self._blocks
        number = source.randrange(cumulative[-1])
        at = bisect_right(cumulative, number)
        members = blocks[at]
        if len(members) == 1:
            return int(members[0])
        number = (number - (cumulative[at - 1] if at else 0)) >> int(self.shifts[members[0]])
        sums = np.cumsum(self.mantissas[members])
        return int(members[np.searchsorted(sums, number, side="right")])

    def log_probability(self, index: int, among: int = 1) -> float:
        """Log of the probability with which `draw` returns `index`, 0 ≤ index < K.

        With `among`, that of one of so many outcomes that are equally likely given `index`.
        """
        return log_ratio(self.weight(index), self.total * among)

    @cached_property
    def _blocks(self) -> tuple[list[NDArray[np.intp]], list[int]]:
        """Indices in blocks of one shift each, and the sums of weights up to each block.

        Within a block sums of mantissas fit into an int64; an index with a multiplicity is a
        block of its own.
        """
        single = np.asarray(sorted(self.multiplicities), dtype=np.intp)
        many = np.setdiff1d(np.arange(len(self.shifts)), single, assume_unique=True)
        many = many[np.argsort(self.shifts[many], kind="stable")]
        runs = np.split(many, np.flatnonzero(np.diff(self.shifts[many])) + 1) if len(many) else []
        blocks = [run[k : k + BLOCK] for run in runs for k in range(0, len(run), BLOCK)]
        totals = [int(self.mantissas[m].sum()) << int(self.shifts[m[0]]) for m in blocks]
        blocks += [single[k : k + 1] for k in range(len(single))]
        totals += [self.weight(int(k)) for k in single]
        return blocks, list(accumulate(totals))


def _as_integers(logs: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Write exp(l) as mantissa · 2^(shift - constant), mantissas near 2^53, shifts ≥ 0."""
    exponents = np.rint(logs / math.log(2.0))
    remainders = (logs - exponents * LN2_HIGH) - exponents * LN2_LOW
    mantissas = np.rint(np.exp(remainders) * 2.0**MANTISSA_BITS).astype(np.int64)
    return mantissas, (exponents - exponents.min()).astype(np.int64)


def log_ratio(part: int, whole: int) -> float:
    """log(part / whole) of integers 0 < part ≤ whole of any size, to machine precision."""
    if 2 * part > whole:
        return math.log1p(-((whole - part) / whole))
    shift = whole.bit_length() - part.bit_length()
    return math.log((part << shift) / whole) - shift * math.log(2.0)
