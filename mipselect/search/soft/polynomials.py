"""Elementary symmetric polynomials: totals of modular bounds over all subsets of one size.

e_m(w) = Σ_{|T|=m} Π_{j∈T} w_j is the total of the law P(T) ∝ Π_{j∈T} w_j, and its table of
prefixes draws from that law: with k members among the first J, the last one is j with probability

    (e_k(w_0..w_j) - e_k(w_0..w_{j-1})) / e_k(w_0..w_{J-1}).

Everything is in logarithms, for the weights may span thousands of orders of magnitude
(docs/mathematics/exact-draws.md, (4)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import EPS

SEGMENT = 600.0
"""Logs that differ by no more are summed by their exponentials at once."""

SMALLEST_STEP = 2.0**-1000
"""Added to every step of a cumulative law, so that no member's probability is zero."""

Choose = Callable[[FloatArray], int]
"""Draws k with probability (C[k] - C[k-1]) / C[-1] from a rising array C of numbers ≥ 0."""


@dataclass(frozen=True, eq=False)
class SubsetLaw:
    """Weights c·Π_{j∈T} w_j of the subsets T of m of L positions, and the law ∝ them.

    Places are sorted by rising weight: the share of the last place in a prefix of J is then at
    least about m/J, so that the step of a cumulative law keeps nearly all of its digits.

    Attributes
    ----------
    order : ndarray of int, shape (L,)
        The position at every place.
    log_weights : ndarray of shape (L,)
        log w at every place, rising.
    log_prefix : ndarray of shape (m + 1, L)
        log e_k of the first places; rising along each row, ``-inf`` where there are fewer than k.
    log_constant : float
        log c.
    """

    order: IntArray
    log_weights: FloatArray
    log_prefix: FloatArray
    log_constant: float = 0.0

    @property
    def size(self) -> int:
        """m."""
        return len(self.log_prefix) - 1

    @property
    def log_total(self) -> float:
        """Log of the sum of all weights, c·e_m(w)."""
        return self.log_constant + (float(self.log_prefix[-1, -1]) if self.size else 0.0)

    @property
    def log_largest(self) -> float:
        """Log of the largest weight."""
        largest = float(self.log_weights[len(self.order) - self.size :].sum())
        return min(self.log_constant + largest, self.log_total)

    def likeliest(self) -> IntArray:
        """Return the positions of the T with the largest weight."""
        return self.order[len(self.order) - self.size :]

    @cached_property
    def rounding(self) -> float:
        """The log of a probability, as it is drawn, is off by no more than this."""
        if self.size == 0:
            return 0.0
        largest = (
            1.0
            + float(np.abs(self.log_prefix[:, -1]).max())
            + float(np.abs(self.log_weights).max())
        )
        return 16.0 * EPS * self.size * len(self.order) * largest

    def cumulative(self, k: int, end: int) -> FloatArray:
        """Compute the law of the last of k members among the first `end` places, as it is drawn."""
        logs = self.log_prefix[k, :end]
        # Nothing for the first k - 1 places: the last of k members cannot be there.
        steps = SMALLEST_STEP * np.maximum(np.arange(2.0 - k, end + 2.0 - k), 0.0)
        return np.asarray(np.exp(logs - logs[-1]) + steps)

    def draw(self, choose: Choose) -> tuple[IntArray, float]:
        """Draw the positions of a subset, and return the log of its probability as drawn."""
        places: list[int] = []
        log_probability, end = 0.0, len(self.order)
        for k in range(self.size, 0, -1):
            law = self.cumulative(k, end)
            end = choose(law)
            log_probability += log_step(law, end)
            places.append(end)
        return self.order[places], log_probability

    def log_inclusion(self) -> FloatArray:
        """Compute the log of the probability that T has each position, shape (L,)."""
        L, m = len(self.order), self.size
        if m == 0:
            return np.full(L, -np.inf)
        nothing = np.where(np.arange(m + 1)[:, None] == 0, 0.0, -np.inf)
        before = np.hstack([nothing, self.log_prefix[:, :-1]])
        after = np.hstack([_log_suffixes(self.log_weights, m)[:, 1:], nothing])
        pairs = before[:m] + after[m - 1 :: -1]
        top = pairs.max(axis=0)
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            others = top + np.log(np.exp(pairs - top).sum(axis=0))
        result = np.empty(L)
        result[self.order] = self.log_weights + others - self.log_prefix[-1, -1]
        return np.minimum(result, 0.0)


def rising_law(logs: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return indices by rising weight, and the law ∝ exp(logs), shape (K ≥ 1,), cumulated."""
    order = np.argsort(logs, kind="stable")
    steps = SMALLEST_STEP * np.arange(1.0, len(order) + 1.0)
    return order, np.cumsum(np.exp(logs[order] - logs[order[-1]])) + steps


def log_step(cumulative: FloatArray, place: int) -> float:
    """Compute the log of (C[place] - C[place - 1]) / C[-1]."""
    step = float(cumulative[place]) - (float(cumulative[place - 1]) if place else 0.0)
    return math.log(step) - math.log(float(cumulative[-1]))


def subset_law(log_weights: FloatArray, size: int, log_constant: float = 0.0) -> SubsetLaw:
    """Make the law of subsets of `size` ≤ L positions with these log weights, shape (L,)."""
    order = np.argsort(log_weights, kind="stable")
    rising = log_weights[order]
    table = np.empty((size + 1, len(order)))
    table[0] = 0.0
    for k in range(1, size + 1):
        table[k, : k - 1] = -np.inf
        terms = rising[k - 1 :].copy()
        if k > 1:
            terms += table[k - 1, k - 2 : -1]
        table[k, k - 1 :] = log_cumulative_sum(terms)
    return SubsetLaw(order, rising, table, log_constant)


def log_cumulative_sum(rising: FloatArray) -> FloatArray:
    """Compute log Σ_{i≤j} exp(rising_i), each to full relative precision; shape (L,)."""
    sums = np.empty_like(rising)
    carry, end = -math.inf, len(rising)
    start = 0
    while start < end:
        stop = int(np.searchsorted(rising, rising[start] + SEGMENT, side="right"))
        top = float(rising[stop - 1])
        terms = np.exp(rising[start:stop] - top)
        terms[0] += math.exp(carry - top)
        sums[start:stop] = np.log(np.cumsum(terms)) + top
        carry, start = float(sums[stop - 1]), stop
    return sums


def _log_suffixes(rising: FloatArray, size: int) -> FloatArray:
    """Compute log e_k of the last places, k < `size` + 1; shape (size + 1, L)."""
    L = len(rising)
    table = np.full((size + 1, L), -np.inf)
    table[0] = 0.0
    for k in range(1, min(size, L) + 1):
        terms = rising[: L - k + 1].copy()
        if k > 1:
            terms += table[k - 1, 1 : L - k + 2]
        table[k, : L - k + 1] = np.logaddexp.accumulate(terms[::-1])[::-1]
    return table
