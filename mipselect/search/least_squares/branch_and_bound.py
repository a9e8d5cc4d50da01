"""Depth-first branch and bound over additions to a base.

A subproblem is screened, then handed to an engine that can settle it, or divided: the additions
are ordered by their shares and the first one to be taken splits the sets of additions into
disjoint families. The child of j may only add features after j, and the sum of its largest
shares bounds its gain, so the division stops at the first family that cannot matter.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import (
    Additions,
    best_gains,
    gains_alone,
    screened,
)
from mipselect.search.least_squares.centring import Budget, GainBound
from mipselect.search.least_squares.children import Children, children_of
from mipselect.search.least_squares.children_centring import best_centred_children
from mipselect.search.least_squares.clusters import by_clusters
from mipselect.search.least_squares.curvature import ChildrenConvexity
from mipselect.search.least_squares.division import DivisionByShares, by_shares
from mipselect.search.least_squares.engine import LeastSquaresEngine
from mipselect.search.least_squares.persistence import Persistence
from mipselect.search.progress import Run

CHILDREN = 64
"""So many are bounded at once: what they find may settle others."""

ENTRIES = 2**16
"""Of arrays with an entry for each of their features."""

FEW_OPEN = 8
"""Families of a division by clusters that are always few enough to be looked at one by one."""

FEWER = 4
"""They are few, too, if a division by shares has so many times as many."""

STEPS = 8
"""So many features are taken or left, one after another."""


def branch_and_bound(
    sub: Additions,
    collector: Collector,
    engine: LeastSquaresEngine,
    run: Run,
    persistence: Persistence,
) -> None:
    """Offer every set of additions below the threshold and settle a bound for all others.

    Where the search is long, those that are above the target are settled as well.
    """
    sub = persistence.informed(sub, run)
    if engine.takes(sub, None) and engine.settle(sub, None, collector, run):
        return
    divide(*reduced(sub, collector, run, persistence), collector, engine, run, persistence)


def reduced(
    sub: Additions, collector: Collector, run: Run, persistence: Persistence
) -> tuple[Additions, GainBound]:
    """Drop and settle the features that cannot matter; a smaller subproblem with its bound."""
    run.statistics.subproblems += 1
    run.tick()
    persistence.hold_gram(run)
    threshold = persistence.limit(collector, run)
    before, bound = len(sub.live), None
    if persistence.worth_a_centre(sub, run):
        sub, bound = screened_around_centres(sub, threshold, persistence, run)
    if bound is None or sub.size == 2:
        sub, shares = screened(sub, threshold, run.tick)
        bound = GainBound(0.0, shares)
    if len(sub.live) < before:
        collector.settle(threshold)
    return sub, bound


def divide(
    sub: Additions,
    bound: GainBound,
    collector: Collector,
    engine: LeastSquaresEngine,
    run: Run,
    persistence: Persistence,
) -> None:
    """Settle what is left, or the families by the first feature that is taken."""
    if len(sub.live) < sub.size:
        return
    if sub.size == 1:
        offer_additions(sub, np.arange(len(sub.live))[:, None], collector)
        return
    division = by_shares(bound, sub.size)
    families = len(division.open(sub.needed_gain(persistence.limit(collector, run))))
    sub, most = persistence.informed(sub, run, families), max(FEW_OPEN, families // FEWER)
    if divided_by_clusters(sub, most, collector, engine, run, persistence):
        return
    if engine.takes(sub, bound) and engine.settle(sub, bound, collector, run):
        return
    if sub.near is not None and sub.size >= 4 and sub.near.up_to(sub.size) is None:
        sub, bound = taken_or_left(sub, bound, collector, engine, run, persistence)
        if len(sub.live) < sub.size:
            return
        division = by_shares(bound, sub.size)
    divide_by_shares(sub, division, collector, engine, run, persistence)


def divide_by_shares(
    sub: Additions,
    division: DivisionByShares,
    collector: Collector,
    engine: LeastSquaresEngine,
    run: Run,
    persistence: Persistence,
) -> None:
    """Settle the families by the first feature, many at once where a bound for many is known."""
    start = 0
    while True:
        limit = persistence.limit(collector, run)
        needed = sub.needed_gain(limit)
        open_ = len(division.open(needed))
        collector.settle(limit)
        if start >= open_:
            return
        last = division.last(start, needed)
        curvature = persistence.of_children(sub, run)
        if curvature is None:
            order = division.order
            child = sub.with_feature(int(order[start]), order[start + 1 : last])
            branch_and_bound(child, collector, engine, run, persistence)
            start += 1
        else:
            most = min(CHILDREN, max(1, ENTRIES // (last - start)))
            stop = min(open_, start + most)
            children = children_of(sub, division.order[:last], start, stop)
            convexity = curvature.of_children(children)
            bound_at_once(children, convexity, collector, engine, run, persistence)
            start = stop


def divided_by_clusters(
    sub: Additions,
    most: int,
    collector: Collector,
    engine: LeastSquaresEngine,
    run: Run,
    persistence: Persistence,
) -> bool:
    """Settle the families by the first feature, if `most` are open at most by clusters."""
    near = None if sub.near is None or sub.size < 3 else sub.near.up_to(sub.size)
    if near is None or not persistence.clusters.are_good(sub.size):
        return False
    needed, start = sub.needed_gain(persistence.limit(collector, run)), 0
    division, near = by_clusters(sub, near, needed)
    few = len(division.open(needed)) <= most
    persistence.clusters.note(sub.size, few)
    if not few:
        return False
    sub = replace(sub, near=near)
    while True:
        run.tick()
        run.statistics.subproblems += 1
        limit = persistence.limit(collector, run)
        open_ = division.open(sub.needed_gain(limit), start)
        collector.settle(limit)
        if len(open_) == 0:
            return True
        first = int(open_[0])
        child = sub.with_feature(int(division.order[first]), division.order[first + 1 :])
        settle_child(child, collector, engine, run, persistence)
        start = first + 1


def taken_or_left(
    sub: Additions,
    bound: GainBound,
    collector: Collector,
    engine: LeastSquaresEngine,
    run: Run,
    persistence: Persistence,
) -> tuple[Additions, GainBound]:
    """Take the feature that gains most alone, settle that, and leave it; some times.

    What is left without the features that dominate all others often needs no division.
    """
    for _ in range(STEPS):
        if len(sub.live) <= sub.size:
            break
        first = int(np.argmax(gains_alone(sub)))
        others = np.delete(np.arange(len(sub.live)), first)
        child = sub.with_feature(first, others)
        settle_child(child, collector, engine, run, persistence)
        sub, bound = reduced(sub.restricted(others), collector, run, persistence)
    return sub, bound


def settle_child(
    sub: Additions,
    collector: Collector,
    engine: LeastSquaresEngine,
    run: Run,
    persistence: Persistence,
) -> None:
    """By clusters, before any other bound, for their parent's said little of it."""
    if not divided_by_clusters(sub, FEW_OPEN, collector, engine, run, persistence):
        branch_and_bound(sub, collector, engine, run, persistence)


