"""Families of supports at one distance from the incumbent: who of it stays, who leaves, who may.

One bound prunes all supports of a family, where a list would have to look at each removed set: of
s = 15 features there are 6,435 sets of 8 that leave.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.search.bounds.expansion import on_capped_simplices
from mipselect.search.bounds.modular import Budget
from mipselect.search.least_squares.center import Center
from mipselect.search.least_squares.expansion import ExpandedBound
from mipselect.search.least_squares.node import SquaredNode, gains_alone
from mipselect.search.least_squares.root_cuts import likely_changes
from mipselect.search.least_squares.tree import SquaredTree
from mipselect.search.node import Node
from mipselect.search.strategies import Strategy


@dataclass(frozen=True, eq=False)
class LevelFamily(Node):
    """All kept sets `base` and `size` of the features `live` of Ŝ; any candidates enter.

    Attributes
    ----------
    weights : ndarray of shape (p,)
        From which the point of its bound starts, by feature; any will do.
    proven : float
        A bound on R.
    """

    weights: FloatArray
    proven: float = -math.inf


def whole_level(center: Center, level: int, proven: float) -> LevelFamily:
    """Make the family of all kept sets of a level; its point starts at what gains most alone."""
    support = center.support
    weights = likely_changes(center, level, gains_alone(center.whole)[center.candidates])
    return LevelFamily(np.empty(0, dtype=np.intp), len(support) - level, support, weights, proven)


def open_nodes(
    center: Center, level: int, proven: float, tree: SquaredTree
) -> Iterator[tuple[float, float, SquaredNode]]:
    """Yield the node of every removed set that no bound on its family prunes, with two bounds.

    One is on its own supports, one on what follows, and both are at least `proven`. A family is
    divided by a feature of the incumbent that leaves or stays. That in which the costliest feature
    stays comes first, for good supports are there. Where bounds do not pay it is divided without
    one, and the nodes are not bounded yet.
    """
    families = [whole_level(center, level, proven)]
    while families:
        family = families.pop()
        waiting = min((other.proven for other in families), default=math.inf)
        if family.number <= 1:
            if family.number:
                base = np.sort(np.append(family.base, family.live[: family.size]))
                node = center.node(base, level, center.candidates, center.multiplier)
                yield family.proven, waiting, node
            continue
        if tree.worth(Strategy.REMOVED_FAMILIES, level, family.number):
            with (
                tree.within(family.proven, waiting),
                tree.run.accounts.trying(Strategy.REMOVED_FAMILIES, level) as account,
            ):
                tree.visit()
                left = open_family(center, family, level, tree)
                account.successes += left is None
                account.settled += family.number if left is None else 0
            if left is None:
                tree.run.done += family.number
                continue
            family = left
        others = np.arange(1, len(family.live))
        families += [family.restricted(others), family.with_feature(0, others)]


def open_family(
    center: Center, family: LevelFamily, level: int, tree: SquaredTree
) -> LevelFamily | None:
    """Bound a family: None if that prunes it, else with its costliest feature first."""
    cutoff = tree.cutoff
    node, budgets = node_of(center, family, level)
    bound = bounded_family(node, family, budgets, cutoff, tree)
    gain = bound.largest(budgets)
    if gain <= node.needed_gain(cutoff):
        tree.collector.settle(cutoff)
        return None
    weights = np.zeros(len(family.weights))
    weights[node.live] = bound.weights
    order = np.argsort(-bound.terms[: len(family.live)], kind="stable")
    proven = max(family.proven, node.lower_bound(gain))
    return replace(family, live=family.live[order], weights=weights, proven=proven)


def node_of(center: Center, family: LevelFamily, level: int) -> tuple[SquaredNode, list[Budget]]:
    """Make the node of a family, with budgets of what may stay and of candidates."""
    free = np.concatenate([family.live, center.candidates])
    staying, entering = np.split(np.arange(len(free)), [len(family.live)])
    node = center.node(np.sort(family.base), family.size + level, free, center.multiplier)
    return node, [Budget(staying, family.size), Budget(entering, level)]


def bounded_family(
    node: SquaredNode, family: LevelFamily, budgets: list[Budget], cutoff: float, tree: SquaredTree
) -> ExpandedBound:
    """Bound a family, from the point of the family before; docs/mathematics/cuts.md, (12)."""
    start = np.zeros(len(node.live))
    for budget in budgets:
        likely = family.weights[None, node.live[budget.positions]]
        weights = on_capped_simplices(np.where(likely > 0.0, likely, -np.inf), budget.count)
        start[budget.positions] = weights[0]
    close = node.tuning.expanding.close_if_divided
    return tree.expanded(node, budgets, start, node.needed_gain(cutoff), close)
