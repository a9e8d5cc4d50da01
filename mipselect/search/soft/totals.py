"""All weights together: a proven interval for their sum, and the largest of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from mipselect.arrays import IntArray
from mipselect.search.soft.cells import Cell, Space
from mipselect.search.soft.partition import Partition
from mipselect.search.soft.polynomials import SubsetLaw, subset_law


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

    def whole(self) -> tuple[float, float]:
        """Bound the log of the total weight of all supports, from below and above."""
        cells = self.partition.numbered
        live = {number for number, _ in cells}
        self._laws = {number: law for number, law in self._laws.items() if number in live}
        low = np.logaddexp.reduce([self._log_low(number, cell) for number, cell in cells])
        return float(low), self.partition.log_upper

    @property
    def slack(self) -> float:
        """Error that the log of a total may have, on either side."""
        rounding = max((law.rounding for law in self._laws.values()), default=0.0)
        return 2.0 * max(rounding, self.partition.rounding) + self.allowance

    def _log_low(self, number: int, cell: Cell) -> float:
        if number not in self._laws:
            node = cell.node
            law = self.partition.target.law(node, self.space.ceiling(node))
            if not math.isfinite(law.log_total):
                law = subset_law(np.zeros(len(node.live)), node.size, -math.inf)
            self._laws[number] = law
        return min(self._laws[number].log_total, cell.log_upper)


class LargestWeight:
    """The largest log weight of all supports, or an upper bound on it.

    Parameters
    ----------
    partition : Partition
        Cells with bounds on the log weights; a proof refines them.
    log_weight : callable
        From a support, shape (s,), to the log of its weight.
    allowance : float
        How far the log of a weight may be above the bound of its cell.

    Attributes
    ----------
    proven : bool
        True if `log_largest` is the largest log weight.
    """

    def __init__(
        self, partition: Partition, log_weight: Callable[[IntArray], float], allowance: float
    ) -> None:
        self._partition, self._log_weight, self._allowance = partition, log_weight, allowance
        self._best: tuple[float, IntArray] = (-math.inf, np.empty(0, dtype=np.intp))
        self.proven = False

    @property
    def log_largest(self) -> float:
        """No log weight is larger; if it is proven, that of a support is as large."""
        return self._best[0] if self.proven else self._partition.log_largest + self._slack

    def prove(self) -> None:
        """Refine the cell with the largest bound, until a weight is known that is no smaller.

        What `Partition` calls before every piece of work may raise to stop.
        """
        evaluated = set[int]()
        while not self.proven:
            cells = self._partition.numbered
            number, cell = max(cells, key=lambda item: _open(item, evaluated))
            self._see(cell.support(cell.law.likeliest()))
            if _open((number, cell), evaluated) + self._slack <= self._best[0]:
                self.proven = True
            elif not self._partition.refine_cell(number):
                for support in _members(cell, self._best[0] - self._slack):
                    self._see(support)
                evaluated.add(number)

    def _see(self, support: IntArray) -> None:
        """Evaluate a support."""
        log_weight = self._log_weight(support)
        if log_weight > self._best[0]:
            self._best = log_weight, support

    @property
    def _slack(self) -> float:
        return self._allowance + self._partition.rounding


def _open(numbered: tuple[int, Cell], evaluated: set[int]) -> float:
    """Return the largest log bound of a cell that is not evaluated yet."""
    number, cell = numbered
    return -math.inf if number in evaluated else cell.law.log_largest


def _members(cell: Cell, least: float) -> Iterator[IntArray]:
    """Yield supports of a final cell, of at most one addition, with a log bound above `least`."""
    law = cell.law
    if law.size == 0:
        yield cell.support(np.empty(0, dtype=np.intp))
        return
    bounds = law.log_constant + law.log_weights
    for place in np.flatnonzero(bounds > least):
        yield cell.support(law.order[[place]])
