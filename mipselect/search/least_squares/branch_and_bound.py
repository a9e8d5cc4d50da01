"""Depth-first branch and bound over additions to a base.

A node is screened, then handed to an engine that can settle it, or divided: the additions
are ordered by their shares and the first one to be taken splits the sets of additions into
disjoint families. The child of j may only add features after j, and the sum of its largest
shares bounds its gain, so the division stops at the first family that cannot matter.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.modular import Budget, ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.children import Children, children_of
from mipselect.search.least_squares.children_centring import best_centred_children
from mipselect.search.least_squares.clusters import by_clusters
from mipselect.search.least_squares.curvature import ChildrenConvexity
from mipselect.search.least_squares.division import DivisionByShares, by_shares
from mipselect.search.least_squares.node import (
    SquaredNode,
    gains_alone,
    screened,
)
from mipselect.search.least_squares.tree import SquaredTree
from mipselect.search.progress import Run
from mipselect.search.strategies import Strategy


def branch_and_bound(node: SquaredNode, tree: SquaredTree) -> None:
    """Offer every set of additions below the cutoff and settle a bound for all others.

    Where the search is long, those that are above the target are settled as well.
    """
    node = tree.informed(node)
    if tree.engine.takes(node, None) and tree.engine.settle(node, None, tree.collector, tree.run):
        return
    divide(*reduced(node, tree), tree)


def reduced(node: SquaredNode, tree: SquaredTree) -> tuple[SquaredNode, ModularBound]:
    """Drop and settle the features that cannot matter; a smaller node with its bound."""
    tree.visit()
    tree.hold_gram()
    cutoff = tree.cutoff
    before, bound = len(node.live), None
    if tree.worth_a_centre(node):
        node, bound = screened_around_centres(node, cutoff, tree)
    if bound is None or node.size == 2:
        node, bound = screened(node, cutoff, tree.run.tick)
    if len(node.live) < before:
        tree.collector.settle(cutoff)
    return node, bound


def divide(node: SquaredNode, bound: ModularBound, tree: SquaredTree) -> None:
    """Settle what is left, or the families by the first feature that is taken."""
    if len(node.live) < node.size:
        return
    if node.size == 1:
        offer_additions(node, np.arange(len(node.live))[:, None], tree.collector)
        return
    division = by_shares(bound, node.size)
    families = len(division.open(node.needed_gain(tree.cutoff)))
    limits, node = node.tuning.near, tree.informed(node, families)
    most = max(limits.open, families // limits.fewer)
    if divided_by_clusters(node, most, tree):
        return
    if tree.engine.takes(node, bound) and tree.engine.settle(node, bound, tree.collector, tree.run):
        return
    if node.tuning.uses(Strategy.IN_OR_OUT) and _clusters_are_too_many(node):
        node, bound = branch_in_or_out(node, bound, tree)
        if len(node.live) < node.size:
            return
        division = by_shares(bound, node.size)
    divide_by_shares(node, division, tree)


def _clusters_are_too_many(node: SquaredNode) -> bool:
    return node.near is not None and node.size >= 4 and node.near.up_to(node.size) is None


def divide_by_shares(node: SquaredNode, division: DivisionByShares, tree: SquaredTree) -> None:
    """Settle the families by the first feature, many at once where a bound for many is known."""
    start = 0
    while True:
        cutoff = tree.cutoff
        needed = node.needed_gain(cutoff)
        open_ = len(division.open(needed))
        tree.collector.settle(cutoff)
        if start >= open_:
            return
        last = division.last(start, needed)
        curvature = tree.of_children(node)
        if curvature is None:
            order = division.order
            child = node.with_feature(int(order[start]), order[start + 1 : last])
            branch_and_bound(child, tree)
            start += 1
        else:
            limits = node.tuning.together
            most = min(limits.children, max(1, limits.entries // (last - start)))
            stop = min(open_, start + most)
            children = children_of(node, division.order[:last], start, stop)
            convexity = curvature.of_children(children)
            bound_at_once(children, convexity, tree)
            start = stop


def divided_by_clusters(node: SquaredNode, most: int, tree: SquaredTree) -> bool:
    """Settle the families by the first feature, if `most` are open at most by clusters."""
    if node.near is None or node.size < 3 or not node.tuning.uses(Strategy.CLUSTERS):
        return False
    near = node.near.up_to(node.size)
    if near is None or not tree.scheduler.worth(Strategy.CLUSTERS, node.size):
        return False
    needed, start = node.needed_gain(tree.cutoff), 0
    division, near = by_clusters(node, near, needed)
    few = len(division.open(needed)) <= most
    tree.scheduler.note(Strategy.CLUSTERS, node.size, few)
    if not few:
        return False
    node = replace(node, near=near)
    while True:
        tree.visit()
        cutoff = tree.cutoff
        open_ = division.open(node.needed_gain(cutoff), start)
        tree.collector.settle(cutoff)
        if len(open_) == 0:
            return True
        first = int(open_[0])
        child = node.with_feature(int(division.order[first]), division.order[first + 1 :])
        settle_child(child, tree)
        start = first + 1


def branch_in_or_out(
    node: SquaredNode, bound: ModularBound, tree: SquaredTree
) -> tuple[SquaredNode, ModularBound]:
    """Take the feature that gains most alone, settle that, and leave it; some times.

    What is left without the features that dominate all others often needs no division.
    """
    for _ in range(node.tuning.near.steps):
        if len(node.live) <= node.size:
            break
        first = int(np.argmax(gains_alone(node)))
        others = np.delete(np.arange(len(node.live)), first)
        child = node.with_feature(first, others)
        settle_child(child, tree)
        node, bound = reduced(node.restricted(others), tree)
    return node, bound


def settle_child(node: SquaredNode, tree: SquaredTree) -> None:
    """By clusters, before any other bound, for their parent's said little of it."""
    if not divided_by_clusters(node, node.tuning.near.open, tree):
        branch_and_bound(node, tree)


