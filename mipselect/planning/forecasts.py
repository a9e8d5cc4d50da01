"""Contents of a plan of a model: what it would score by ε and by rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mipselect.planning.simulation import Guesses

R_SQUARED, AUC = "R²", "AUC"
LEVELS = {R_SQUARED: 0.0, AUC: 0.5}
"""Scores of the mean, and of a coin."""

CLEAR = 2.0
"""A score is above the mean if it is so many of its standard errors above it."""

TENTH = 0.1


@dataclass(frozen=True)
class TableScores:
    """Scores of models of one simulated table, on fresh rows.

    Attributes
    ----------
    without_privacy : float
        Score of least squares on the right fields.
    models : tuple of tuple of float
        Scores of private models, by ε.

    Examples
    --------
    >>> from mipselect.planning import TableScores
    >>> TableScores(0.3, ((0.1, 0.2),)).models[0]
    (0.1, 0.2)
    """

    without_privacy: float
    models: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ModelLine:
    """Models of tables with so many rows.

    Attributes
    ----------
    rows : int
    epsilons : tuple of float
        ε of features and coefficients together.
    tables : tuple of TableScores
        Fewer where time was short; none where no time was left.

    Examples
    --------
    >>> from mipselect.planning import ModelLine, TableScores
    >>> ModelLine(500, (1.0,), (TableScores(0.3, ((0.1, 0.2),)),)).expected(0)
    0.15000000000000002
    """

    rows: int
    epsilons: tuple[float, ...]
    tables: tuple[TableScores, ...]

    @property
    def without_privacy(self) -> float:
        """The mean score of least squares on the right fields."""
        return float(np.mean([table.without_privacy for table in self.tables]))

    def expected(self, k: int) -> float:
        """Return the mean score of models at the k-th ε."""
        return float(np.mean(self._by_table(k)))

    def error(self, k: int) -> float | None:
        """Return the standard error of `expected`; None for a single table."""
        means = self._by_table(k)
        if len(means) == 1:
            return None
        return float(np.std(means, ddof=1)) / math.sqrt(len(means))

    def range(self, k: int) -> tuple[float, float]:
        """Return the scores that one model in ten is below, and one in ten above."""
        scores = [score for table in self.tables for score in table.models[k]]
        low, high = np.quantile(scores, [TENTH, 1.0 - TENTH])
        return float(low), float(high)

    def share(self, k: int, level: float) -> float:
        """Compute the part of the way from a level to the score without privacy; at most 1."""
        possible = self.without_privacy - level
        return min(1.0, (self.expected(k) - level) / possible) if possible > 0.0 else 0.0

    def is_clear(self, k: int, level: float) -> bool:
        """Return True if models are above a level by more than the simulation is uncertain."""
        return self.expected(k) - CLEAR * (self.error(k) or 0.0) > level

    def _by_table(self, k: int) -> list[float]:
        return [float(np.mean(table.models[k])) for table in self.tables]


@dataclass(frozen=True)
class ModelPlan:
    """Expected scores of a released model. No data is in it.

    Attributes
    ----------
    rows, support_size, features : int
        n, s, and how many fields there are to choose from.
    epsilons : tuple of float
        ε of features and coefficients together.
    measure : {"R²", "AUC"}
        AUC for two classes.
    goal : float
        Part of the score without privacy that is wanted.
    guesses : Guesses
    seed : int
    lines : tuple of ModelLine
        First n rows at `epsilons`; then other numbers of rows.
    further : tuple of ModelLine
        n rows at one larger ε each, where `epsilons` do not reach the goal.
    quality_share : float or None
        Share of the rows of each line that is kept apart, to say how good the model is.

    Examples
    --------
    >>> from mipselect.planning import Guesses, ModelLine, ModelPlan, TableScores
    >>> line = ModelLine(500, (1.0,), (TableScores(0.3, ((0.1, 0.2),)),))
    >>> asked = {"rows": 500, "support_size": 1, "features": 4, "epsilons": (1.0,), "seed": 0}
    >>> ModelPlan(**asked, measure="R²", goal=0.5, guesses=Guesses(), lines=(line,)).level
    0.0
    """

    rows: int
    support_size: int
    features: int
    epsilons: tuple[float, ...]
    measure: str
    goal: float
    guesses: Guesses
    seed: int
    lines: tuple[ModelLine, ...]
    further: tuple[ModelLine, ...] = ()
    quality_share: float | None = None

    @property
    def level(self) -> float:
        """Score of the mean of the target, or of a coin for two classes."""
        return LEVELS[self.measure]

    @property
    def of_fit(self) -> ModelLine:
        """The line of n rows."""
        return self.lines[0]

    @property
    def by_rows(self) -> tuple[ModelLine, ...]:
        """Lines that were done, by rising number of rows."""
        return tuple(sorted((line for line in self.lines if line.tables), key=lambda it: it.rows))

    @property
    def left_out(self) -> tuple[int, ...]:
        """Numbers of rows for which no time was left."""
        return tuple(sorted(line.rows for line in self.lines if not line.tables))

    def reaches(self, k: int) -> bool:
        """Return True if a model of n rows at the k-th ε reaches the goal."""
        return bool(self.of_fit.tables) and self._reaches(self.of_fit, k)

    def rows_needed(self, k: int) -> float | None:
        """Estimate how many rows reach the goal at the k-th ε; None if more than were tried.

        Between two numbers that were tried, linear in their logarithms; the smallest number that
        was tried where fewer may do.
        """
        return self._crossing((line.rows, line, k) for line in self.by_rows)

    @property
    def epsilon_needed(self) -> float | None:
        """About which ε reaches the goal with n rows; None if a larger one than was tried."""
        lines = [line for line in (self.of_fit, *self.further) if line.tables]
        points = [(e, line, k) for line in lines for k, e in enumerate(line.epsilons)]
        return self._crossing(sorted(points, key=lambda at: at[0]))

    def _reaches(self, line: ModelLine, k: int) -> bool:
        # As far as a share is shown.
        return line.is_clear(k, self.level) and round(line.share(k, self.level), 2) >= self.goal

    def _crossing(self, points: Iterable[tuple[float, ModelLine, int]]) -> float | None:
        """Return where the share first reaches the goal, between places in rising order."""
        tried = [(at, line.share(k, self.level), self._reaches(line, k)) for at, line, k in points]
        if tried and tried[0][2]:
            return tried[0][0]
        for (before, low, _), (after, high, reached) in pairwise(tried):
            if reached:
                part = (self.goal - low) / (high - low) if low < self.goal < high else 1.0
                return float(before * (after / before) ** part)
        return None


def in_two_places(score: float) -> str:
    """Write a score with two decimal places, and no minus before 0."""
    return f"{round(score, 2) + 0.0:.2f}"
