"""The collector of what a search keeps: the R best supports, with a proven bound on the others."""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import FloatArray, IntArray


class Collector:
    """The R best supports offered, and a proven lower bound on the others.

    Offers are merged in batches; until then the threshold is merely higher than it could be.

    Parameters
    ----------
    count : int
        R.
    allowance : float
        τ: the proven bound may stay below the R-th best value by this much,
    floor : float
        but not below this value, if the R-th best value is above it.

    Attributes
    ----------
    threshold : float
        Only supports below this value matter: the R-th best value.
    value : float
        The best value so far.
    settled : float
        Proven lower bound on supports that were not offered, or were dropped.
    """

    def __init__(self, count: int, allowance: float, floor: float = -math.inf) -> None:
        self.count, self._allowance, self._floor = count, allowance, floor
        self.threshold = self.value = self.settled = math.inf
        self._kept: list[tuple[IntArray, FloatArray]] = []
        self._known = self._waiting = 0

    @property
    def target(self) -> float:
        """A bound on what is left out is good enough once it reaches this."""
        return max(self.threshold - self._allowance, min(self.threshold, self._floor))

    @property
    def bound(self) -> float:
        """Proven lower bound on every support that was offered or settled."""
        return min(self.value, self.settled)

    def settle(self, bound: float) -> None:
        """Take a proven lower bound on supports that were not offered; NaN is none."""
        self.settled = -math.inf if math.isnan(bound) else min(self.settled, bound)

    def offer(self, supports: IntArray, values: FloatArray) -> None:
        """Take evaluated supports, shape (m, s), sorted rows; one offered before is recognised.

        Nothing is known of those whose value is no finite number.
        """
        known = np.isfinite(values)
        if not known.all():
            self.settle(-math.inf)
            supports, values = supports[known], values[known]
        below = values < self.threshold
        if not below.any():
            self.settle(float(values.min(initial=math.inf)))
            return
        if self.count == 1:
            # The best of them is enough, and no look for repeats.
            below[:], below[np.argmin(values)] = False, True
        self.settle(float(values[~below].min(initial=math.inf)))
        self._kept.append((supports[below], values[below]))
        self._waiting += len(self._kept[-1][1])
        self.value = min(self.value, float(values.min()))
        # Before R are known nothing is below a threshold, whatever is merged.
        missing = self.count - self._known
        if self._waiting >= (missing or min(self.count, max(64, self.count // 4))):
            self.best()

    def best(self) -> tuple[IntArray, FloatArray]:
        """Return the best supports so far, shape (k, s), and their values, the best first."""
        if not self._kept:
            return np.empty((0, 0), dtype=np.intp), np.empty(0)
        if self._waiting:
            rows, known = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
            supports, values = _without_repeats(rows, known)
            order = np.argsort(values, kind="stable")
            if len(order) > self.count:
                self.settle(float(values[order[self.count]]))
            order = order[: self.count]
            self._kept = [(supports[order], values[order])]
            self._known, self._waiting = len(order), 0
            if len(order) == self.count:
                self.threshold = float(values[order[-1]])
        return self._kept[0]


def _without_repeats(supports: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the distinct rows in lexicographic order, each with the least of its values."""
    if len(values) == 1:
        return supports, values
    keys = _as_numbers(supports)
    order = np.lexsort((values, *keys[::-1]))
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
