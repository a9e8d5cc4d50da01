"""Families of supports at one distance from the incumbent: who of it stays, who leaves, who may.

One bound prunes all supports of a family, where a list would have to look at each removed set: of
s = 15 features there are 6,435 sets of 8 that leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.modular import Budget
from mipselect.search.least_squares.center import Center
from mipselect.search.least_squares.expansion import ExpandedBound
from mipselect.search.least_squares.node import SquaredNode, gains_alone
from mipselect.search.least_squares.root_cuts import likely_changes
from mipselect.search.least_squares.tree import SquaredTree
from mipselect.search.node import Node
from mipselect.search.simplex import on_capped_simplices
from mipselect.search.strategies import Strategy


@dataclass(frozen=True, eq=False)
class LevelFamily(Node):
    """All kept sets `base` and `size` of the features `live` of Ŝ; any candidates enter.

    Attributes
    ----------
    weights : ndarray of shape (p,)
        From which the point of its bound starts, by feature; any will do.
    """

    weights: FloatArray

    def bases(self) -> Iterator[IntArray]:
        """Yield every kept set, sorted."""
        for some in itertools.combinations(self.live, self.size):
            yield np.sort(np.append(self.base, np.array(some, dtype=np.intp)))


def whole_level(center: Center, level: int) -> LevelFamily:
    """Make the family of all kept sets of a level; its point starts at what gains most alone."""
    support = center.support
    weights = likely_changes(center, level, gains_alone(center.whole)[center.candidates])
    return LevelFamily(np.empty(0, dtype=np.intp), len(support) - level, support, weights)


def open_nodes(center: Center, level: int, tree: SquaredTree) -> Iterator[SquaredNode]:
    """Yield the node of every removed set that no bound on its family prunes.

    A family is divided by a feature of the incumbent that leaves or stays. That in which the
    costliest feature stays comes first, for good supports are there. Where bounds do not pay, the
    sets of what is left are listed, with nodes that are not bounded yet.
    """
    families = [whole_level(center, level)]
    limits = center.tuning.families
    unpaid = max(limits.least, limits.share * families[0].number)
    while families:
        family = families.pop()
        if unpaid < 0 or family.number <= 1:
            for base in family.bases():
                yield center.node(base, level, center.candidates, center.multiplier)
            continue
        tree.visit()
        cutoff = tree.cutoff
        node, budgets = node_of(center, family, level)
        with tree.run.accounts.trying(Strategy.REMOVED_FAMILIES) as account:
            bound = bounded_family(node, family, budgets, cutoff, tree)
            pruned = bound.largest(budgets) <= node.needed_gain(cutoff)
            account.successes += pruned
        unpaid += family.number if pruned else -1
        if pruned:
            tree.collector.settle(cutoff)
            tree.run.done += family.number
        else:
            weights = np.zeros(len(family.weights))
            weights[node.live] = bound.weights
            place = int(np.argmax(bound.terms[: len(family.live)]))
            others = np.delete(np.arange(len(family.live)), place)
            family = replace(family, weights=weights)
            families += [family.restricted(others), family.with_feature(place, others)]


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
