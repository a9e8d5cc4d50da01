"""When a search turns to bounds around centres, and which measure of convexity they use."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.losses.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import Additions, additions_to
from mipselect.search.least_squares.centring import Budget, GainBound, best_centred, worst_gain
from mipselect.search.least_squares.curvature import ChildrenCurvature, Curvature
from mipselect.search.least_squares.measured_curvature import curvature_of, spectral_curvatures
from mipselect.search.least_squares.near_columns import LiveSets, NearColumns, near_columns
from mipselect.search.least_squares.odds import Odds
from mipselect.search.progress import Run

LONG = 5
"""A long search, in units of `after`; see `Run.limit`."""

SHARES = (0.03, 0.1, 0.3)
"""Limits t of the spectrum, in medians of the diagonal of G."""

TRIALS = 3
"""Subproblems of each size at which all measures are tried, before the best of them is kept."""

NEAR_COLUMNS = 5000
"""Most columns for which near ones are looked for."""

NEAR_AFTER = 2
"""When near columns are looked for, in units of `after`."""

HEAVY = 2**20
"""Features of all families of a subproblem; with more, near columns are looked for at once."""

AGAIN = 50
"""All are tried again once in so many."""


def is_crowded(sub: Additions) -> bool:
    """Tell whether row sums of G are unknown, and features too many to find them on the way."""
    unknown = sub.row_tops is None and sub.size > 1 and sub.problem.features.singles
    return unknown and len(sub.live) > sub.screening.tops_columns


class Persistence:
    """Bounds that take more work, for searches that cheap bounds did not end.

    Parameters
    ----------
    problem : PreparedSquared
    after : int
        So many subproblems are tried with cheap bounds alone.
    least_size : int
        Fewer additions are not worth a centre.

    Attributes
    ----------
    clusters : Odds
        Of divisions by clusters.
    """

    def __init__(self, problem: PreparedSquared, after: int = 200, least_size: int = 3) -> None:
        self._problem, self._after, self._least_size = problem, after, least_size
        self._wins: dict[int, Counter[int]] = {}
        self.clusters = Odds()
        self._heavy = False

    def limit(self, collector: Collector, run: Run) -> float:
        """Return what a bound must reach: the threshold, or the target once the search is long."""
        return run.limit(collector, LONG * self._after)

    def wanted(self, run: Run) -> bool:
        """Tell whether cheap bounds have had their chance, on more than `after` subproblems."""
        return run.statistics.subproblems > self._after

    def worth_a_centre(self, sub: Additions, run: Run) -> bool:
        """Tell whether a subproblem that is screened should be bounded around a centre."""
        if not 2 <= sub.size <= len(sub.live) - 3:
            return False
        return is_crowded(sub) or (self.wanted(run) and sub.size >= self._least_size)

    def hold_gram(self, run: Run) -> None:
        """Keep all of G, if it fits, for a search whose subproblems are many."""
        gram = self._problem.gram
        if self.wanted(run) and gram.fits and not gram.held:
            gram.full()

    def informed(self, sub: Additions, run: Run, families: int = 0) -> Additions:
        """With what is known of near columns, when cheap bounds and centres had their chance.

        Or if bounds leave so many families of so many features open that it takes long to look.
        """
        features, gram = self._problem.features, self._problem.gram
        if sub.near is not None or not (features.singles and 1 < features.count <= NEAR_COLUMNS):
            return sub
        self._heavy = self._heavy or families * len(sub.live) > HEAVY
        tried = run.statistics.subproblems > NEAR_AFTER * self._after
        known = gram.fits and (self._heavy or tried)
        return replace(sub, near=LiveSets(self._near)) if known else sub

    @cached_property
    def _near(self) -> NearColumns:
        return near_columns(self._problem)

    @cached_property
    def cheap_curvature(self) -> Curvature:
        """By the smallest eigenvalue."""
        return curvature_of(self._whole)

    @cached_property
    def curvatures(self) -> list[Curvature]:
        """By the smallest eigenvalue, and by the spectrum cut off at several limits."""
        return [self.cheap_curvature, *spectral_curvatures(self._whole, SHARES)]

    @cached_property
    def _whole(self) -> Additions:
        none, everything = np.empty(0, dtype=np.intp), np.arange(self._problem.features.count)
        return additions_to(self._problem, none, 1, everything, 0.0, None)

    def centred(
        self,
        sub: Additions,
        budgets: Sequence[Budget],
        start: FloatArray,
        needed: float,
        run: Run,
    ) -> GainBound:
        """The bound of `best_centred` by the measure that has been the best for this size.

        Before cheap bounds have had their chance no spectrum is computed for it.
        """
        if not self.wanted(run):
            return best_centred(sub, self.cheap_curvature.at(sub), budgets, start, needed)
        best = self._best(sub.size)
        if best is not None:
            return best_centred(sub, best.at(sub), budgets, start, needed)
        lowest, found = math.inf, GainBound(math.inf, np.zeros(len(sub.live)))
        winner = 0
        for number, curvature in enumerate(self.curvatures):
            bound = best_centred(sub, curvature.at(sub), budgets, start, needed)
            worst = worst_gain(bound, budgets)
            if worst < lowest:
                lowest, found, winner = worst, bound, number
            if lowest <= needed:
                break
        self._wins[sub.size][winner] += 1
        return found

    def of_children(self, sub: Additions, run: Run) -> ChildrenCurvature | None:
        """By what all children of a subproblem are bounded at once; None if one by one is right."""
        size = sub.size - 1
        if size < self._least_size or not self.wanted(run) or not sub.problem.features.singles:
            return None
        best = self._best(size)
        if best is None and sub.near is not None:
            # Clusters settle most of them before any measure would be tried.
            best = self._winner(size) or self._winner(sub.size)
        return cast(ChildrenCurvature | None, best)

    def _best(self, size: int) -> Curvature | None:
        """The measure that has won most often; None if all should be tried."""
        wins = self._wins.setdefault(size, Counter())
        number = wins.total()
        if number < TRIALS or number % AGAIN == 0:
            return None
        wins[-1] += 1  # Counted, for no measure.
        return self._winner(size)

    def _winner(self, size: int) -> Curvature | None:
        """The measure that has won most often, if one has."""
        won = [pair for pair in self._wins.get(size, Counter()).most_common() if pair[0] >= 0]
        return self.curvatures[won[0][0]] if won else None
