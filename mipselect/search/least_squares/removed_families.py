"""Families of removed sets: who of the incumbent stays, who leaves, and who is undecided.

One bound settles all removed sets of a family, where a list would have to look at each: of s = 15
features there are 6,435 sets of 8 that leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.modular import Budget
from mipselect.search.least_squares.center import Center
from mipselect.search.least_squares.node import gains_alone, squared_node
from mipselect.search.least_squares.tree import SquaredTree
from mipselect.search.node import Node
from mipselect.search.strategies import Strategy


def removed_sets_of(kept: Node, support: IntArray) -> Iterator[IntArray]:
    """Yield the features, sorted, that leave the support Ŝ for every kept set of a node."""
    leaving = np.setdiff1d(support, np.concatenate([kept.base, kept.live]))
    for some in itertools.combinations(kept.live, len(kept.live) - kept.size):
        yield np.sort(np.concatenate([leaving, np.array(some, dtype=np.intp)]))


def open_removed_sets(center: Center, level: int, tree: SquaredTree) -> Iterator[IntArray]:
    """Every removed set that no bound on its family settles; the others are settled.

    A family is a node of the sets that are kept, and is divided by a feature of the incumbent that
    leaves or stays. That in which the costliest feature stays comes first, for good supports are
    there. Where bounds do not pay, the sets of what is left are listed.
    """
    support, none = center.support, np.empty(0, dtype=np.intp)
    families = [Node(none, len(support) - level, support)]
    scheduler, strategy = tree.scheduler, Strategy.REMOVED_FAMILIES
    scheduler.forget(strategy, level)
    while families:
        kept = families.pop()
        if kept.number == 1 or not scheduler.worth(strategy, level):
            yield from removed_sets_of(kept, support)
            continue
        tree.visit()
        cutoff = tree.cutoff
        with tree.run.accounts.trying(strategy) as account:
            costs = costs_of_leaving(center, kept, cutoff, tree)
            account.successes += costs is None
        scheduler.note(strategy, level, kept.number if costs is None else 0)
        if costs is None:
            tree.collector.settle(cutoff)
            tree.run.reporter.done += kept.number
        else:
            place = int(np.argmax(costs))
            others = np.delete(np.arange(len(kept.live)), place)
            families += [kept.restricted(others), kept.with_feature(place, others)]


def costs_of_leaving(
    center: Center, kept: Node, cutoff: float, tree: SquaredTree
) -> FloatArray | None:
    """Return each live feature's cost of leaving, shape (u,); None if R ≥ `cutoff` is proven.

    What is kept for certain is the base. What may be kept and the candidates are the live
    features, with a budget for each; see docs/mathematics/cuts.md, (12).
    """
    level = len(center.support) - len(kept.base) - kept.size
    node = squared_node(
        center.problem,
        np.sort(kept.base),
        kept.size + level,
        np.concatenate([kept.live, center.candidates]),
        center.multiplier,
        None,
        center.tuning,
    )
    undecided, candidates = np.split(np.arange(len(node.live)), [len(kept.live)])
    alone, most = gains_alone(node)[candidates], center.tuning.expanding.likely * level
    entering = candidates[np.argsort(-alone, kind="stable")[:most]]
    start = np.zeros(len(node.live))
    start[undecided] = kept.size / len(undecided)
    start[entering] = level / len(entering)
    budgets = [Budget(undecided, kept.size), Budget(candidates, level)]
    needed = node.needed_gain(cutoff)
    bound = tree.expanded(node, budgets, start, needed)
    return None if bound.largest(budgets) <= needed else np.asarray(bound.terms[undecided])
