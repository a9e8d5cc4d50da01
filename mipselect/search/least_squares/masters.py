"""The MIP engine of the search for the squared loss: masters of sparse-diagonal cuts."""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import IntArray
from mipselect.search.collectors import Collector
from mipselect.search.cuts import Cut
from mipselect.search.cutting_loop import OuterApproximation
from mipselect.search.least_squares.additions import Additions, greedy_completion
from mipselect.search.least_squares.branch_and_bound import enumerate_additions, offer_additions
from mipselect.search.least_squares.centring import GainBound
from mipselect.search.least_squares.cuts import sparse_diagonal_cut
from mipselect.search.progress import Run


class SquaredMasters:
    """Settles subproblems by sparse-diagonal cuts and a MIP solver.

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

    def takes(self, sub: Additions, bound: GainBound | None) -> bool:
        """A bounded number of columns, once it is screened."""
        return bound is not None and len(sub.live) <= self._columns

    def settle(
        self, sub: Additions, bound: GainBound | None, collector: Collector, run: Run
    ) -> bool:
        """Add cuts until the master proves that nothing below the threshold is left."""
        if math.comb(len(sub.live), sub.size) <= self._enumerated:
            enumerate_additions(sub, collector, run)
            return True
        none = np.empty(0, dtype=np.intp)
        cuts = [sparse_diagonal_cut(sub, T) for T in (none, greedy_completion(sub))]

        def visit(chosen: IntArray) -> tuple[float, Cut]:
            value = float(offer_additions(sub, chosen[None], collector)[0])
            return value, sparse_diagonal_cut(sub, chosen)

        return self._masters.prove(cuts, sub.size, visit, collector, run)
