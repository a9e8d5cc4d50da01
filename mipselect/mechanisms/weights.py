"""Exact draws from very many weights at once: integers, kept by their order of magnitude."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mipselect.errors import InvalidInput
from mipselect.losses.base import FloatArray
from mipselect.privacy.randomness import (
    LN2_HIGH,
    LN2_LOW,
    MANTISSA_BITS,
    MAX_DEPTH,
    MEMORY_BITS,
    log_ratio,
)

HALF = 27
"""Mantissas are added up in two halves of at most this many bits, exactly in doubles."""


@dataclass(frozen=True, eq=False)
class BinnedWeights:
    """A distribution on 0..K-1 whose probabilities are ratios of integers, as arrays.

    The same law as `IntegerWeights`, for millions of weights: K mantissas and K exponents in
    place of K long integers. Weights of one exponent form a bin; a bin is drawn by its exact
    sum, and a member of it by rejection, which accepts at least every third time.

    Attributes
    ----------
    mantissas : int array, shape (K,)
        The leading bits of each weight, between 2^52 and 2^54. As sensitive as the scores.
    exponents : int array, shape (K,)
        The weight is mantissa · 2^exponent; the smallest exponent is zero.
    bins : tuple of (int, int)
        The exponents that occur and the sum of the mantissas in each, largest exponent first.
    total : int
        The sum of all weights.
    """

    mantissas: np.ndarray[Any, np.dtype[np.int64]] = field(repr=False)
    exponents: np.ndarray[Any, np.dtype[np.int32]] = field(repr=False)
    bins: tuple[tuple[int, int], ...] = field(repr=False)
    total: int = field(repr=False)

    @classmethod
    def from_logs(
        cls,
        logs: FloatArray,
        log_sizes: FloatArray | None = None,
        *,
        log_outcomes: float = 0.0,
    ) -> BinnedWeights:
        """Round m_k exp(l_k), relative to the largest exp(l_k), to integers.

        Parameters
        ----------
        logs : float array, shape (K,)
            l_k; below infinity, not all of them ``-inf``.
        log_sizes : float array, shape (K,), optional
            log m_k ≥ 0, where m_k equally likely outcomes share index k; default 0.
        log_outcomes : float
            log Σ m_k, or more; public.

        Notes
        -----
        A floor is put under l_k, before the m_k come in, at a distance from max l that depends
        on K and `log_outcomes` alone: so it moves by no more than the l_k do and costs no
        privacy, no probability is ever zero, and all outcomes at the floor together have
        a probability below 2^-1000 as long as K is below 2 million.
        """
        if logs.size == 0 or not math.isfinite(float(logs.max())):
            raise InvalidInput("log weights must be a non-empty list of numbers below infinity")
        bits = min(MAX_DEPTH, MEMORY_BITS // logs.size)
        floored = np.maximum(logs - logs.max(), -bits * math.log(2.0) - log_outcomes)
        if log_sizes is not None:
            floored = floored + log_sizes
        shifts = np.rint(floored / math.log(2.0))
        floored -= shifts * LN2_HIGH
        floored -= shifts * LN2_LOW
        mantissas = np.rint(np.exp(floored) * 2.0**MANTISSA_BITS).astype(np.int64)
        exponents = (shifts - shifts.min()).astype(np.int32)
        bins = _bins(mantissas, exponents)
        return cls(mantissas, exponents, bins, sum(part << shift for shift, part in bins))

    def draw(self, source: random.Random) -> int:
        """Draw an index, with exactly the probabilities of the integer weights."""
        left = source.randrange(self.total)
        for shift, part in self.bins:
            left -= part << shift
            if left < 0:
                break
        members = np.flatnonzero(self.exponents == shift)
        while True:
            index = int(members[source.randrange(members.size)])
            if source.getrandbits(MANTISSA_BITS + 1) < self.mantissas[index]:
                return index

    def log_probability(self, index: int) -> float:
        """Log of the probability with which `draw` returns `index`, 0 ≤ index < K."""
        return log_ratio(int(self.mantissas[index]) << int(self.exponents[index]), self.total)

    def log_probabilities(self) -> FloatArray:
        """Log of the probability of every index, to double precision; shape (K,)."""
        bits = self.total.bit_length()
        log_total = math.log(self.total / (1 << bits))
        logs: FloatArray = np.log(self.mantissas) - log_total
        return logs + (self.exponents - float(bits)) * math.log(2.0)


def _bins(
    mantissas: np.ndarray[Any, np.dtype[np.int64]], exponents: np.ndarray[Any, np.dtype[np.int32]]
) -> tuple[tuple[int, int], ...]:
    """Add up the mantissas of equal exponents, exactly; largest exponent first."""
    high = np.bincount(exponents, mantissas >> HALF)
    low = np.bincount(exponents, mantissas & ((1 << HALF) - 1))
    present = np.flatnonzero(high)[::-1].tolist()
    return tuple((shift, (int(high[shift]) << HALF) + int(low[shift])) for shift in present)
