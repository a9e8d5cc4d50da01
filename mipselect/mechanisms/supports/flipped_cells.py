"""Permute-and-flip where cells of supports are known: its race, and proven probabilities.

With weights x relative to an upper bound on the largest, P(S) = ∫ x_S Π_{T≠S} (1 - x_T u) du from 0
to where the first factor is zero. S and the best known support are taken out of their cells, and
the others are bounded by sums over cells (docs/mathematics/permute-and-flip.md, (5)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.mechanisms.supports.cell_law import Cells
from mipselect.mechanisms.supports.flip_bounds import LOST, Masses
from mipselect.mechanisms.supports.intervals import Interval
from mipselect.mechanisms.supports.race import FirstHeads, Race
from mipselect.search.soft import LargestWeight, LogInterval
from mipselect.search.soft.cells import Cell


class FlippedCells:
    """Permute-and-flip: the first support whose coin shows heads.

    Parameters
    ----------
    cells : Cells
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._largest = LargestWeight(cells.partition, cells.log_weight, cells.allowance)

    def race(self) -> Race:
        """See `CellLaw`."""
        return FirstHeads(self._largest)

    def log_probability(self, support: IntArray) -> Interval:
        """See `CellLaw`."""
        known = Known.of(self._cells, self._largest)
        low, high = known.probability(support, self._cells.log_weight(support))
        return Interval(_log(low), min(_log(high), 0.0))

    def of_sizes(self) -> dict[int, LogInterval]:
        """See `CellLaw`."""
        known, totals = Known.of(self._cells, self._largest), self._cells.totals.of_sizes()
        least = known.shares(
            np.array([float(part.low) for part in totals.values()]),
            np.array([size == len(known.best) for size in totals]),
        )
        most = 1.0 - (math.fsum(least) - least)
        return {
            size: LogInterval(np.log(low), np.log(high))
            for size, low, high in zip(totals, least, most, strict=True)
        }

    def of_features(self, p: int) -> LogInterval:
        """See `CellLaw`."""
        known = Known.of(self._cells, self._largest)
        inside, log_all = self._cells.totals.of_features(p).low, known.log_least
        with np.errstate(divide="ignore"):
            rest = np.log(np.maximum(-np.expm1(np.minimum(inside - log_all, 0.0)) - LOST, 0.0))
        best = np.isin(np.arange(p), known.best)
        least = known.shares(inside, best)
        most = 1.0 - known.shares(log_all + rest, ~best)
        return LogInterval(np.log(least), np.log(most))

    def refine(self) -> bool:
        """Prove the largest weight, then refine the cell whose supports leave the most open."""
        if not self._largest.proven:
            self._largest.prove()
            return True
        known = Known.of(self._cells, self._largest)
        masses = known.masses
        open_ = masses.most - masses.least + 0.5 * masses.most * masses.largest
        for place in np.argsort(-open_):
            number, cell = known.numbered[place]
            if not cell.final:
                return self._cells.partition.refine_cell(number)
        return False


@dataclass(frozen=True, eq=False)
class Known:
    """All that cells say of permute-and-flip at one time.

    Attributes
    ----------
    cells : Cells
    numbered : list of (int, Cell)
        The cells with their numbers.
    log_scale : float
        No log weight is larger.
    best : ndarray of int, shape (s,)
        A good support.
    log_best : float
        Log of its weight.
    masses : Masses
        Masses of all supports but the best one.
    slack : float
        How far a log may be off.
    """

    cells: Cells
    numbered: list[tuple[int, Cell]]
    log_scale: float
    best: IntArray
    log_best: float
    masses: Masses
    slack: float

    @classmethod
    def of(cls, cells: Cells, largest: LargestWeight) -> Known:
        """Collect it."""
        log_best, best = largest.incumbent()
        _ = cells.totals.whole()
        slack, numbered = cells.totals.slack, cells.partition.numbered
        log_scale = largest.log_largest + slack
        least = [cells.totals.lower(*each).log_total for each in numbered]
        most = [cell.log_upper for _, cell in numbered]
        highest = [cell.law.log_largest for _, cell in numbered]
        masses = Masses(
            np.exp(np.array(least) - log_scale - slack),
            np.exp(np.array(most) - log_scale + slack),
            np.minimum(np.exp(np.array(highest) - log_scale + slack), 1.0),
        )
        everything = cls(cells, numbered, log_scale, best, log_best, masses, slack)
        return replace(everything, masses=everything.without(best))

    @property
    def log_least(self) -> float:
        """Log of a lower bound on the sum of all weights."""
        lower = self.cells.totals.lower
        return float(np.logaddexp.reduce([lower(*each).log_total for each in self.numbered]))

    def probability(self, support: IntArray, log_weight: float) -> tuple[float, float]:
        """Bound the probability of a support with this log weight, from below and above."""
        low, high = self._low(log_weight), self._high(log_weight)
        least, most = self._low(self.log_best), self._high(self.log_best)
        if np.array_equal(support, self.best):
            masses, least, most = self.masses, 0.0, 0.0
        else:
            masses = self.without(support)
        below = low * masses.least_integral(min(most, 1.0))
        return below, high * masses.most_integral(least, 1.0 / max(low, least))

    def shares(self, log_sums: FloatArray, with_best: NDArray[np.bool_]) -> FloatArray:
        """Bound the probabilities of sets of supports from below.

        Parameters
        ----------
        log_sums : ndarray of shape (K,)
            Logs of lower bounds on the sums of their weights, as cells have them.
        with_best : ndarray of bool, shape (K,)
            True for those that the best known support is in.
        """
        place, positions = self._place(self.best)
        number, cell = self.numbered[place]
        own = self._low(self.cells.totals.lower(number, cell).log_member(positions))
        sums = np.exp(log_sums - self.log_scale - self.slack)
        others = np.maximum(sums - with_best * own, 0.0)
        integral = self.masses.least_integral(min(self._high(self.log_best), 1.0))
        best, _ = self.probability(self.best, self.log_best)
        return np.asarray(np.minimum(others * integral + with_best * best, 1.0))

    def without(self, support: IntArray) -> Masses:
        """Return the masses of all supports but the best and this one."""
        place, positions = self._place(support)
        number, cell = self.numbered[place]
        lower, law = self.cells.totals.lower(number, cell), cell.law
        # The others of a cell weigh less than its likeliest support, if that is the one.
        alone = np.array_equal(np.sort(law.likeliest()), positions)
        return self.masses.without(
            place,
            self._low(lower.log_member(positions)),
            self._high(law.log_member(positions)),
            self._high(law.log_second) if alone else 1.0,
        )

    def _place(self, support: IntArray) -> tuple[int, IntArray]:
        """Return the place of the cell that holds a support, and its positions there."""
        for place, (_, cell) in enumerate(self.numbered):
            positions = cell.positions(support)
            if positions is not None:
                return place, positions
        raise AssertionError("every support is in a cell")

    def _low(self, log: float) -> float:
        return math.exp(log - self.log_scale - self.slack)

    def _high(self, log: float) -> float:
        return math.exp(log - self.log_scale + self.slack)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
