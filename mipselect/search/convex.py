"""The search for any convex loss: depth-first branch and bound with Fenchel bounds.

A node is screened, then handed to an engine that can settle it, or divided by the first feature
that is added; every child is bounded by the optimum on its own, larger base.

A dual point bounds every completion of a base at once: with the squares c_j = w_j² of its weights,

    R(B ∪ T) ≥ bound(Σ_{j∈B} c_j + Σ_{j∈T} c_j),   decreasing in the sum

(see `mipselect.restricted.fenchel`), so that the best completion of a feature is found by a sort.
The optimum on B leaves large weights to features that would enter gainfully, and to all that
correlate with them. The optimum of the problem in which every live feature may enter in part,
feature j with the ridge λ/z_j for weights 0 ≤ z ≤ 1 with Σ z = m, does not: for the best z it is
the best dual point of all completions (docs/mathematics/cuts.md, (16)).
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import Budget, ModularBound, largest_sum
from mipselect.restricted.fenchel import EPS, FenchelBounds, FenchelLoss
from mipselect.search.collectors import Collector
from mipselect.search.cuts import OuterApproximation
from mipselect.search.expansion import Expansion
from mipselect.search.progress import TRY, Deadline, Run
from mipselect.search.tree import (
    Engine,
    Node,
    NodeStrategy,
    TreeMethod,
    TreeSearch,
    by_engine,
    removed_sets,
    suits_engine,
)
from mipselect.search.tuning import TUNING, Strategy, Tuning


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
    """Settle nodes of size one together."""
    supports = np.concatenate([node.supports(np.arange(len(node.live))[:, None]) for node in nodes])
    owner = np.repeat(np.arange(len(nodes)), [len(node.live) for node in nodes])
    cutoff = run.limit(collector, nodes[0].tuning)
    bounds = np.concatenate([last_bounds(node, cutoff, run) for node in nodes])
    offer_in_order(nodes, owner, supports, bounds, collector, run)


def offer_in_order(
    nodes: list[FenchelNode],
    owner: IntArray,
    supports: IntArray,
    bounds: FloatArray,
    collector: Collector,
    run: Run,
) -> None:
    """Settle supports, each of nodes[owner], in the order of their bounds."""
    tuning, order = nodes[0].tuning, np.argsort(bounds, kind="stable")
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
        super().__init__([everything], np.array([-cutoff]), self._limits.steps)
        self.best = node.bounds.only(node.row)
        self.lowest[0] = -proven(self.best, node)

    def improved(self) -> FenchelBounds:
        """Find the best dual point by the features with the largest weights."""
        credits, size = self._node.credits, self._node.size
        start = np.argsort(-credits, kind="stable")[: self._node.tuning.expanding.likely * size]
        z = np.zeros((1, len(credits)))
        z[0, start] = size / len(start)
        self.admit(start)
        if not self.lowest[0] <= self.needed[0]:
            self.improve(z)
        return self.best

    def promising(self, step: int) -> int:
        """Return the same number after every step."""
        return self._node.tuning.expanding.promising

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


class FenchelMasters(OuterApproximation[FenchelNode]):
    """Engine of Fenchel cuts and a MIP solver."""

    def settle(self, sub: FenchelNode, collector: Collector, run: Run) -> bool:
        """Add cuts until the master proves that nothing below the threshold is left."""

        def cut_of(bounds: FenchelBounds, row: int, chosen: IntArray) -> ModularBound:
            own, credits = bounds.own(row, sub.base), bounds.weights[row][sub.live]
            length = math.sqrt(own + float(credits[chosen].sum()))
            return fenchel_cut(bounds, row, own, credits, length)

        def visit(chosen: IntArray) -> tuple[float, ModularBound]:
            support = sub.supports(chosen[None])
            value = float(sub.problem.values(support)[0])
            collector.offer(support, np.array([value]))
            return value, cut_of(sub.problem.bounds(support), 0, chosen)

        greedy = np.arange(sub.size)
        _, at_greedy = visit(greedy)
        cuts = [cut_of(sub.bounds, sub.row, greedy), at_greedy]
        return self.prove(cuts, sub.size, visit, collector, run)


ConvexTree = TreeSearch[FenchelNode]


def divide(nodes: list[FenchelNode], tree: ConvexTree) -> None:
    """Settle sibling nodes, which have the same size."""
    tree.visit(len(nodes))
    solved = multiplications(nodes[0].bounds.n, len(nodes), len(nodes[0].base))
    tree.run.accounts.work += solved
    if nodes[0].size == 1:
        with tree.run.accounts.trying("last additions") as account:
            offer_last_additions(nodes, tree.collector, tree.run)
            account.successes += 1
        return
    bounds = np.array([node.best_bounds.min(initial=np.inf) for node in nodes])
    for k, node in enumerate(nodes):
        with tree.within(bounds[k], waiting=bounds[k + 1 :].min(initial=np.inf)):
            tree.try_in_order(STRATEGIES, node)


def by_the_best_dual_point(node: FenchelNode, tree: ConvexTree) -> FenchelNode:
    """Drop the features whose best completion, by a better dual point of all, cannot matter."""
    cutoff = tree.cutoff
    expansion = DualExpansion(node, cutoff)
    first, point = expansion.best, expansion.improved()
    tree.run.accounts.work += expansion.work
    if point is first:
        return node
    squares = ModularBound(point.own(0, node.base), point.weights[0][node.live])
    bounds = point.bound(0, squares.with_each(node.size))
    return replace(screened(node, bounds, tree.collector, cutoff), family_point=point)


def by_evaluation(node: FenchelNode, tree: ConvexTree) -> FenchelNode | None:
    """Evaluate the completions that are open by their bounds, where dividing solves as many.

    It solves a problem for every open family, and on every size down to one.
    """
    if node.number > node.tuning.masters.enumerated:
        return node
    (positions,) = node.sets(node.number)
    bounds = node.bound(node.credits[positions].sum(axis=1))
    if np.count_nonzero(bounds < tree.cutoff) > node.size * node.extent(tree.cutoff):
        return node
    supports, owner = node.supports(positions), np.zeros(len(positions), dtype=np.intp)
    offer_in_order([node], owner, supports, bounds, tree.collector, tree.run)
    return None


def divided_by_first_feature(node: FenchelNode, tree: ConvexTree) -> None:
    """Settle the families by the first feature, batch by batch."""
    families, siblings = node.family_bounds, node.tuning.dual_points.bases
    for start in range(0, len(families), siblings):
        bounds = families[start : start + siblings]
        open_ = bounds < tree.cutoff
        tree.collector.settle(float(np.min(bounds[~open_], initial=np.inf)))
        firsts = start + np.flatnonzero(open_)
        if len(firsts):
            bases = np.array([np.append(node.base, node.live[k]) for k in firsts])
            live = [node.live[k + 1 :] for k in firsts]
            near, later = node.bounds.start(node.row), families[start + siblings :]
            with tree.within(bounds[open_].min(), waiting=later.min(initial=np.inf)):
                given = node.problem, bases, node.size - 1, live, node.tuning, near
                divide(fenchel_nodes(*given), tree)


ConvexStrategy = NodeStrategy[FenchelNode, ConvexTree]

STRATEGIES = (
    ConvexStrategy(
        Strategy.SCREENING,
        lambda node, tree: screened(node, node.best_bounds, tree.collector, tree.cutoff),
    ),
    ConvexStrategy(None, by_evaluation),
    ConvexStrategy(
        Strategy.DUAL_POINTS,
        by_the_best_dual_point,
        lambda node, tree: tree.worth(
            Strategy.DUAL_POINTS, node.size, extent=node.extent(tree.cutoff)
        ),
    ),
    ConvexStrategy(None, by_engine, suits_engine),
    ConvexStrategy("division", divided_by_first_feature),
)
"""The order in which strategies are tried at every node; the last one always settles it."""


@dataclass(frozen=True, eq=False)
class ConvexNeighbourhood:
    """A support Ŝ, the bound of its dual optimum, and the levels around it.

    The support has shape (s,).
    """

    problem: FenchelLoss
    engine: Engine[FenchelNode]
    support: IntArray
    value: float
    tuning: Tuning = TUNING

    @cached_property
    def root(self) -> FenchelBounds:
        """The dual optimum on Ŝ."""
        return self.problem.bounds(self.support[None])

    @cached_property
    def entering(self) -> IntArray:
        """The features outside Ŝ, those with the largest weight first."""
        outside = np.setdiff1d(np.arange(self.problem.p), self.support)
        return outside[np.argsort(-self.root.weights[0][outside], kind="stable")]

    def level_bound(self, level: int) -> float:
        """Bound R from below on a whole level by the dual optimum on Ŝ, at the cost of a sort."""
        costs = np.sort(self.root.weights[0][self.support])
        return self._root_bound(float(costs[:level].sum()), level)

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer every support at distance `level` below the cutoff, and settle the rest.

        Where it is stopped, it settles what is proven of all that is open.
        """
        tuning = self.tuning
        tree = TreeSearch(collector, self.engine, run, tuning)
        costs, proven = self.root.weights[0][self.support], self.level_bound(level)
        sets, size = removed_sets(costs, level), tuning.dual_points.bases
        with tree.settled():
            while batch := list(itertools.islice(sets, size)):
                proven = self._root_bound(batch[0][0], level)
                later = self._root_bound(batch[-1][0], level)
                run.bound, run.incumbent = proven, collector.threshold
                with tree.within(proven, waiting=later):
                    run.tick()
                    if proven >= tree.cutoff:
                        collector.settle(proven)
                        return
                    bases = np.array([np.delete(self.support, removed) for _, removed in batch])
                    live = [self.entering] * len(batch)
                    near = self.root.start(0)
                    nodes = fenchel_nodes(self.problem, bases, level, live, tuning, near)
                    if tuning.uses(Strategy.COMPLETIONS):
                        likely = np.arange(level)[None]
                        greedy = np.concatenate([node.supports(likely) for node in nodes])
                        with run.accounts.trying(Strategy.COMPLETIONS) as account:
                            values = self.problem.values(greedy, starts(nodes))
                            account.successes += bool((values < collector.threshold).any())
                        collector.offer(greedy, values)
                    divide(nodes, tree)
                    run.done += len(batch)

    def _root_bound(self, cost: float, level: int) -> float:
        weights = self.root.weights[0]
        inside = float(weights[self.support].sum())
        # What stays inside may be far below what is taken from it, or below the rounding of that.
        kept = max(0.0, inside - cost) + 4.0 * EPS * len(self.support) * inside
        entering = float(weights[self.entering[:level]].sum()) + float(self.root.always[0])
        return float(self.root.bound(0, np.asarray(kept + entering)))


