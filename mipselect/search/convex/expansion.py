"""Dual points for all completions of a node, in place of the optimum on their common base.

The bound of any dual point α on the supports B ∪ T, T of m live features, is decreasing in
Σ_{j∈B∪T} w_j². The optimum on B leaves large weights to features that would enter gainfully, and
to all that correlate with them. The optimum of the problem in which every live feature may enter
in part, feature j with the ridge λ/z_j for weights 0 ≤ z ≤ 1 with Σ z = m, does not: for the best z
it is the best dual point of the whole family (docs/mathematics/cuts.md, (16)).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.fenchel import FenchelBounds
from mipselect.search.bounds.expansion import Expansion
from mipselect.search.bounds.modular import Budget, ModularBound, largest_sum
from mipselect.search.collectors import Collector
from mipselect.search.convex.node import FenchelNode, multiplications, screened
from mipselect.search.progress import Deadline, Run


def proven(point: FenchelBounds, node: FenchelNode) -> float:
    """Bound R from below on all supports of a node by the only dual point of `point`."""
    largest = largest_sum(point.weights[0][node.live], node.size)
    return float(point.bound(0, np.asarray(point.own(0, node.base) + largest)))


class DualExpansion(Expansion):
    """The best dual point of one node; terms are the squares of its weights.

    Parameters
    ----------
    node : FenchelNode
    cutoff : float
        A bound on R that needs no improvement.
    """

    def __init__(self, node: FenchelNode, cutoff: float) -> None:
        self._node, self._limits = node, node.tuning.dual_points
        everything = Budget(np.arange(len(node.live)), node.size)
        super().__init__([everything], np.array([-cutoff]), self._limits)
        self.best = node.bounds.only(node.row)
        self.lowest[0] = -proven(self.best, node)

    def improved(self) -> FenchelBounds:
        """Find the best dual point by the features with the largest weights."""
        credits, size = self._node.credits, self._node.size
        start = np.argsort(-credits, kind="stable")[: self._limits.likely * size]
        z = np.zeros((1, len(credits)))
        z[0, start] = size / len(start)
        self.admit(start)
        if not self.lowest[0] <= self.needed[0]:
            self.improve(z)
        return self.best

    def tried(self, rows: IntArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Try the optimum of the problem in which feature j has the ridge λ/z_j."""
        node, inside = self._node, np.flatnonzero(z[0])
        point = node.problem.scaled_bounds(
            np.concatenate([node.base, node.live[inside]]),
            np.sqrt(np.concatenate([np.ones(len(node.base)), z[0, inside]])),
            reach=1.0,
            precision=self._limits.precision,
        )
        self.work += multiplications(node.bounds.n, 1, len(node.base) + len(inside))
        value = proven(point, node)
        if -value < self.lowest[0]:
            self.best, self.lowest[0] = point, -value
        terms = point.weights[0][node.live]
        own = np.asarray(point.own(0, node.base) + z[0] @ terms)
        return terms[None], -np.atleast_1d(point.bound(0, own))

    def enough(self, rows: IntArray, reachable: FloatArray) -> NDArray[np.bool_]:
        """Tell where the bound is enough, or no point will be."""
        return (self.lowest <= self.needed) | (reachable > self.needed)


class DualRelaxation(DualExpansion):
    """The best dual point of one node for the sake of its bound, until a deadline."""

    def __init__(self, node: FenchelNode, grace: Deadline) -> None:
        super().__init__(node, math.inf)
        self._grace = grace

    def enough(self, rows: IntArray, reachable: FloatArray) -> NDArray[np.bool_]:
        """Tell where little more can be reached, or no time is left."""
        little = self._limits.precision * np.abs(self.lowest)
        return np.asarray(~(self.lowest - reachable > little) | (self._grace.remaining <= 0.0))


def best_dual_bound(node: FenchelNode, grace: Deadline) -> float:
    """Bound R from below on all supports of a node, by its own dual point or a better one."""
    return proven(DualRelaxation(node, grace).improved(), node)


def screened_by_family_point(
    node: FenchelNode, collector: Collector, cutoff: float, run: Run
) -> FenchelNode:
    """Drop the features whose best completion is not below `cutoff` by a better dual point."""
    expansion = DualExpansion(node, cutoff)
    first, point = expansion.best, expansion.improved()
    run.accounts.work += expansion.work
    if point is first:
        return node
    squares = ModularBound(point.own(0, node.base), point.weights[0][node.live])
    bounds = point.bound(0, squares.with_each(node.size))
    return replace(screened(node, bounds, collector, cutoff), family_point=point)
