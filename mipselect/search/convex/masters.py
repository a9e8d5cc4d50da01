"""The MIP engine of the convex search: masters of Fenchel cuts, by any MIP back end."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import IntArray
from mipselect.restricted.fenchel import FenchelBounds
from mipselect.search.collectors import Collector
from mipselect.search.convex.cuts import cut_of_point
from mipselect.search.convex.node import FenchelNode, enumerate_completions
from mipselect.search.cuts import Cut
from mipselect.search.cutting_loop import OuterApproximation
from mipselect.search.progress import Run


class FenchelMasters(OuterApproximation):
    """Engine of Fenchel cuts and a MIP solver."""

    def takes(self, sub: FenchelNode) -> bool:
        """Tell whether a master may have its columns."""
        return self.fits(len(sub.live))

    def settle(self, sub: FenchelNode, collector: Collector, run: Run) -> bool:
        """Add cuts until the master proves that nothing below the threshold is left."""
        if self.enumerates(len(sub.live), sub.size):
            enumerate_completions(sub, collector, run)
            return True

        def cut_of(bounds: FenchelBounds, row: int, chosen: IntArray) -> Cut:
            return cut_of_point(bounds, row, sub.base, sub.live, chosen)

        def visit(chosen: IntArray) -> tuple[float, Cut]:
            support = sub.supports(chosen[None])
            value = float(sub.problem.values(support)[0])
            collector.offer(support, np.array([value]))
            return value, cut_of(sub.problem.bounds(support), 0, chosen)

        greedy = np.arange(sub.size)
        _, at_greedy = visit(greedy)
        cuts = [cut_of(sub.bounds, sub.row, greedy), at_greedy]
        return self.prove(cuts, sub.size, visit, collector, run)
