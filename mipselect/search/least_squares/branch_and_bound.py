"""Depth-first branch and bound over additions to a base.

A node is bounded and screened, then handed to an engine that can settle it, or divided: the
additions are ordered by their shares and the first one to be taken splits the sets of additions
into disjoint families. The child of j may only add features after j, and the sum of its largest
shares bounds its gain, so the division stops at the first family that cannot matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import Budget, ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.clusters import by_clusters
from mipselect.search.least_squares.curvature import ChildrenConvexity
from mipselect.search.least_squares.expansion import best_expanded_children
from mipselect.search.least_squares.node import Children, Division, SquaredNode, children_of
from mipselect.search.least_squares.shares import screened, shares_without_blocks
from mipselect.search.least_squares.tree import SquaredTree
from mipselect.search.progress import TRY
from mipselect.search.tree import NodeStrategy, by_engine, suits_engine
from mipselect.search.tuning import Strategy


def branch_and_bound(node: SquaredNode, tree: SquaredTree) -> None:
    """Offer every set of additions below the cutoff and settle a bound for all others.

    Where the search is long, those that are above the target are settled as well.
    """
    left = tree.try_in_order([ENGINE], node)
    if left is not None:
        divide(bounded(left, tree), tree)


def bounded(node: SquaredNode, tree: SquaredTree) -> SquaredNode | None:
    """Drop and settle the features that cannot matter: a smaller node with its bound, or None."""
    tree.visit()
    tree.run.accounts.work += len(node.live) * (len(node.whitened) + 1)
    cutoff = tree.cutoff
    left = tree.try_in_order(BOUNDS, node)
    if left is None or len(left.live) < len(node.live):
        tree.collector.settle(cutoff)
    return left


def divide(node: SquaredNode | None, tree: SquaredTree) -> None:
    """Settle what is left of a node that has a bound, if anything is."""
    if node is None or len(node.live) < node.size:
        return
    families = 0 if node.size == 1 else len(node.division.open(node.needed_gain(tree.cutoff)))
    with tree.within(node.lower_bound(float(node.division.gains[0]))):
        tree.try_in_order(SETTLEMENTS, tree.informed(node, families))


def likely_additions(node: SquaredNode) -> FloatArray:
    """Return the weights of the point that a bound begins with, shape (L,)."""
    most = node.tuning.expanding.likely * node.size
    likely = np.argsort(-node.gains_alone(), kind="stable")[:most]
    start = np.zeros(len(node.live))
    start[likely] = node.size / len(likely)
    return start


def around_points(node: SquaredNode, tree: SquaredTree) -> SquaredNode:
    """Drop every live feature whose best completion cannot matter, around an expansion point."""
    budget = Budget(np.arange(len(node.live)), node.size)
    start = likely_additions(node)
    needed = node.needed_gain(tree.cutoff)
    bound = tree.expanded(node, [budget], start, needed, node.tuning.expanding.close)
    return replace(node, bound=bound).restricted(bound.screened(node.size, needed))


def is_around_a_point(node: SquaredNode, tree: SquaredTree) -> bool:
    """Tell whether additions of one column each are bounded around an expansion point."""
    if node.bound is None or not node.tuning.uses(Strategy.FEWER_FAMILIES):
        return False
    pairs_or_more = 1 < node.size <= len(node.live) and node.problem.features.singles
    return pairs_or_more and node.bound.constant > 0.0


def by_fewer_families(node: SquaredNode, tree: SquaredTree) -> SquaredNode:
    """Take the bound by shares in place of one around a point, if it leaves fewer families open.

    A point that says less of the best completion may say more of all others.
    """
    cutoff, by_shares = tree.cutoff, ModularBound(0.0, shares_without_blocks(node))
    needed, other = node.needed_gain(cutoff), replace(node, bound=by_shares)
    if len(other.division.open(needed)) >= len(node.division.open(needed)):
        return node
    tree.collector.settle(cutoff)
    return other.restricted(by_shares.screened(node.size, needed))


def evaluated(node: SquaredNode, tree: SquaredTree) -> None:
    """Evaluate every feature that may be the last."""
    offer_additions(node, np.arange(len(node.live))[:, None], tree.collector)


def has_clusters(node: SquaredNode, tree: SquaredTree) -> bool:
    """Tell whether all clusters of near features are known, and worth a try."""
    if node.near is None or node.size < 3 or not tree.worth(Strategy.CLUSTERS, node.size):
        return False
    return node.near.up_to(node.size) is not None


def by_few_clusters(node: SquaredNode, tree: SquaredTree) -> SquaredNode | None:
    """Settle the families by the first feature, if clusters leave few open, or fewer than shares.

    Features that cannot matter are dropped in any case, again and again as long as many are.
    """
    limits = node.tuning.near
    families = len(node.division.open(node.needed_gain(tree.cutoff)))
    while True:
        near = None if node.near is None else node.near.up_to(node.size)
        assert near is not None
        cutoff, before = tree.cutoff, len(node.live)
        needed = node.needed_gain(cutoff)
        division, near, keep = by_clusters(node, near, needed)
        tree.run.accounts.work += (
            6.0 * TRY
            + 500.0 * before
            + 10.0 * sum(sets.size * (len(sets) + len(node.whitened)) for sets in near.members)
        )
        tree.collector.settle(cutoff)
        node, division = replace(node, near=near).restricted(keep), division.among(keep)
        if len(keep) < node.size or len(keep) > node.tuning.screening.much * before:
            break
    if len(division.open(needed)) > max(limits.open, families // limits.fewer):
        return node
    start = 0
    while True:
        cutoff = tree.cutoff
        open_ = division.open(node.needed_gain(cutoff), start)
        tree.collector.settle(cutoff)
        if len(open_) == 0:
            return None
        tree.visit()
        first = int(open_[0])
        child = node.with_feature(int(division.order[first]), division.order[first + 1 :])
        with tree.within(*bounds_of(node, division, open_)):
            branch_and_bound(child, tree)
        start = first + 1


def bounds_of(node: SquaredNode, division: Division, places: IntArray) -> tuple[float, float]:
    """Bound R from below on the sets of the first of some places, and on those of all others."""
    gains = division.gains[places]
    return node.lower_bound(float(gains[0])), node.lower_bound(
        float(gains[1:].max(initial=-np.inf))
    )


def divided_by_shares(node: SquaredNode, tree: SquaredTree) -> None:
    """Settle the families by the first feature, many at once where a bound for many is known."""
    division, start = node.division, 0
    while True:
        cutoff = tree.cutoff
        needed = node.needed_gain(cutoff)
        open_ = len(division.open(needed))
        tree.collector.settle(cutoff)
        if start >= open_:
            return
        last = division.last(start, needed)
        curvatures = tree.of_children(node)
        if not curvatures:
            order = division.order
            child = node.with_feature(int(order[start]), order[start + 1 : last])
            with tree.within(*bounds_of(node, division, np.arange(start, open_))):
                branch_and_bound(child, tree)
            start += 1
        else:
            stop = min(open_, start + max(1, node.tuning.together.entries // (last - start)))
            children = children_of(node, division.order[:last], start, stop)
            convexities = (one.of_children(children) for one in curvatures)
            for k, child in open_children(children, convexities, tree):
                with tree.within(*bounds_of(node, division, np.arange(start + k, open_))):
                    divide(tree.try_in_order([FEWER_FAMILIES], child), tree)
            start = stop


def open_children(
    children: Children, convexities: Iterable[ChildrenConvexity], tree: SquaredTree
) -> Iterator[tuple[int, SquaredNode]]:
    """Yield the children that their bounds leave, numbered, with these; the others are pruned.

    Those that one convexity leaves are bounded by the next.
    """
    tree.visit(len(children.row))
    cutoff = tree.cutoff
    needed = children.needed_gains(cutoff)
    with tree.run.accounts.trying(Strategy.CHILDREN, children.size) as account:
        constants, worst = np.full((2, len(children.row)), np.inf)
        terms = np.zeros(children.row.shape)
        for convexity in convexities:
            left = ~(worst <= needed)
            if not left.any():
                break
            wanted = np.where(left, needed, np.inf)
            *found, lowest, work = best_expanded_children(children, convexity, wanted)
            tree.run.accounts.work += work
            better = left & (lowest < worst)
            constants[better], terms[better] = (each[better] for each in found)
            worst[better] = lowest[better]
        open_ = np.flatnonzero(~(worst <= needed))
        account.settled += len(children.row) - len(open_)
        account.successes += len(open_) < len(children.row)
    tree.collector.settle(cutoff)
    for k in open_.tolist():
        child = children.parent.with_feature(int(children.first[k, 0]), children.later[k:])
        bound = ModularBound(float(constants[k]), terms[k, k:])
        cutoff = tree.cutoff
        keep = bound.screened(child.size, child.needed_gain(cutoff))
        tree.collector.settle(cutoff)
        account.settled += 1.0 - len(keep) / len(child.live)
        yield k, replace(child, bound=bound).restricted(keep)


def offer_additions(node: SquaredNode, positions: IntArray, collector: Collector) -> FloatArray:
    """Evaluate base ∪ live[positions] exactly, shape (k, m), offer and return the values."""
    supports = node.supports(positions)
    if node.size == 1:
        values = node.problem.values_of_additions(node.base, node.live[positions[:, 0]])
    else:
        values = node.problem.values(supports)
    collector.offer(supports, values)
    return values


SquaredStrategy = NodeStrategy[SquaredNode, SquaredTree]

FEWER_FAMILIES = SquaredStrategy(Strategy.FEWER_FAMILIES, by_fewer_families, is_around_a_point)

BOUNDS = (
    SquaredStrategy(
        Strategy.EXPANSION,
        around_points,
        lambda node, tree: node.bound is None and tree.worth_expanding(node),
    ),
    FEWER_FAMILIES,
    SquaredStrategy(
        Strategy.SCREENING,
        lambda node, tree: screened(node, tree.cutoff, tree.run.tick),
        # Shares are better than a point for a pair.
        lambda node, tree: node.bound is None or node.size == 2,
    ),
)
"""Strategies that bound and screen a node."""

ENGINE = SquaredStrategy(None, by_engine, suits_engine)

SETTLEMENTS = (
    SquaredStrategy("last additions", evaluated, lambda node, tree: node.size == 1),
    SquaredStrategy(Strategy.CLUSTERS, by_few_clusters, has_clusters),
    ENGINE,
    SquaredStrategy("division", divided_by_shares),
)
"""Strategies that settle a node with a bound; the last one always does."""
