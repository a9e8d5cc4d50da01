"""The search for any convex loss: depth-first branch and bound with Fenchel bounds.

A node is screened, then handed to an engine that can settle it, or divided by the first
feature that is added; every child is bounded by the optimum on its own, larger base.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import IntArray
from mipselect.restricted.fenchel import EPS, FenchelBounds, FenchelLoss
from mipselect.search.collectors import Collector
from mipselect.search.convex.expansion import best_dual_bound, screened_by_family_point
from mipselect.search.convex.node import (
    FenchelNode,
    fenchel_nodes,
    multiplications,
    offer_last_additions,
    screened,
    starts,
)
from mipselect.search.neighbourhood import Engine, removed_sets
from mipselect.search.progress import Deadline, Run
from mipselect.search.strategies import Strategy
from mipselect.search.tree import (
    NodeStrategy,
    TreeMethod,
    TreeSearch,
    always,
    by_engine,
    suits_engine,
)
from mipselect.search.tuning import TUNING, Tuning

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


def by_its_dual_point(node: FenchelNode, tree: ConvexTree) -> FenchelNode:
    """Drop the features whose best completion, by the dual optimum on the base, cannot matter."""
    return screened(node, node.best_bounds, tree.collector, tree.cutoff)


def worth_a_dual_point(node: FenchelNode, tree: ConvexTree) -> bool:
    """Tell whether a node that is screened is worth a dual point of its own."""
    return tree.worth(Strategy.DUAL_POINTS, node.size, extent=node.extent(tree.cutoff))


def by_the_best_dual_point(node: FenchelNode, tree: ConvexTree) -> FenchelNode:
    """Drop the features whose best completion, by a dual point of the family, cannot matter."""
    return screened_by_family_point(node, tree.collector, tree.cutoff, tree.run)


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
    ConvexStrategy(Strategy.SCREENING, always, by_its_dual_point),
    ConvexStrategy(Strategy.DUAL_POINTS, worth_a_dual_point, by_the_best_dual_point),
    ConvexStrategy(None, suits_engine, by_engine),
    ConvexStrategy("division", always, divided_by_first_feature),
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
        return max(0.0, best_dual_bound(node, grace))

    def center_at(self, support: IntArray, value: float, run: Run) -> ConvexNeighbourhood:
        """Return the neighbourhood of a support whose value is known."""
        return ConvexNeighbourhood(self.problem, self.engine, support, value, self.tuning)
