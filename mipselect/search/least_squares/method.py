"""The search for the squared loss: an incumbent, its root cut, and the levels around it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.accounts import TRY
from mipselect.search.bounds.modular import Budget, ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.branch_and_bound import bounded, divide, likely_additions
from mipselect.search.least_squares.center import (
    Center,
    Incumbent,
    best_by_swaps,
    center_at,
    offer_swapped,
)
from mipselect.search.least_squares.expansion import best_expanded
from mipselect.search.least_squares.node import (
    SquaredNode,
    greedy_completion,
    squared_node,
)
from mipselect.search.least_squares.removed_families import open_nodes
from mipselect.search.least_squares.root_cuts import (
    changes,
    lean_cut,
    level_bound,
    root_cut,
)
from mipselect.search.least_squares.shares import largest_gains
from mipselect.search.least_squares.tree import GramMeasures, SquaredTree, is_crowded
from mipselect.search.neighbourhood import Engine, removed_sets
from mipselect.search.progress import Deadline, Run
from mipselect.search.strategies import Strategy
from mipselect.search.tree import TreeMethod


def search_level(center: Center, level: int, cut: ModularBound, tree: SquaredTree) -> None:
    """Offer every support of the level below the cutoff; settle a bound for the rest.

    A level that turns out to be long is begun again, with families of removed sets; so is one
    that cannot do without the largest entries of G, when these are known.
    """
    proven, persistent = level_bound(center, cut, level), tree.is_long
    if proven >= tree.cutoff:
        tree.collector.settle(proven)
        return
    nodes = listed_nodes(center, cut, level, tree)
    if persistent and center.tuning.uses(Strategy.REMOVED_FAMILIES):
        nodes = open_nodes(center, level, proven, tree)
    for proven, waiting, node in nodes:
        tree.run.bound, tree.run.incumbent = proven, tree.collector.threshold
        if tree.is_long and not persistent:
            search_level(center, level, cut, tree)
            return
        with tree.within(proven, waiting):
            left = begun(node, tree)
            if left is not None and center.lean and is_crowded(left):
                center.tops.find(tree.run.tick)
                cuts = cut, root_cut(center, level)
                better = max(cuts, key=lambda known: level_bound(center, known, level))
                search_level(center, level, better, tree)
                return
            divide(left, tree)
        tree.run.done += 1


def listed_nodes(
    center: Center, cut: ModularBound, level: int, tree: SquaredTree
) -> Iterator[tuple[float, float, SquaredNode]]:
    """Yield the node of every removed set that is not pruned at once, with two bounds.

    One is on its own supports, one on what follows. They come in the order of what leaving costs;
    the others are settled. The first has good supports, which prune most of the others, so that
    these are made and bounded many at once.
    """
    leaving, entering = changes(center, level)
    best = cut.largest([entering])
    every = removed_sets(-cut.terms[leaving.positions], level)
    limits, count = center.tuning.together, 1
    singles = center.problem.features.singles
    most = max(1, limits.entries // len(center.candidates)) if singles else 1
    while some := list(itertools.islice(every, count)):
        with tree.within(some[0][0] - best):
            nodes = center.nodes(np.stack([np.delete(center.support, at) for _, at in some]), level)
        gains = largest_gains(nodes) if len(nodes) > 1 else np.full(1, np.inf)
        for (cost, _), node, gain in zip(some, nodes, gains, strict=True):
            proven, cutoff = max(0.0, cost - best), tree.cutoff
            with tree.within(proven):
                tree.run.tick()
                if proven >= cutoff:
                    tree.collector.settle(proven)
                    return
                pruned = gain <= node.needed_gain(cutoff) and center.tuning.uses(Strategy.SCREENING)
                if pruned:
                    with tree.run.accounts.trying(Strategy.SCREENING) as account:
                        account.successes += 1
                        tree.visit()
                    tree.collector.settle(cutoff)
                    tree.run.done += 1
            if not pruned:
                yield proven, proven, node
        count = min(most, limits.siblings)


def begun(node: SquaredNode, tree: SquaredTree) -> SquaredNode | None:
    """Bound a node before its completion is offered, once there is a cutoff: few are left."""
    left = bounded(node, tree) if tree.cutoff < math.inf else node
    if left is None or len(left.live) < left.size:
        return None
    more = completed(left, tree)
    if more.bound is None:
        return bounded(more, tree)
    cutoff = tree.cutoff
    tree.collector.settle(cutoff)
    return more.restricted(more.bound.screened(more.size, more.needed_gain(cutoff)))


def completed(node: SquaredNode, tree: SquaredTree) -> SquaredNode:
    """Offer the greedy completion of a node, for a cutoff; the node with the completion's ν.

    That makes bounds tight where the norm constraint is active.
    """
    tuning = node.tuning
    if not (tuning.uses(Strategy.COMPLETIONS) or tuning.uses(Strategy.MULTIPLIERS)):
        return node
    with tree.run.accounts.trying(Strategy.COMPLETIONS, node.size) as account:
        tree.run.accounts.work += (
            node.size * TRY + (node.size + len(node.whitened)) * node.whitened.size
        )
        support = np.sort(np.append(node.base, node.live[greedy_completion(node)]))
        fit = node.problem.fit(support)
        if tuning.uses(Strategy.COMPLETIONS):
            account.successes += fit.value < tree.collector.threshold
            tree.collector.offer(support[None], np.array([fit.value]))
    if not (fit.multiplier > 0.0 and tuning.uses(Strategy.MULTIPLIERS)):
        return node
    return squared_node(
        node.problem, node.base, node.size, node.live, fit.multiplier, node.row_tops, tuning
    )


@dataclass(frozen=True, eq=False)
class LeastSquaresNeighbourhood:
    """A `Center` with the engine that settles its nodes, and level 1 where swaps evaluated it."""

    center: Center
    engine: Engine[SquaredNode]
    measures: GramMeasures
    swapped: FloatArray | None = None
    _cuts: dict[tuple[int, bool], ModularBound] = field(default_factory=dict, init=False)

    @property
    def support(self) -> IntArray:
        """Ŝ, sorted, shape (s,)."""
        return self.center.support

    @property
    def value(self) -> float:
        """R(Ŝ)."""
        return self.center.value

    def level_bound(self, level: int) -> float:
        """Bound R from below on a whole level, by its root cut if no values are known."""
        if level == 1 and self.swapped is not None:
            return max(0.0, float(self.swapped.min()))
        return level_bound(self.center, self._cut(level), level)

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer every support of a level below the cutoff; settle a bound for the rest.

        Where it is stopped, it settles what is proven of all that is open.
        """
        if level == 1 and self.swapped is not None:
            offer_swapped(self.support, self.swapped, collector)
            return
        tree = SquaredTree(collector, self.engine, run, self.center.tuning, self.measures)
        with tree.settled():
            with run.accounts.trying(Strategy.ROOT_CUTS) as account:
                cut = self._cut(level)
                account.successes += level_bound(self.center, cut, level) >= tree.cutoff
            search_level(self.center, level, cut, tree)

    def _cut(self, level: int) -> ModularBound:
        """Make the cut of a level once, and once more when more is known of G."""
        lean = self.center.lean and level > 1
        if (level, lean) not in self._cuts:
            self._cuts[level, lean] = (
                lean_cut(self.center, self._cut(1), level) if lean else root_cut(self.center, level)
            )
        return self._cuts[level, lean]