def bound_at_once(
    children: Children,
    convexity: ChildrenConvexity,
    collector: Collector,
    engine: LeastSquaresEngine,
    run: Run,
    persistence: Persistence,
) -> None:
    """Settle the children whose bounds around centres say so, and divide the others."""
    run.tick()
    run.statistics.subproblems += len(children.row)
    limit = persistence.limit(collector, run)
    needed = children.needed_gains(limit)
    bounds = best_centred_children(children, convexity, needed)
    collector.settle(limit)
    for k in np.flatnonzero(~(bounds.worst <= needed)):
        child = children.parent.with_feature(int(children.first[k, 0]), children.later[k:])
        constant, shares = float(bounds.constants[k]), bounds.shares[k, k:]
        limit = persistence.limit(collector, run)
        gains = constant + best_gains(shares, child.size)
        keep = np.flatnonzero(~(gains <= child.needed_gain(limit)))
        collector.settle(limit)
        bound = GainBound(constant, shares[keep])
        divide(child.restricted(keep), bound, collector, engine, run, persistence)


def screened_around_centres(
    sub: Additions, threshold: float, persistence: Persistence, run: Run
) -> tuple[Additions, GainBound]:
    """Drop every live feature whose best completion, bounded around a centre, is not below it.

    Returns the smaller subproblem and its bound.
    """
    budget = Budget(np.arange(len(sub.live)), sub.size)
    likely = np.argsort(-gains_alone(sub), kind="stable")[: 2 * sub.size]
    start = np.zeros(len(sub.live))
    start[likely] = sub.size / len(likely)
    needed = sub.needed_gain(threshold)
    bound = persistence.centred(sub, [budget], start, needed, run)
    keep = np.flatnonzero(~(bound.constant + best_gains(bound.shares, sub.size) <= needed))
    return sub.restricted(keep), GainBound(bound.constant, bound.shares[keep])


def offer_additions(sub: Additions, positions: IntArray, collector: Collector) -> FloatArray:
    """Evaluate base ∪ live[positions] exactly, shape (k, m), offer and return the values."""
    added = sub.live[positions]
    base = np.broadcast_to(sub.base, (len(added), len(sub.base)))
    supports = np.sort(np.hstack([base, added]), axis=1)
    if sub.size == 1:
        values = sub.problem.values_of_additions(sub.base, added[:, 0])
    else:
        values = sub.problem.values(supports)
    collector.offer(supports, values)
    return values


def enumerate_additions(sub: Additions, collector: Collector, run: Run) -> None:
    """Evaluate every set of additions: the certificate that needs no bound."""
    sets = itertools.combinations(range(len(sub.live)), sub.size)
    while batch := list(itertools.islice(sets, 4096)):
        run.tick()
        offer_additions(sub, np.asarray(batch), collector)