def bound_at_once(children: Children, convexity: ChildrenConvexity, tree: SquaredTree) -> None:
    """Settle the children whose bounds around centres say so, and divide the others."""
    tree.visit(len(children.row))
    cutoff = tree.cutoff
    needed = children.needed_gains(cutoff)
    constants, terms, worst = best_centred_children(children, convexity, needed)
    tree.collector.settle(cutoff)
    for k in np.flatnonzero(~(worst <= needed)):
        child = children.parent.with_feature(int(children.first[k, 0]), children.later[k:])
        bound = ModularBound(float(constants[k]), terms[k, k:])
        cutoff = tree.cutoff
        keep = bound.screened(child.size, child.needed_gain(cutoff))
        tree.collector.settle(cutoff)
        divide(child.restricted(keep), bound.among(keep), tree)


def screened_around_centres(
    node: SquaredNode, cutoff: float, tree: SquaredTree
) -> tuple[SquaredNode, ModularBound]:
    """Drop every live feature whose best completion, bounded around a centre, is not below it.

    Returns the smaller node and its bound.
    """
    budget = Budget(np.arange(len(node.live)), node.size)
    likely = np.argsort(-gains_alone(node), kind="stable")[: node.tuning.centred.likely * node.size]
    start = np.zeros(len(node.live))
    start[likely] = node.size / len(likely)
    needed = node.needed_gain(cutoff)
    bound = tree.centred(node, [budget], start, needed)
    keep = bound.screened(node.size, needed)
    return node.restricted(keep), bound.among(keep)


def offer_additions(node: SquaredNode, positions: IntArray, collector: Collector) -> FloatArray:
    """Evaluate base ∪ live[positions] exactly, shape (k, m), offer and return the values."""
    supports = node.supports(positions)
    if node.size == 1:
        values = node.problem.values_of_additions(node.base, node.live[positions[:, 0]])
    else:
        values = node.problem.values(supports)
    collector.offer(supports, values)
    return values


def enumerate_additions(node: SquaredNode, collector: Collector, run: Run) -> None:
    """Evaluate every set of additions: the certificate that needs no bound."""
    for positions in node.sets(node.tuning.together.supports):
        run.tick()
        offer_additions(node, positions, collector)
