"""The native engine: pairs of additions in closed form, all at once."""

from __future__ import annotations

import numpy as np

from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import Additions
from mipselect.search.least_squares.branch_and_bound import offer_additions
from mipselect.search.progress import Run


class ClosedForm:
    """Settles a subproblem of two additions by the gains of all pairs.

    Parameters
    ----------
    columns : int
        Most live features whose pairs are formed at once; more are divided, which bounds them
        better.
    """

    name = "native"

    def __init__(self, *, columns: int = 256) -> None:
        self._columns = columns

    def takes(self, sub: Additions) -> bool:
        """Two additions among a bounded number of features of one column each."""
        single = sub.problem.features.singles
        return single and sub.size == 2 and len(sub.live) <= self._columns

    def settle(self, sub: Additions, collector: Collector, run: Run) -> bool:
        """Evaluate the pairs whose gain

            g_Tᵀ H_TT⁻¹ g_T = (h_l g_j² + h_j g_l² - 2 H_jl g_j g_l) / (h_j h_l - H_jl²)

        could bring the value below the threshold.
        """
        needed = sub.needed_gain(collector.threshold)
        H = sub.dense()
        weighted = np.multiply.outer(sub.g**2, sub.h)
        numerator = weighted + weighted.T - 2.0 * H * np.multiply.outer(sub.g, sub.g)
        # H_TT ⪰ (λ+ν)I, so its determinant is at least (λ+ν)².
        determinant = np.maximum(np.multiply.outer(sub.h, sub.h) - H**2, sub.ridge**2)
        better = np.triu(numerator > needed * determinant, k=1)
        pairs = np.argwhere(better)
        collector.settle(collector.threshold)
        if len(pairs):
            offer_additions(sub, pairs, collector)
        return True
