"""A proven interval for the sum of all weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

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
