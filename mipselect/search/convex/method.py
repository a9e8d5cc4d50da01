"""The search for any convex loss: depth-first branch and bound with Fenchel bounds.

A subproblem is screened, then handed to an engine that can settle it, or divided by the first
feature that is added; every child is bounded by the optimum on its own, larger base.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mipselect.arrays import IntArray
from mipselect.losses.fenchel import EPS, FenchelBounds, FenchelLoss
from mipselect.search.collectors import BestSupport, Collector
from mipselect.search.convex.completions import (
    BATCHES,
    Batches,
    Completions,
    completions_of,
    offer_last_additions,
    screened,
    screened_by_centre,
)
from mipselect.search.neighbourhood import Engine, offer_nearby
from mipselect.search.progress import Run, Stopped
from mipselect.search.removed_sets import removed_sets


class DivideAll:
    """The native engine: it divides everything."""

    name = "native"

    def takes(self, sub: Completions) -> bool:
        """Nothing is settled otherwise."""
        return False

    def settle(self, sub: Completions, collector: Collector, run: Run) -> bool:
        """Never asked to."""
        return False


PATIENCE = 20
"""Subproblems that are tried with the optimum on their base alone."""

MANY = 300
"""Completions: fewer take less time than a centre."""

TRIALS = 3
"""Centres for each size, before it is asked whether they drop enough features."""

AGAIN = 20
"""Where they did not, they are tried again once in so many."""


class Centres:
    """When a subproblem is worth a dual point of its own: where such points drop features."""

    def __init__(self, patience: int = PATIENCE, many: int = MANY) -> None:
        self._patience, self._many = patience, many
        self._asked: Counter[int] = Counter()
        self._tried: Counter[int] = Counter()
        self._before: Counter[int] = Counter()
        self._dropped: Counter[int] = Counter()

    def worth(self, sub: Completions, run: Run) -> bool:
        """Tell whether a subproblem that is screened is worth a dual point of its own."""
        m, live = sub.size, len(sub.live)
        if run.statistics.subproblems <= self._patience or math.comb(live, m) <= self._many:
            return False
        self._asked[m] += 1
        if self._tried[m] < TRIALS or self._asked[m] % AGAIN == 0:
            return True
        needed = 0.5 if m == 2 else 0.1
        return self._dropped[m] > needed * self._before[m]

    def screened(self, sub: Completions, collector: Collector, limit: float) -> Completions:
        """Drop the features whose best completion is not below `limit` by such a point."""
        found = screened_by_centre(sub, collector, limit)
        self._tried[sub.size] += 1
        self._before[sub.size] += len(sub.live)
        self._dropped[sub.size] += len(sub.live) - len(found.live)
        return found


def divide(
    subs: list[Completions],
    collector: Collector,
    engine: Engine[Completions],
    run: Run,
    centres: Centres,
) -> None:
    """Settle sibling subproblems, which have the same size."""
    run.statistics.subproblems += len(subs)
    run.tick()
    if subs[0].size == 1:
        offer_last_additions(subs, collector, run)
        return
    for whole in subs:
        limit = run.limit(collector, whole.batches.long)
        sub = screened(whole, collector, limit)
        if centres.worth(sub, run):
            sub = centres.screened(sub, collector, limit)
        if len(sub.live) < sub.size:
            continue
        if not (engine.takes(sub) and engine.settle(sub, collector, run)):
            _divide_by_first_feature(sub, collector, engine, run, centres)


def _divide_by_first_feature(
    sub: Completions,
    collector: Collector,
    engine: Engine[Completions],
    run: Run,
    centres: Centres,
) -> None:
    families, siblings = sub.family_bounds, sub.batches.bases
    for start in range(0, len(families), siblings):
        bounds = families[start : start + siblings]
        open_ = bounds < run.limit(collector, sub.batches.long)
        collector.settle(float(np.min(bounds[~open_], initial=np.inf)))
        firsts = start + np.flatnonzero(open_)
        if len(firsts):
            bases = np.array([np.append(sub.base, sub.live[k]) for k in firsts])
            live = [sub.live[k + 1 :] for k in firsts]
            children = completions_of(sub.problem, bases, sub.size - 1, live, sub.batches)
            divide(children, collector, engine, run, centres)


@dataclass(frozen=True, eq=False)
class ConvexNeighbourhood:
    """A support Ŝ, the bound of its dual optimum, and the levels around it.

    Attributes
    ----------
    problem : FenchelLoss
    engine : Engine of Completions
    support : ndarray of int, shape (s,)
    value : float
    batches : Batches
    """

    problem: FenchelLoss
    engine: Engine[Completions]
    support: IntArray
    value: float
    batches: Batches = BATCHES
    centres: Centres = field(default_factory=Centres)

    @property
    def levels(self) -> int:
        """L = min(s, p-s) + 1."""
        return min(len(self.support), self.problem.p - len(self.support)) + 1

    @cached_property
    def root(self) -> FenchelBounds:
        """The dual optimum on Ŝ."""
        return self.problem.bounds(self.support[None])

    @cached_property
    def entering(self) -> IntArray:
        """The features outside Ŝ, those with the largest weight first."""
        outside = np.setdiff1d(np.arange(self.problem.p), self.support)
        return outside[np.argsort(-self.root.weights[0][outside], kind="stable")]

    def fill(self, collector: Collector, count: int, run: Run) -> None:
        """Offer supports made of Ŝ and the features that enter most gainfully by its cut."""
        offer_nearby(self.support, self.entering, self.problem, collector, count, run)

    def level_bound(self, level: int) -> float:
        """Bound R from below on a whole level by the dual optimum on Ŝ, at the cost of a sort."""
        costs = np.sort(self.root.weights[0][self.support])
        return self._root_bound(float(costs[:level].sum()), level)

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer every support at distance `level` below the threshold, and settle the rest.

        Where it is stopped, it settles what is proven of all that is open.
        """
        costs, proven = self.root.weights[0][self.support], self.level_bound(level)
        try:
            for batch in _batches(removed_sets(costs, level), self.batches.bases):
                proven = self._root_bound(batch[0][0], level)
                run.reporter.bound, run.reporter.incumbent = proven, collector.threshold
                run.tick()
                if proven >= run.limit(collector, self.batches.long):
                    collector.settle(proven)
                    return
                bases = np.array([np.delete(self.support, removed) for _, removed in batch])
                live = [self.entering] * len(batch)
                subs = completions_of(self.problem, bases, level, live, self.batches)
                greedy = np.concatenate([sub.supports(np.arange(level)[None]) for sub in subs])
                collector.offer(greedy, self.problem.values(greedy))
                divide(subs, collector, self.engine, run, self.centres)
                run.reporter.done += len(batch)
        except Stopped:
            collector.settle(proven)
            raise

    def _root_bound(self, cost: float, level: int) -> float:
        weights = self.root.weights[0]
        inside = float(weights[self.support].sum())
        # What stays inside may be far below what is taken from it, or below the rounding of that.
        kept = max(0.0, inside - cost) + 4.0 * EPS * len(self.support) * inside
        entering = float(weights[self.entering[:level]].sum()) + float(self.root.always[0])
        return float(self.root.bound(0, np.asarray(kept + entering)))


