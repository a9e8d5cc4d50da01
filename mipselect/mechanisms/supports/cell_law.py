"""Interface between the sampler by cells and the law that it draws from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from mipselect.arrays import IntArray
from mipselect.mechanisms.supports.intervals import Interval
from mipselect.mechanisms.supports.race import FirstProposal, Race
from mipselect.search.soft import LogInterval, Partition, Totals


@dataclass(frozen=True, eq=False)
class Cells:
    """All that is known of the weights of supports.

    Attributes
    ----------
    partition : Partition
        Cells with bounds on the weights, which are refined as time goes on.
    totals : Totals
        Their sums.
    allowance : float
        How far the log of a weight may be above the bound of its cell.
    log_weight : callable
        From a support, shape (s,), to the log of its weight: always the same number.
    """

    partition: Partition
    totals: Totals
    allowance: float
    log_weight: Callable[[IntArray], float]


class CellLaw(Protocol):
    """A law over all supports, of which cells are known."""

    def race(self) -> Race:
        """Begin a draw."""

    def log_probability(self, support: IntArray) -> Interval:
        """Return a proven interval of the log probability of one support."""

    def of_sizes(self) -> dict[int, LogInterval]:
        """Return proven intervals of the log probability of every size."""

    def of_features(self, p: int) -> LogInterval:
        """Return proven intervals of the log probability of each feature, shape (p,)."""

    def refine(self) -> bool:
        """Refine what leaves the most open; False if nothing is left to refine."""


class ProportionalCells:
    """P(S) ∝ w_S: the exponential mechanism.

    Parameters
    ----------
    cells : Cells
    """

    def __init__(self, cells: Cells) -> None:
        self._cells, self._totals = cells, cells.totals

    def race(self) -> Race:
        """See `CellLaw`."""
        return FirstProposal()

    def log_probability(self, support: IntArray) -> Interval:
        """See `CellLaw`."""
        log_weight, whole = self._cells.log_weight(support), self._totals.whole()
        slack = self._cells.allowance + self._totals.slack
        low = log_weight - slack - float(whole.high)
        return Interval(low, min(log_weight + slack - float(whole.low), 0.0))

    def of_sizes(self) -> dict[int, LogInterval]:
        """See `CellLaw`."""
        whole, slack = self._totals.whole(), self._totals.slack
        parts = self._totals.of_sizes()
        return {size: part.share(whole, slack) for size, part in parts.items()}

    def of_features(self, p: int) -> LogInterval:
        """See `CellLaw`."""
        parts, whole = self._totals.of_features(p), self._totals.whole()
        return parts.share(whole, self._totals.slack)

    def refine(self) -> bool:
        """See `CellLaw`."""
        return self._totals.refine_widest()