class ConvexMethod(TreeMethod[FenchelLoss, FenchelNode]):
    """Search by Fenchel bounds."""

    def center(self, size: int, run: Run) -> ConvexNeighbourhood:
        """Select forward by weight, then take the best swap until none helps."""
        support, near = np.empty(0, dtype=np.intp), None
        for _ in range(size):
            run.tick()
            bounds = self.problem.bounds(support[None], near)
            weights, near = bounds.weights[0], bounds.start(0)
            weights[support] = -1.0
            support = np.sort(np.append(support, int(np.argmax(weights))))
        center = self.center_at(support, float(self.problem.values(support[None])[0]), run)
        while size < self.problem.p and self.tuning.uses(Strategy.SWAPS):
            best = Collector(1, 0.0)
            best.offer(center.support[None], np.array([center.value]))
            with run.accounts.trying(Strategy.SWAPS) as account:
                center.search_level(1, best, run)
                account.successes += best.value < center.value
            if best.value >= center.value:
                break
            (support,), _ = best.best()
            center = self.center_at(support, best.value, run)
        return center

    def relaxation(self, size: int, grace: Deadline) -> float:
        """Bound R from below on all supports by a few dual points; see `Method`."""
        none, everything = np.empty((1, 0), dtype=np.intp), np.arange(self.problem.p)
        (node,) = fenchel_nodes(self.problem, none, size, [everything], self.tuning)
        return max(0.0, proven(DualRelaxation(node, grace).improved(), node))

    def center_at(self, support: IntArray, value: float, run: Run) -> ConvexNeighbourhood:
        """Return the neighbourhood of a support whose value is known."""
        return ConvexNeighbourhood(self.problem, self.engine, support, value, self.tuning)
