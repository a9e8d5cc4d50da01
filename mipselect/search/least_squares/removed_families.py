"""Families of removed sets: who of the centre stays, who leaves, and who is undecided.

One bound settles all removed sets of a family, where a list would have to look at each: of s = 15
features there are 6,435 sets of 8 that leave.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import Additions, additions_to, gains_alone
from mipselect.search.least_squares.center import Center
from mipselect.search.least_squares.centring import Budget, worst_gain
from mipselect.search.least_squares.persistence import Persistence
from mipselect.search.progress import Run

TRUST = 16
"""Families that may be bounded beyond one for every removed set that was settled so far."""


@dataclass(frozen=True, eq=False)
class RemovedFamily:
    """All sets of `level` features of the centre that leave, as far as it is decided.

    Attributes
    ----------
    stays, leaves, undecided : ndarray of int
        Features; together those of the centre.
    level : int
    """

    stays: IntArray
    leaves: IntArray
    undecided: IntArray
    level: int

    @property
    def leaving(self) -> int:
        """Number of the undecided features that leave."""
        return self.level - len(self.leaves)

    @property
    def number(self) -> int:
        """Removed sets."""
        return math.comb(len(self.undecided), self.leaving)

    def divided(self, place: int) -> tuple[RemovedFamily, RemovedFamily]:
        """The families in which undecided[place] leaves, and in which it stays."""
        feature, others = self.undecided[place], np.delete(self.undecided, place)
        return (
            RemovedFamily(self.stays, np.append(self.leaves, feature), others, self.level),
            RemovedFamily(np.append(self.stays, feature), self.leaves, others, self.level),
        )

    def sets(self) -> Iterator[IntArray]:
        """Every removed set: its features, sorted."""
        for some in itertools.combinations(self.undecided, self.leaving):
            yield np.sort(np.concatenate([self.leaves, np.array(some, dtype=np.intp)]))


def open_removed_sets(
    center: Center, level: int, collector: Collector, run: Run, persistence: Persistence
) -> Iterator[IntArray]:
    """Every removed set that no bound on its family settles; the others are settled.

    The family in which the costliest feature stays comes first, for good supports are there.
    Where bounds do not pay, the sets of what is left are listed.
    """
    none = np.empty(0, dtype=np.intp)
    families = [RemovedFamily(none, none, center.support, level)]
    bounded = settled = 0
    while families:
        family = families.pop()
        if family.number == 1 or bounded > TRUST + settled:
            yield from family.sets()
            continue
        bounded += 1
        run.statistics.subproblems += 1
        run.tick()
        limit = persistence.limit(collector, run)
        costs = costs_of_leaving(center, family, persistence, limit, run)
        if costs is None:
            collector.settle(limit)
            settled += family.number
            run.reporter.done += family.number
        else:
            families.extend(family.divided(int(np.argmax(costs))))


def costs_of_leaving(
    center: Center, family: RemovedFamily, persistence: Persistence, limit: float, run: Run
) -> FloatArray | None:
    """Return each undecided feature's cost of leaving, shape (u,); None if R ≥ `limit` is proven.

    The features that stay are the base. The undecided and the candidates are the live features,
    with a budget for each; see docs/mathematics/cuts.md, (12).
    """
    sub = _additions(center, family)
    undecided, candidates = np.split(np.arange(len(sub.live)), [len(family.undecided)])
    staying = len(undecided) - family.leaving
    alone = gains_alone(sub)[candidates]
    entering = candidates[np.argsort(-alone, kind="stable")[: 2 * family.level]]
    start = np.zeros(len(sub.live))
    start[undecided] = staying / len(undecided)
    start[entering] = family.level / len(entering)
    budgets = [Budget(undecided, staying), Budget(candidates, family.level)]
    needed = sub.needed_gain(limit)
    bound = persistence.centred(sub, budgets, start, needed, run)
    if worst_gain(bound, budgets) <= needed:
        return None
    return np.asarray(bound.shares[undecided])


def _additions(center: Center, family: RemovedFamily) -> Additions:
    live = np.concatenate([family.undecided, center.candidates])
    size = len(center.support) - len(family.stays)
    base, screening = np.sort(family.stays), center.screening
    return additions_to(center.problem, base, size, live, center.multiplier, None, screening)
