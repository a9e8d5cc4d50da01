"""The search for the squared loss, as the drivers see it: Schur complements around a centre."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import IntArray
from mipselect.losses.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.branch_and_bound import Engine
from mipselect.search.least_squares.center import (
    Center,
    RootCut,
    center_at,
    level_bound,
    root_cut,
    search_level,
)
from mipselect.search.least_squares.swaps import best_by_swaps
from mipselect.search.progress import Clock


@dataclass(frozen=True, eq=False)
class LeastSquaresNeighbourhood:
    """A `Center` together with the engine that settles its subproblems.

    Attributes
    ----------
    center : Center
    engine : Engine
    """

    center: Center
    engine: Engine

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
        return self.center.candidates[np.argsort(-self._cuts[0].credits, kind="stable")]

    def level_bound(self, level: int) -> float:
        """What the root cut proves for the whole level."""
        return level_bound(self.center, self._cuts[level - 1])

    def search_level(self, level: int, collector: Collector, clock: Clock) -> None:
        """Offer every support of a level below the threshold; settle a bound for the rest."""
        search_level(self.center, self._cuts[level - 1], collector, self.engine, clock)

    @cached_property
    def _cuts(self) -> list[RootCut]:
        """The root cuts of levels 1, 2, ..."""
        return [root_cut(self.center, level) for level in range(1, self.levels)]


@dataclass(frozen=True, eq=False)
class LeastSquaresMethod:
    """Search by Schur complements.

    Attributes
    ----------
    problem : PreparedSquared
    engine : Engine
    """

    problem: PreparedSquared
    engine: Engine

    @property
    def name(self) -> str:
        """The name of the engine."""
        return self.engine.name

    def center(self, size: int, clock: Clock) -> LeastSquaresNeighbourhood:
        """A support that no swap improves, with its cut."""
        if self.problem.gram.fits:
            self.problem.gram.full()
        support, value = best_by_swaps(self.problem, size, clock)
        return self.center_at(support, value, clock)

    def center_at(self, support: IntArray, value: float, clock: Clock) -> LeastSquaresNeighbourhood:
        """The neighbourhood of a support whose value is known."""
        return LeastSquaresNeighbourhood(
            center_at(self.problem, support, value, clock), self.engine
        )
