"""Proven intervals for sums of weights: of all supports, of a size, of those with a feature."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.search.soft.cells import Cell, Space
from mipselect.search.soft.partition import Partition
from mipselect.search.soft.polynomials import SubsetLaw, subset_law


@dataclass(frozen=True, eq=False)
class LogInterval:
    """Lower and upper bounds of the logs of some totals.

    Attributes
    ----------
    low, high : ndarray
        Ends of any shape, -inf allowed.
    """

    low: FloatArray
    high: FloatArray

    def share(self, whole: LogInterval, slack: float) -> LogInterval:
        """Bound the logs of shares x/(x + rest) by what is known of parts x and of the whole.

        The rest is at least whole.low - low and at most whole.high - high, for the bounds of a
        whole are the sums of those of its parts; but each is only known up to `slack`, which
        counts where nearly equal numbers are subtracted.
        """
        least_rest = _log_difference(whole.low - slack, self.low + slack)
        most_rest = _log_difference(whole.high + slack, self.high - slack, unknown=np.inf)
        least, most = self.low - slack, self.high + slack
        low = least - np.logaddexp(least, most_rest)
        high = most - np.logaddexp(most, least_rest)
        # Where an end is no number nothing is known of it.
        known = (least > -np.inf) & ~np.isnan(low)
        return LogInterval(np.where(known, low, -np.inf), np.fmin(high, 0.0))


@dataclass(eq=False)
class Totals:
    """The totals of a partition, from its bounds and from proven upper bounds on R.

    Parameters
    ----------
    partition : Partition
    space : Space
    allowance : float
        How much the log of a weight may be above its bound: bounds are on R itself, and a value
        may be below it, and another one above.
    """

    partition: Partition
    space: Space
    allowance: float
    _laws: dict[int, SubsetLaw] = field(init=False, default_factory=dict)

    def whole(self) -> LogInterval:
        """Bound the log of the total weight of all supports, shape ()."""
        cells = self.partition.numbered
        live = {number for number, _ in cells}
        self._laws = {number: law for number, law in self._laws.items() if number in live}
        low = np.logaddexp.reduce([self._log_low(number, cell) for number, cell in cells])
        return LogInterval(np.asarray(low), np.asarray(self.partition.log_upper))

    @property
    def slack(self) -> float:
        """Error that the log of any of these totals may have, on either side.

        For features they are totals of laws twice over.
        """
        rounding = max((law.rounding for law in self._laws.values()), default=0.0)
        return 2.0 * max(rounding, self.partition.rounding) + self.allowance

    def of_sizes(self) -> dict[int, LogInterval]:
        """Bound the log of the total weight of the supports of every size."""
        parts: dict[int, list[tuple[float, float]]] = {}
        for number, cell in self.partition.numbered:
            size = len(cell.node.base) + cell.node.size
            parts.setdefault(size, []).append((self._log_low(number, cell), cell.log_upper))
        return {
            size: LogInterval(low, high)
            for size, ends in sorted(parts.items())
            for low, high in [np.logaddexp.reduce(np.array(ends), axis=0)]
        }

    def of_features(self, p: int) -> LogInterval:
        """Bound the log total weight of the supports with each of the p features, shape (p,)."""
        low, high = np.full(p, -np.inf), np.full(p, -np.inf)
        for number, cell in self.partition.numbered:
            for law, ends in (self.lower(number, cell), low), (cell.law, high):
                base, live = cell.node.base, cell.node.live
                ends[base] = np.logaddexp(ends[base], law.log_total)
                if cell.node.size:
                    ends[live] = np.logaddexp(ends[live], law.log_total + law.log_inclusion())
        return LogInterval(low, high)

    def refine_widest(self) -> bool:
        """Refine the cell whose bounds leave the most open; False if nothing is left to refine."""
        gaps = [
            (_log_difference(cell.log_upper, self._log_low(number, cell)), number)
            for number, cell in self.partition.numbered
            if not cell.final
        ]
        return bool(gaps) and self.partition.refine_cell(max(gaps)[1])

    def _log_low(self, number: int, cell: Cell) -> float:
        return min(self.lower(number, cell).log_total, cell.log_upper)

    def lower(self, number: int, cell: Cell) -> SubsetLaw:
        """Bound the weights of a cell from below."""
        if number not in self._laws:
            node = cell.node
            law = self.partition.target.law(node, self.space.ceiling(node))
            if not math.isfinite(law.log_total):
                law = subset_law(np.zeros(len(node.live)), node.size, -math.inf)
            self._laws[number] = law
        return self._laws[number]


def _log_difference(
    larger: FloatArray | float, smaller: FloatArray | float, unknown: float = -np.inf
) -> FloatArray:
    """Compute log(e^larger - e^smaller), -inf where that is not positive."""
    with np.errstate(invalid="ignore", divide="ignore"):
        missing = np.minimum(np.subtract(smaller, larger), 0.0)
        difference = larger + np.log(-np.expm1(missing))
    difference = np.where(np.isneginf(larger), -np.inf, difference)
    return np.where(np.isnan(difference), unknown, difference)
