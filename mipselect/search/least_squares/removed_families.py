"""Families of supports at one distance from the incumbent: who of it stays, who leaves, who enters.

One bound prunes all supports of a family, where a list would have to look at each removed set: of
s = 15 features there are 6,435 sets of 8 that leave. What is left is reduced: features that no
support which matters has leave, and those that all of them have stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.modular import Budget, ModularBound
from mipselect.search.least_squares.center import Center
from mipselect.search.least_squares.expansion import ExpandedBound
from mipselect.search.least_squares.node import SquaredNode, gains_alone
from mipselect.search.least_squares.tree import SquaredTree
from mipselect.search.node import Node
from mipselect.search.simplex import largest_sum, on_capped_simplices
from mipselect.search.strategies import Strategy


@dataclass(frozen=True, eq=False)
class Family(Node):
    """All supports with `base`, `size` of the features `live` of Ŝ, and `level` candidates.

    Attributes
    ----------
    level : int
    entering : ndarray of int, shape (c,)
        The candidates among which they are.
    likely : ndarray of shape (p,)
        Weights from which the point of its bound starts, by feature; any will do.
    """

    level: int
    entering: IntArray
    likely: FloatArray

    @property
    def free(self) -> IntArray:
        """The features of Ŝ, and then the candidates, that may be added to the base."""
        return np.concatenate([self.live, self.entering])

    @property
    def budgets(self) -> list[Budget]:
        """So many of both, by their positions among `free`; none of what is decided."""
        staying, entering = np.split(np.arange(len(self.free)), [len(self.live)])
        budgets = [Budget(staying, self.size), Budget(entering, self.level)]
        return [budget for budget in budgets if len(budget.positions)]

    def decided(self) -> Self:
        """The same family; where one removed set is left, what stays is in the base."""
        if self.number > 1:
            return self
        stays = self.live if self.size else self.live[:0]
        return replace(self, base=np.append(self.base, stays), size=0, live=self.live[:0])


def whole_level(center: Center, level: int) -> Family:
    """All supports of a level; the point of their bound starts at what gains most alone."""
    support, candidates = center.support, center.candidates
    count = center.tuning.expanding.likely * level
    alone = gains_alone(center.whole)
    entering = candidates[np.argsort(-alone[candidates], kind="stable")[:count]]
    likely = np.zeros(len(alone))
    likely[support], likely[entering] = 1.0 - level / len(support), level / len(entering)
    none = np.empty(0, dtype=np.intp)
    return Family(none, len(support) - level, support, level, candidates, likely).decided()


def open_nodes(center: Center, level: int, tree: SquaredTree) -> Iterator[SquaredNode]:
    """The node of every removed set that no bound on its family prunes; the others are settled.

    A family is divided by a feature of the incumbent that leaves or stays. That in which the
    costliest feature stays comes first, for good supports are there.
    """
    families = [whole_level(center, level)]
    while families:
        family = families.pop()
        tree.visit()
        cutoff = tree.cutoff
        size = family.size + family.level
        node = center.node(np.sort(family.base), size, family.free, center.multiplier)
        with tree.run.accounts.trying(Strategy.REMOVED_FAMILIES) as account:
            bound = bounded_family(node, family, cutoff, tree)
            left = reduced(family, bound, node.needed_gain(cutoff))
            account.successes += left is None
        if left is not family:
            tree.collector.settle(cutoff)
        tree.run.reporter.done += family.number - (0 if left is None else left.number)
        if left is None:
            continue
        likely = np.zeros(len(family.likely))
        likely[node.live] = bound.weights
        left = replace(left, likely=likely)
        if len(family.live) == 0:
            entering = np.flatnonzero(np.isin(node.live, left.entering))
            yield replace(node, bound=bound).restricted(entering)
        elif len(left.live) < len(family.live):
            families.append(left)
        else:
            place = int(np.argmax(bound.terms[: len(left.live)]))
            others = np.delete(np.arange(len(left.live)), place)
            leaves, stays = left.restricted(others), left.with_feature(place, others)
            families += [leaves.decided(), stays.decided()]


def bounded_family(
    node: SquaredNode, family: Family, cutoff: float, tree: SquaredTree
) -> ExpandedBound:
    """Bound a family, with a budget for what stays and one for what enters; cuts.md, (12)."""
    start = np.zeros(len(node.live))
    for budget in family.budgets:
        likely = family.likely[None, node.live[budget.positions]]
        weights = on_capped_simplices(np.where(likely > 0.0, likely, -np.inf), budget.count)
        start[budget.positions] = weights[0]
    return tree.expanded(node, family.budgets, start, node.needed_gain(cutoff))


def reduced(family: Family, bound: ModularBound, needed: float) -> Family | None:
    """The part of a family whose supports may gain more than is needed; itself, if that is all.

    A candidate that no such support includes leaves the family, as does a feature of Ŝ; one that
    every such support includes joins the base.
    """
    staying, entering = np.split(bound.terms, [len(family.live)])
    kept, entered = largest_sum(staying, family.size), largest_sum(entering, family.level)
    if bound.constant + kept + entered <= needed:
        return None
    among_entering = ModularBound(bound.constant + kept, entering)
    enter = among_entering.screened(family.level, needed)
    if len(enter) < len(entering):
        family = replace(family, entering=family.entering[enter])
    if len(family.live) == 0:
        return family
    among_staying = ModularBound(bound.constant + entered, staying)
    may_stay = ~(among_staying.with_each(family.size) <= needed)
    may_leave = ~(among_staying.without_each(family.size) <= needed)
    if may_stay.all() and may_leave.all():
        return family
    base = np.append(family.base, family.live[~may_leave])
    size, live = family.size - int((~may_leave).sum()), family.live[may_stay & may_leave]
    return replace(family, base=base, size=size, live=live).decided()