@dataclass(frozen=True, eq=False)
class ConvexMethod:
    """Search by Fenchel bounds.

    Attributes
    ----------
    problem : FenchelLoss
    engine : Engine of Completions
    batches : Batches
    few : int
        Evaluating so many supports takes less time than bounding them.
    patience, many : int
        See `Centres`.
    """

    problem: FenchelLoss
    engine: Engine[Completions]
    batches: Batches = BATCHES
    few: int = 100
    patience: int = PATIENCE
    many: int = MANY

    @property
    def name(self) -> str:
        """The name of the engine."""
        return self.engine.name

    def center(self, size: int, run: Run) -> ConvexNeighbourhood:
        """Forward selection by weight, then the best swap until none helps."""
        support = np.empty(0, dtype=np.intp)
        for _ in range(size):
            run.tick()
            weights = self.problem.bounds(support[None]).weights[0]
            weights[support] = -1.0
            support = np.sort(np.append(support, int(np.argmax(weights))))
        center = self.center_at(support, float(self.problem.values(support[None])[0]), run)
        while center.levels > 1:
            best = BestSupport(0.0)
            best.offer(center.support[None], np.array([center.value]))
            center.search_level(1, best, run)
            if best.support is None or best.value >= center.value:
                break
            center = self.center_at(best.support, best.value, run)
        return center

    def center_at(self, support: IntArray, value: float, run: Run) -> ConvexNeighbourhood:
        """The neighbourhood of a support whose value is known."""
        return ConvexNeighbourhood(
            self.problem, self.engine, support, value, self.batches, self.centres
        )

    @cached_property
    def centres(self) -> Centres:
        """Record of where centres drop features, shared by all neighbourhoods of the search."""
        return Centres(self.patience, self.many)


def _batches(
    sets: Iterator[tuple[float, IntArray]], size: int
) -> Iterator[list[tuple[float, IntArray]]]:
    while batch := list(itertools.islice(sets, size)):
        yield batch
