"""The MIP engine of the convex search: masters of Fenchel cuts, by any MIP back end."""

from __future__ import annotations

import math

import numpy as np

from mipselect.losses.base import FloatArray, IntArray
from mipselect.losses.fenchel import FenchelBounds
from mipselect.search import outer_approximation
from mipselect.search.collectors import Collector
from mipselect.search.completions import Completions, enumerate_completions
from mipselect.search.cuts import Cut
from mipselect.search.outer_approximation import OuterApproximation
from mipselect.search.progress import Clock


class FenchelMasters:
    """Settles subproblems by Fenchel cuts and a MIP solver.

    Parameters
    ----------
    masters : OuterApproximation
        The loop of masters and cuts, which is the same for every loss.
    """

    def __init__(self, masters: OuterApproximation) -> None:
        self._masters = masters
        self.name = masters.name

    def takes(self, sub: Completions) -> bool:
        """A bounded number of columns."""
        return len(sub.live) <= outer_approximation.MASTER_COLUMNS

    def settle(self, sub: Completions, collector: Collector, clock: Clock) -> bool:
        """Add cuts until the master proves that nothing below the threshold is left."""
        if math.comb(len(sub.live), sub.size) <= outer_approximation.ENUMERATED:
            enumerate_completions(sub, collector, clock)
            return True
        if collector.threshold == math.inf:
            return False

        def cut_of(bounds: FenchelBounds, row: int, chosen: IntArray) -> Cut:
            own = float(bounds.weights[row][sub.base].sum())
            credits = bounds.weights[row][sub.live]
            length = math.sqrt(own + float(credits[chosen].sum()))
            return affine_cut(bounds, row, own, credits, length)

        def visit(chosen: IntArray) -> tuple[float, Cut]:
            support = sub.supports(chosen[None])
            value = float(sub.problem.values(support)[0])
            collector.offer(support, np.array([value]))
            return value, cut_of(sub.problem.bounds(support), 0, chosen)

        greedy = np.arange(sub.size)
        _, at_greedy = visit(greedy)
        cuts = [cut_of(sub.bounds, sub.row, greedy), at_greedy]
        return self._masters.prove(cuts, sub.size, visit, collector, clock)


def affine_cut(
    bounds: FenchelBounds, row: int, own: float, credits: FloatArray, length: float
) -> Cut:
    """The Fenchel bound as a cut (3.1), affine in the choice.

    The function h of the bound is concave in the sum of squares where the norm constraint is
    active; (λ+ν)⁻¹Σc/2 + νr²/2 lies above it for every ν ≥ 0 and touches it where
    √Σc = `length` and ν = max(0, length/r - λ).

    Parameters
    ----------
    bounds : FenchelBounds
    row : int
        The dual point.
    own : float
        Σ c_j over the base.
    credits : ndarray of shape (L,)
        c_j of the columns.
    length : float
        Where the cut is to be tightest.
    """
    nu = max(0.0, length / bounds.radius - bounds.ridge)
    shrink = 1.0 / (2.0 * (bounds.ridge + nu) * bounds.n)
    constant = bounds.constants[row] / bounds.n - nu * bounds.radius**2 / (2.0 * bounds.n)
    return Cut(float(constant) - shrink * own, -shrink * credits)