class LeastSquaresMethod(TreeMethod[PreparedSquared, SquaredNode]):
    """Search by Schur complements."""

    def center(self, size: int, run: Run) -> LeastSquaresNeighbourhood:
        """Find a support that no swap improves, with its cut."""
        return self._around(best_by_swaps(self.problem, size, run, self.tuning), run)

    def center_at(self, support: IntArray, value: float, run: Run) -> LeastSquaresNeighbourhood:
        """Return the neighbourhood of a support whose value is known."""
        return self._around(Incumbent(support, value), run)

    def relaxation(self, size: int, grace: Deadline) -> float:
        """Bound R from below on all supports around the best points; see `Method`."""
        problem, tuning, best = self.problem, self.tuning, 0.0
        none, everything = np.empty(0, dtype=np.intp), np.arange(problem.features.count)
        whole = squared_node(problem, none, size, everything, 0.0, None, tuning)
        found = problem.fit(np.sort(greedy_completion(whole)))
        if found.multiplier > 0.0:
            whole = squared_node(problem, none, size, everything, found.multiplier, None, tuning)
        budget = Budget(everything, size)
        start, needed = likely_additions(whole), whole.needed_gain(found.value)
        for curvature in self.measures.ready_curvatures():
            given = whole, curvature.at(whole), [budget], start, needed
            bound = best_expanded(*given, tuning.expanding.close)
            best = max(best, whole.lower_bound(bound.largest([budget])))
            if grace.remaining <= 0.0:
                break
        return best

    def _around(self, incumbent: Incumbent, run: Run) -> LeastSquaresNeighbourhood:
        return LeastSquaresNeighbourhood(
            center_at(self.problem, incumbent.support, incumbent.value, run, self.tuning),
            self.engine,
            self.measures,
            incumbent.swapped,
        )

    @cached_property
    def measures(self) -> GramMeasures:
        """Measures of G, shared by all neighbourhoods."""
        return GramMeasures(self.problem, self.tuning)
