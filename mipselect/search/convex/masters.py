"""The MIP engine of the convex search: masters of Fenchel cuts, by any MIP back end."""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import IntArray
from mipselect.losses.fenchel import FenchelBounds
from mipselect.search.collectors import Collector
from mipselect.search.convex.completions import Completions, enumerate_completions
from mipselect.search.convex.cuts import fenchel_cut
from mipselect.search.cuts import Cut
from mipselect.search.cutting_loop import OuterApproximation
from mipselect.search.progress import Run


class FenchelMasters:
    """Settles subproblems by Fenchel cuts and a MIP solver.

    Parameters
    ----------
    masters : OuterApproximation
    columns : int
        Larger subproblems are divided first: a master of few columns has strong cuts.
    enumerated : int
        Evaluating so many supports takes less time than one solve of a master.
    """

    def __init__(
        self, masters: OuterApproximation, *, columns: int = 64, enumerated: int = 500
    ) -> None:
        self._masters, self._columns, self._enumerated = masters, columns, enumerated
        self.name = masters.name

    def takes(self, sub: Completions) -> bool:
        """A bounded number of columns."""
        return len(sub.live) <= self._columns

    def settle(self, sub: Completions, collector: Collector, run: Run) -> bool:
        """Add cuts until the master proves that nothing below the threshold is left."""
        if math.comb(len(sub.live), sub.size) <= self._enumerated:
            enumerate_completions(sub, collector, run)
            return True

        def cut_of(bounds: FenchelBounds, row: int, chosen: IntArray) -> Cut:
            own = bounds.own(row, sub.base)
            credits = bounds.weights[row][sub.live]
            length = math.sqrt(own + float(credits[chosen].sum()))
            return fenchel_cut(bounds, row, own, credits, length)

        def visit(chosen: IntArray) -> tuple[float, Cut]:
            support = sub.supports(chosen[None])
            value = float(sub.problem.values(support)[0])
            collector.offer(support, np.array([value]))
            return value, cut_of(sub.problem.bounds(support), 0, chosen)

        greedy = np.arange(sub.size)
        _, at_greedy = visit(greedy)
        cuts = [cut_of(sub.bounds, sub.row, greedy), at_greedy]
        return self._masters.prove(cuts, sub.size, visit, collector, run)
