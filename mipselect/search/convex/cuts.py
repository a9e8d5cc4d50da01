"""Cuts of the convex search, bounds of dual points made affine, and the engine of masters."""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.fenchel import EPS, FenchelBounds
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.convex.node import FenchelNode, enumerate_completions
from mipselect.search.cutting_loop import OuterApproximation
from mipselect.search.progress import Run


def fenchel_cut(
    bounds: FenchelBounds, row: int, own: float, credits: FloatArray, length: float
) -> ModularBound:
    """Turn the bound of a dual point α into a cut, a bound on -R (docs/mathematics/cuts.md, (2)).

    R(B ∪ T') ≥ (1/n) [Σ_i -ℓ*(y_i, -α_i) - νr²/2 - Σ_{j∈B∪T'} w_j² / (2(λ+ν))], w = Xᵀα.

    The function h of the bound is concave in the sum of squares where the norm constraint is
    active; (λ+ν)⁻¹Σw²/2 + νr²/2 lies above it for every ν ≥ 0 and touches it where
    √Σw² = `length` and ν = max(0, length/r - λ). At the dual optimum on S and its own length the
    cut equals R(S) at S.

    Here `own` is Σ w_j² over the base B and the columns that are always in, and `credits` are the
    w_j² of the live features, shape (L,).
    """
    nu = max(0.0, length / bounds.radius - bounds.ridge)
    shrink = 1.0 / (2.0 * (bounds.ridge + nu) * bounds.n)
    terms = np.array([bounds.constants[row], -nu * bounds.radius**2 / 2.0]) / bounds.n
    terms = np.append(terms, -shrink * own)
    rounding = 16.0 * EPS * float(np.abs(terms).sum())
    return ModularBound(rounding - float(terms.sum()), shrink * credits * (1.0 + 16.0 * EPS))


def cut_of_point(
    bounds: FenchelBounds, row: int, base: IntArray, live: IntArray, chosen: IntArray
) -> ModularBound:
    """Return the cut of dual point `row` on B ∪ T, tightest at the length of T = live[chosen]."""
    own, credits = bounds.own(row, base), bounds.weights[row][live]
    length = math.sqrt(own + float(credits[chosen].sum()))
    return fenchel_cut(bounds, row, own, credits, length)


class FenchelMasters(OuterApproximation[FenchelNode]):
    """Engine of Fenchel cuts and a MIP solver."""

    def takes(self, sub: FenchelNode) -> bool:
        """Tell whether a master may have its columns."""
        return len(sub.live) <= self.limits.columns

    def settle(self, sub: FenchelNode, collector: Collector, run: Run) -> bool:
        """Add cuts until the master proves that nothing below the threshold is left."""
        if self.enumerates(len(sub.live), sub.size):
            enumerate_completions(sub, collector, run)
            return True

        def cut_of(bounds: FenchelBounds, row: int, chosen: IntArray) -> ModularBound:
            return cut_of_point(bounds, row, sub.base, sub.live, chosen)

        def visit(chosen: IntArray) -> tuple[float, ModularBound]:
            support = sub.supports(chosen[None])
            value = float(sub.problem.values(support)[0])
            collector.offer(support, np.array([value]))
            return value, cut_of(sub.problem.bounds(support), 0, chosen)

        greedy = np.arange(sub.size)
        _, at_greedy = visit(greedy)
        cuts = [cut_of(sub.bounds, sub.row, greedy), at_greedy]
        return self.prove(cuts, sub.size, visit, collector, run)
