"""Nodes for convex losses: choose m features to add to a base, by Fenchel bounds.

A dual point bounds every completion at once: with the squares c_j = w_j² of its weights,

    R(B ∪ T) ≥ bound(Σ_{j∈B} c_j + Σ_{j∈T} c_j),   decreasing in the sum

(see `mipselect.restricted.fenchel`), so that the best completion of a feature is found by a sort.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.fenchel import FenchelBounds, FenchelLoss
from mipselect.search.accounts import TRY
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.node import Node
from mipselect.search.progress import Run
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Tuning


@dataclass(frozen=True, eq=False)
class FenchelNode(Node):
    """A `Node` with a dual point; where it is divided, its live features are in falling order.

    The point is number `row` of `bounds`; the only one of `family_point`, if there is one, was
    chosen for all completions.
    """

    problem: FenchelLoss
    bounds: FenchelBounds
    row: int
    tuning: Tuning = TUNING
    family_point: FenchelBounds | None = None

    @property
    def credits(self) -> FloatArray:
        """c_j of the live features, shape (L,)."""
        return np.asarray(self.bounds.weights[self.row][self.live])

    @property
    def best_bounds(self) -> FloatArray:
        """Lower bound over the completions that contain live[k], for every k: rising in k."""
        own = self.bounds.own(self.row, self.base)
        squares = ModularBound(own, self.credits).with_each(self.size)
        return self.bounds.bound(self.row, squares)

    def extent(self, cutoff: float) -> float:
        """Count the families by the first feature that are not settled by their bounds.

        Nodes with few of them are divided in less time than a dual point takes.
        """
        return float(np.count_nonzero(self.family_bounds < cutoff))

    @cached_property
    def family_bounds(self) -> FloatArray:
        """Lower bound over the completions whose first feature is live[k]."""
        sums = np.convolve(self.credits, np.ones(self.size), mode="valid")
        bounds = self.bound(sums)
        if self.family_point is not None:
            credits = self.family_point.weights[0][self.live]
            sums = credits[: len(sums)] + largest_after(credits, self.size - 1)[: len(sums)]
            own = self.family_point.own(0, self.base)
            bounds = np.maximum(bounds, self.family_point.bound(0, own + sums))
        return bounds

    def bound(self, credit: FloatArray) -> FloatArray:
        """Bound completions with Σ_{j∈T} c_j = `credit` from below."""
        return self.bounds.bound(self.row, self.bounds.own(self.row, self.base) + credit)


def multiplications(rows: int, supports: int, columns: int) -> float:
    """Count those of so many restricted problems that are solved at once, by twenty steps.

    What a row takes besides products with columns counts as twenty, a step as one and a half tries.
    """
    return 20.0 * (1.5 * TRY + rows * supports * (20.0 + 4.0 * columns))


def largest_after(credits: FloatArray, count: int) -> FloatArray:
    """Add up the `count` largest, or all, of the credits after each; shape (L,)."""
    sums, kept, total = np.empty(len(credits)), [0.0] * count, 0.0
    for k in range(len(credits) - 1, -1, -1):
        sums[k] = total
        if count:
            total += credits[k] - heapq.heappushpop(kept, float(credits[k]))
    return sums


def fenchel_nodes(
    problem: FenchelLoss,
    bases: IntArray,
    size: int,
    live: list[IntArray],
    tuning: Tuning = TUNING,
    near: FloatArray | None = None,
) -> list[FenchelNode]:
    """Make the nodes of several bases, shape (m, k), each at the optimum on its base.

    The solutions begin at `near`, the coefficients of all columns on a support nearby.
    """
    bounds = problem.bounds(bases, near)
    nodes = []
    for row, (base, features) in enumerate(zip(bases, live, strict=True)):
        order = np.argsort(-bounds.weights[row][features], kind="stable")
        nodes.append(FenchelNode(base, size, features[order], problem, bounds, row, tuning))
    return nodes


def screened(
    node: FenchelNode, bounds: FloatArray, collector: Collector, cutoff: float
) -> FenchelNode:
    """Drop the features whose best completion is not below `cutoff` by these bounds, shape (L,)."""
    below = bounds < cutoff
    collector.settle(float(np.min(bounds[~below], initial=np.inf)))
    return node.restricted(np.flatnonzero(below))


def last_bounds(node: FenchelNode, cutoff: float, run: Run) -> FloatArray:
    """Bound base ∪ {live[k]} from below, by more work where the base's bound is below `cutoff`."""
    bounds, point = node.best_bounds, node.bounds.points
    open_ = np.flatnonzero(bounds < cutoff)
    if not len(open_) or cutoff == np.inf or not node.tuning.uses(Strategy.ONE_MORE):
        return bounds
    if point is not None:
        with run.accounts.trying(Strategy.ONE_MORE) as account:
            run.accounts.work += 10.0 * TRY + 50.0 * node.bounds.n * len(open_)
            step = node.problem.bounds_with_one_more
            stepped = step(node.base, point[node.row], node.live[open_])
            bounds[open_] = np.maximum(bounds[open_], np.where(stepped < np.inf, stepped, -np.inf))
            account.successes += bool((bounds[open_] >= cutoff).any())
    return bounds


def offer_last_additions(nodes: list[FenchelNode], collector: Collector, run: Run) -> None:
    """Settle nodes of size one together: their supports in order of their bounds."""
    supports = np.concatenate([node.supports(np.arange(len(node.live))[:, None]) for node in nodes])
    owner = np.repeat(np.arange(len(nodes)), [len(node.live) for node in nodes])
    tuning = nodes[0].tuning
    cutoff = run.limit(collector, tuning)
    bounds = np.concatenate([last_bounds(node, cutoff, run) for node in nodes])
    order = np.argsort(bounds, kind="stable")
    batch = tuning.dual_points.supports
    for start in range(0, len(order), batch):
        run.tick()
        chosen = order[start : start + batch]
        chosen = chosen[bounds[chosen] < run.limit(collector, tuning)]
        if len(chosen):
            near = starts([nodes[k] for k in owner[chosen]])
            rows, columns = nodes[0].bounds.n, supports.shape[1]
            run.accounts.work += multiplications(rows, len(chosen), columns)
            collector.offer(supports[chosen], nodes[0].problem.values(supports[chosen], near))
        if len(chosen) < batch and start + len(chosen) < len(order):
            collector.settle(float(bounds[order[start + len(chosen)]]))
            return


def starts(nodes: list[FenchelNode]) -> FloatArray | None:
    """Return the coefficients on the bases of these nodes, shape (m, c), if all are known."""
    known = [node.bounds.start(node.row) for node in nodes]
    return None if any(coef is None for coef in known) else np.array(known)


def enumerate_completions(node: FenchelNode, collector: Collector, run: Run) -> None:
    """Evaluate every completion that its own bound does not settle."""
    credits, batch = node.credits, node.tuning.dual_points.supports
    for positions in node.sets(8 * batch):
        bounds = node.bound(credits[positions].sum(axis=1))
        order = np.argsort(bounds, kind="stable")
        for start in range(0, len(order), batch):
            run.tick()
            chosen = order[start : start + batch]
            open_ = bounds[chosen] < run.limit(collector, node.tuning)
            collector.settle(float(np.min(bounds[chosen[~open_]], initial=np.inf)))
            if open_.any():
                supports = node.supports(positions[chosen[open_]])
                collector.offer(supports, node.problem.values(supports))
