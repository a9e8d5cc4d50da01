"""The search for the squared loss: a centre, its root cut, and the levels around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from mipselect.arrays import IntArray
from mipselect.losses.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import (
    SCREENING,
    Additions,
    Screening,
    additions_to,
    greedy_completion,
)
from mipselect.search.least_squares.branch_and_bound import branch_and_bound, divide, reduced
from mipselect.search.least_squares.center import Center, center_at
from mipselect.search.least_squares.engine import LeastSquaresEngine
from mipselect.search.least_squares.persistence import Persistence, is_crowded
from mipselect.search.least_squares.removed_families import open_removed_sets
from mipselect.search.least_squares.root_cuts import (
    RootCut,
    centred_cut,
    lean_cut,
    level_bound,
    root_cut,
)
from mipselect.search.least_squares.swaps import best_by_swaps
from mipselect.search.neighbourhood import offer_nearby
from mipselect.search.progress import Run, Stopped
from mipselect.search.removed_sets import removed_sets
from mipselect.search.simplex import largest_sum


def search_level(
    center: Center,
    cut: RootCut,
    collector: Collector,
    engine: LeastSquaresEngine,
    run: Run,
    persistence: Persistence,
) -> None:
    """Offer every support of the cut's level below the threshold; settle a bound for the rest.

    A level that turns out to be long is begun again, with families of removed sets.
    """
    proven, persistent = level_bound(center, cut), persistence.wanted(run)
    try:
        limit = persistence.limit(collector, run)
        if persistent and proven < limit:
            for curvature in persistence.curvatures:
                other = centred_cut(center, cut, curvature, limit)
                cut = max(cut, other, key=partial(level_bound, center))
                proven = level_bound(center, cut)
                if proven >= limit:
                    break
        if persistent and proven < limit and not center.lean:
            run.reporter.bound, run.reporter.incumbent = proven, collector.threshold
            for removed in open_removed_sets(center, cut.level, collector, run, persistence):
                positions = np.searchsorted(center.support, removed)
                sub = additions_after_removal(center, positions, cut.level, collector)
                branch_and_bound(sub, collector, engine, run, persistence)
                run.reporter.done += 1
            return
        best_credit = largest_sum(cut.credits, cut.level)
        sets = removed_sets(cut.costs, cut.level)
        while (following := next(sets, None)) is not None:
            cost, removed = following
            proven = max(0.0, cut.value + (cost - best_credit) / (2.0 * center.problem.n))
            run.reporter.bound, run.reporter.incumbent = proven, collector.threshold
            run.tick()
            if proven >= persistence.limit(collector, run):
                collector.settle(proven)
                return
            if persistence.wanted(run) and not persistent and not center.lean:
                search_level(center, cut, collector, engine, run, persistence)
                return
            sub = additions_after_removal(center, removed, cut.level, collector)
            sub, bound = reduced(sub, collector, run, persistence)
            if center.lean and is_crowded(sub):
                center.tops.find(run.tick)
                cut = max(cut, root_cut(center, cut.level), key=partial(level_bound, center))
                best_credit = largest_sum(cut.credits, cut.level)
                sets = removed_sets(cut.costs, cut.level)
                continue
            divide(sub, bound, collector, engine, run, persistence)
            run.reporter.done += 1
    except Stopped:
        collector.settle(proven)
        raise


def additions_after_removal(
    center: Center, removed: IntArray, level: int, collector: Collector
) -> Additions:
    """The subproblem of one removed set.

    Its greedy completion is offered first: it gives the search a threshold, and the bounds the
    multiplier ν that makes them tight where the norm constraint is active.
    """
    base = np.delete(center.support, removed)

    def build(multiplier: float) -> Additions:
        return additions_to(
            center.problem,
            base,
            level,
            center.candidates,
            multiplier,
            center.tops.known,
            center.screening,
        )

    sub = build(0.0)
    completed = np.sort(np.append(base, sub.live[greedy_completion(sub)]))
    fit = center.problem.fit(completed)
    collector.offer(completed[None], np.array([fit.value]))
    return build(fit.multiplier) if fit.multiplier > 0.0 else sub


@dataclass(frozen=True, eq=False)
class LeastSquaresNeighbourhood:
    """A `Center` together with the engine that settles its subproblems.

    Attributes
    ----------
    center : Center
    engine : LeastSquaresEngine
    persistence : Persistence
    """

    center: Center
    engine: LeastSquaresEngine
    persistence: Persistence
    _cuts: dict[tuple[int, bool], RootCut] = field(default_factory=dict, init=False)

    @property
    def support(self) -> IntArray:
        """Ŝ, sorted, shape (s,)."""
        return self.center.support

    @property
    def value(self) -> float:
        """R(Ŝ)."""
        return self.center.value

    @property
    def levels(self) -> int:
        """L = min(s, p-s) + 1."""
        return self.center.levels

    @cached_property
    def entering(self) -> IntArray:
        """The features outside Ŝ, the most gainful by the root cut first."""
        if self.levels == 1:
            return self.center.candidates
        return self.center.candidates[np.argsort(-self._cut(1).credits, kind="stable")]

    def fill(self, collector: Collector, count: int, run: Run) -> None:
        """Offer supports made of Ŝ and the features that enter most gainfully by its cut."""
        offer_nearby(self.support, self.entering, self.center.problem, collector, count, run)

    def level_bound(self, level: int) -> float:
        """Bound R from below on a whole level by its root cut."""
        return level_bound(self.center, self._cut(level))

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer every support of a level below the threshold; settle a bound for the rest.

        Where it is stopped, it settles what is proven of all that is open.
        """
        cut = self._cut(level)
        search_level(self.center, cut, collector, self.engine, run, self.persistence)

    def _cut(self, level: int) -> RootCut:
        """The cut of a level, made once, and once more when more is known of G."""
        lean = self.center.lean and level > 1
        if (level, lean) not in self._cuts:
            self._cuts[level, lean] = (
                lean_cut(self.center, self._cut(1), level) if lean else root_cut(self.center, level)
            )
        return self._cuts[level, lean]


@dataclass(frozen=True, eq=False)
class LeastSquaresMethod:
    """Search by Schur complements.

    Attributes
    ----------
    problem : PreparedSquared
    engine : LeastSquaresEngine
    screening : Screening
    few : int
        Evaluating so many supports takes less time than bounding them.
    patience : int
        Subproblems that are tried with cheap bounds alone.
    few_columns : int
        So few that all of G is computed at once. Of more columns as much as the search needs.
    """

    problem: PreparedSquared
    engine: LeastSquaresEngine
    screening: Screening = SCREENING
    few: int = 20_000
    patience: int = 200
    few_columns: int = 2048

    @property
    def name(self) -> str:
        """The name of the engine."""
        return self.engine.name

    def center(self, size: int, run: Run) -> LeastSquaresNeighbourhood:
        """A support that no swap improves, with its cut."""
        few = self.problem.features.size <= self.few_columns
        if self.problem.gram.fits and (few or not self.problem.features.singles):
            self.problem.gram.full()
        support, value = best_by_swaps(self.problem, size, run)
        return self.center_at(support, value, run)

    def center_at(self, support: IntArray, value: float, run: Run) -> LeastSquaresNeighbourhood:
        """The neighbourhood of a support whose value is known."""
        return LeastSquaresNeighbourhood(
            center_at(self.problem, support, value, run, self.screening),
            self.engine,
            self.persistence,
        )

    @cached_property
    def persistence(self) -> Persistence:
        """Bounds around centres, with what is known of them; shared by all neighbourhoods."""
        return Persistence(self.problem, self.patience)
