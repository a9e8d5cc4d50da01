"""Collectors of what a search keeps: the R best supports, or the best support of one level.

Both offer the same things to the search: `threshold` (only supports with a smaller value matter
any more), `offer` (exact values) and `settle` (a proven bound for supports left out).
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from mipselect.arrays import FloatArray, IntArray


class Collector(Protocol):
    """Receiver of what a search finds and what it proves."""

    @property
    def threshold(self) -> float:
        """Only supports below this value matter."""

    @property
    def target(self) -> float:
        """A lower bound on what is left out is good enough once it reaches this."""

    def offer(self, supports: IntArray, values: FloatArray) -> None:
        """Take evaluated supports, shape (m, s), sorted rows."""

    def settle(self, bound: float) -> None:
        """Take a proven lower bound on supports that were not offered."""


class _Settled:
    """Proven lower bound on supports that were not kept; the base of both collectors."""

    def __init__(self) -> None:
        self._settled = math.inf

    def settle(self, bound: float) -> None:
        """Take a proven lower bound on supports that were not offered; NaN is none."""
        self._settled = -math.inf if math.isnan(bound) else min(self._settled, bound)

    def _known(self, supports: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
        """Keep those whose value is a number; nothing is known of the others."""
        known = np.isfinite(values)
        if known.all():
            return supports, values
        self.settle(-math.inf)
        return supports[known], values[known]


class BestSupport(_Settled):
    """The best support offered, and a proven lower bound on the others.

    Parameters
    ----------
    allowance : float
        τ: the proven bound may stay below the best value by this much,
    floor : float
        but not below this value, if the best value is above it.
    """

    def __init__(self, allowance: float, floor: float = float("-inf")) -> None:
        super().__init__()
        self._allowance, self._floor = allowance, floor
        self.support: IntArray | None = None
        self.value = float("inf")

    @property
    def threshold(self) -> float:
        """The best value so far."""
        return self.value

    @property
    def target(self) -> float:
        """The best value less τ, or the floor."""
        return max(self.value - self._allowance, min(self.value, self._floor))

    @property
    def bound(self) -> float:
        """Proven lower bound on every support that was offered or settled."""
        return min(self.value, self._settled)

    def offer(self, supports: IntArray, values: FloatArray) -> None:
        """Keep the best row."""
        supports, values = self._known(supports, values)
        if len(values) == 0:
            return
        k = int(np.argmin(values))
        if values[k] < self.value:
            self.support, self.value = supports[k], float(values[k])


class BestSupports(_Settled):
    """The R best supports offered, and a proven lower bound on the others.

    Offers are merged in batches; until then the threshold is merely higher than it could be.
    """

    def __init__(self, count: int, support_size: int, allowance: float) -> None:
        super().__init__()
        self.count, self._allowance = count, allowance
        self.threshold = float("inf")
        self._supports: IntArray = np.empty((0, support_size), dtype=np.intp)
        self._values: FloatArray = np.empty(0)
        self._waiting: list[tuple[IntArray, FloatArray]] = []
        self._number_waiting = 0

    @property
    def target(self) -> float:
        """The R-th best value less τ."""
        return self.threshold - self._allowance

    def offer(self, supports: IntArray, values: FloatArray) -> None:
        """Take evaluated supports; one that was offered before is recognised."""
        supports, values = self._known(supports, values)
        below = values < self.threshold
        self.settle(float(np.min(values[~below], initial=np.inf)))
        if below.any():
            self._waiting.append((supports[below], values[below]))
            self._number_waiting += int(below.sum())
            # Before R are known nothing is below a threshold.
            full = len(self._values) + self._number_waiting >= self.count
            many = self._number_waiting >= max(64, self.count // 4)
            if full and (many or self.threshold == math.inf):
                self._merge()

    def result(self) -> tuple[IntArray, FloatArray, float]:
        """Return supports, values and the proven bound on all the others."""
        self._merge()
        return self._supports, self._values, self._settled

    def _merge(self) -> None:
        supports = np.concatenate([self._supports, *(rows for rows, _ in self._waiting)])
        values = np.concatenate([self._values, *(batch for _, batch in self._waiting)])
        self._waiting, self._number_waiting = [], 0
        supports, values = _without_repeats(supports, values)
        order = np.argsort(values, kind="stable")
        if len(order) > self.count:
            self.settle(float(values[order[self.count]]))
        order = order[: self.count]
        self._supports, self._values = supports[order], values[order]
        if len(order) == self.count:
            self.threshold = float(self._values[-1])


def _without_repeats(supports: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the distinct rows in lexicographic order, each with the first of its values."""
    keys = _as_numbers(supports)
    order = np.lexsort(keys[::-1])
    ordered = keys[:, order]
    new = np.ones(len(order), dtype=bool)
    np.any(ordered[:, 1:] != ordered[:, :-1], axis=0, out=new[1:])
    return supports[order[new]], values[order[new]]


def _as_numbers(supports: IntArray) -> IntArray:
    """Write rows as numbers of the same order, each of as many features as fit; shape (q, m)."""
    base = int(supports.max(initial=0)) + 1
    digits = max(1, int(62 / np.log2(base + 1)))
    starts = range(0, supports.shape[1], digits)
    parts = (supports[:, start : start + digits] for start in starts)
    return np.array([part @ base ** np.arange(part.shape[1])[::-1] for part in parts])
