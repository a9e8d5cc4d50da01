"""The MIP engine of the search for the squared loss: masters of sparse-diagonal cuts."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import IntArray
from mipselect.search.collectors import Collector
from mipselect.search.cuts import Cut
from mipselect.search.cutting_loop import OuterApproximation
from mipselect.search.least_squares.branch_and_bound import enumerate_additions, offer_additions
from mipselect.search.least_squares.cuts import sparse_diagonal_cut
from mipselect.search.least_squares.node import SquaredNode, greedy_completion
from mipselect.search.progress import Run


class SquaredMasters(OuterApproximation):
    """Engine of sparse-diagonal cuts and a MIP solver."""

    def takes(self, sub: SquaredNode) -> bool:
        """Tell whether it is screened, and a master may have its columns."""
        return sub.bound is not None and self.fits(len(sub.live))

    def settle(self, sub: SquaredNode, collector: Collector, run: Run) -> bool:
        """Add cuts until the master proves that nothing below the threshold is left."""
        if self.enumerates(len(sub.live), sub.size):
            enumerate_additions(sub, collector, run)
            return True
        none = np.empty(0, dtype=np.intp)
        cuts = [sparse_diagonal_cut(sub, T) for T in (none, greedy_completion(sub))]

        def visit(chosen: IntArray) -> tuple[float, Cut]:
            value = float(offer_additions(sub, chosen[None], collector)[0])
            return value, sparse_diagonal_cut(sub, chosen)

        return self.prove(cuts, sub.size, visit, collector, run)
