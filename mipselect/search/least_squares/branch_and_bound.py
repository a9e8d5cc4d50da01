"""Depth-first branch and bound over additions to a base.

A subproblem is screened, then handed to an engine that can settle it, or divided: the additions
are ordered by their shares and the first one to be taken splits the sets of additions into
disjoint families. The child of j may only add features after j, and the sum of its largest
shares bounds its gain, so the division stops at the first family that cannot matter.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import (
    Additions,
    best_gains,
    gains_alone,
    screened,
)
from mipselect.search.least_squares.centring import Budget, GainBound
from mipselect.search.least_squares.children import Children, children_of, last_that_matters
from mipselect.search.least_squares.children_centring import best_centred_children
from mipselect.search.least_squares.curvature import ChildrenConvexity
from mipselect.search.least_squares.engine import Engine
from mipselect.search.least_squares.persistence import Persistence
from mipselect.search.progress import Run

CHILDREN = 64
"""So many are bounded at once: what they find may settle others."""

ENTRIES = 2**16
"""Of arrays with an entry for each of their features."""


def branch_and_bound(
    sub: Additions,
    collector: Collector,
    engine: Engine,
    run: Run,
    persistence: Persistence,
) -> None:
    """Offer every set of additions below the threshold and settle a bound for all others.

    Where the search is long, those that are above the target are settled as well.
    """
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
    engine: Engine,
    run: Run,
    persistence: Persistence,
) -> None:
    """Settle what is left, or the families by the first feature that is taken."""
    if len(sub.live) < sub.size:
        return
    if sub.size == 1:
        offer_additions(sub, np.arange(len(sub.live))[:, None], collector)
    elif not (engine.takes(sub, bound) and engine.settle(sub, bound, collector, run)):
        order = np.argsort(-bound.shares, kind="stable")
        shares = bound.shares[order]
        gains = bound.constant + sliding_window_view(shares, sub.size).sum(axis=1)
        start = 0
        while start < len(gains):
            limit = persistence.limit(collector, run)
            needed = sub.needed_gain(limit)
            open_ = int(np.sum(gains > needed))
            collector.settle(limit)
            if start >= open_:
                return
            last = last_that_matters(shares, start, sub.size, needed - bound.constant)
            curvature = persistence.of_children(sub, run)
            if curvature is None:
                child = sub.with_feature(int(order[start]), order[start + 1 : last])
                branch_and_bound(child, collector, engine, run, persistence)
                start += 1
            else:
                most = min(CHILDREN, max(1, ENTRIES // (last - start)))
                stop = min(open_, start + most)
                children = children_of(sub, order[:last], start, stop)
                convexity = curvature.of_children(children)
                bound_at_once(children, convexity, collector, engine, run, persistence)
                start = stop


def bound_at_once(
    children: Children,
    convexity: ChildrenConvexity,
    collector: Collector,
    engine: Engine,
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
    for k in np.flatnonzero(bounds.worst > needed):
        child = children.parent.with_feature(int(children.first[k, 0]), children.later[k:])
        constant, shares = float(bounds.constants[k]), bounds.shares[k, k:]
        limit = persistence.limit(collector, run)
        gains = constant + best_gains(shares, child.size)
        keep = np.flatnonzero(gains > child.needed_gain(limit))
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
    keep = np.flatnonzero(bound.constant + best_gains(bound.shares, sub.size) > needed)
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
