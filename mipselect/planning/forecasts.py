"""Contents of a plan of a model: what it would score by ε and by rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mipselect.planning.chances import standard_error
from mipselect.planning.guesses import Guesses
from mipselect.planning.quality_forecasts import QualityForecast
from mipselect.planning.rows import crossing
from mipselect.quality import Quality

R_SQUARED, AUC = "R²", "AUC"
LEVELS = {R_SQUARED: 0.0, AUC: 0.5}
"""Scores of the mean, and of a coin."""

CLEAR = 2.0
"""A score is above the mean if it is so many of its standard errors above it."""

TENTH = 0.1

LEAST_TABLES = 2
"""From so many tables on a line says if a quality tells a model from none."""

LARGER_SHARE = 0.3
"""Share of the rows that is kept apart too, where a smaller one does not tell how good a model is.
"""


@dataclass(frozen=True)
class TableScores:
    """Scores of models of one simulated table, on fresh rows.

    Attributes
    ----------
    without_privacy : float
        Score of least squares on the right fields.
    models : tuple of tuple of float
        Scores of private models, by ε.
    qualities : tuple of tuple of Quality
        What is released of them on rows that are kept apart, by ε; None where nothing is.
    unreleased : tuple of int
        How many of them a private test has kept back, by ε; these have the score of the mean.
    half_widths : tuple of tuple of float
        Half of the widths of the intervals of their effects, by ε; see `effect_half_widths`.

    Examples
    --------
    >>> from mipselect.planning import TableScores
    >>> TableScores(0.3, ((0.1, 0.2),)).models[0]
    (0.1, 0.2)
    """

    without_privacy: float
    models: tuple[tuple[float, ...], ...]
    qualities: tuple[tuple[Quality | None, ...], ...] = ()
    unreleased: tuple[int, ...] = ()
    half_widths: tuple[tuple[float, ...], ...] = ()


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
        return standard_error(self._by_table(k))

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

    def quality(self, k: int) -> QualityForecast | None:
        """Return how well the quality of models at the k-th ε would be known; None without rows.

        These are rows that are kept apart from the fit.
        """
        found = [
            one for table in self.tables for of_one in table.qualities[k : k + 1] for one in of_one
        ]
        return QualityForecast(tuple(found)) if any(found) else None

    def half_width(self, k: int) -> float | None:
        """Return half of the width of the interval of an effect at the k-th ε, the median.

        ``inf`` where the noise leaves most of them open; None where a model has no intervals.
        """
        widths = [
            w for table in self.tables for of_one in table.half_widths[k : k + 1] for w in of_one
        ]
        return float(np.median(widths)) if widths else None

    def unreleased(self, k: int) -> float:
        """Compute the share of models at the k-th ε that a private test has kept back."""
        missing = sum(sum(table.unreleased[k : k + 1]) for table in self.tables)
        return missing / sum(len(table.models[k]) for table in self.tables)

    def tells(self, k: int) -> bool | None:
        """Return whether the quality tells models at the k-th ε from none; None if unknown.

        It is unknown without a quality, and from fewer than `LEAST_TABLES` tables.
        """
        quality = self.quality(k)
        if quality is None or len(self.tables) < LEAST_TABLES:
            return None
        return quality.tells

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
    larger_share : ModelLine or None
        n rows at `epsilons` with `LARGER_SHARE` of them kept apart, where `quality_share` leaves
        some model in doubt and there was time.

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
    larger_share: ModelLine | None = None

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
        was tried where fewer may do. Fewer rows are not enough where n are not: that they reached
        the goal, in the few tables that they are tried in, was chance.
        """
        least = 0 if self.reaches(k) else self.rows
        return self._crossing((line.rows, line, k) for line in self.by_rows if line.rows >= least)

    @property
    def epsilon_needed(self) -> float | None:
        """About which ε reaches the goal with n rows; None if a larger one than was tried."""
        return self._crossing(self._by_epsilon)

    def in_doubt(self, k: int) -> bool:
        """Return True if a model at the k-th ε is of use, and its quality would rarely tell so."""
        line = self.of_fit
        return line.tells(k) is False and line.is_clear(k, self.level)

    def rows_that_tell(self, k: int) -> int | None:
        """Return the least larger number of rows that was tried and tells at the k-th ε."""
        more = (line for line in self.by_rows if line.rows > self.rows)
        return next((line.rows for line in more if line.tells(k)), None)

    def epsilon_that_tells(self, k: int) -> float | None:
        """Return the least larger ε than the k-th that was tried with n rows and tells."""
        larger = (at for at in self._by_epsilon if at[0] > self.epsilons[k])
        return next((epsilon for epsilon, line, place in larger if line.tells(place)), None)

    @property
    def _by_epsilon(self) -> list[tuple[float, ModelLine, int]]:
        """Every ε that was tried with n rows, rising, with its line and its place there."""
        lines = [line for line in (self.of_fit, *self.further) if line.tables]
        points = [(e, line, k) for line in lines for k, e in enumerate(line.epsilons)]
        return sorted(points, key=lambda at: at[0])

    def _reaches(self, line: ModelLine, k: int) -> bool:
        # As far as a share is shown.
        return line.is_clear(k, self.level) and round(line.share(k, self.level), 2) >= self.goal

    def _crossing(self, points: Iterable[tuple[float, ModelLine, int]]) -> float | None:
        """Return where the share first reaches the goal, between places in rising order."""
        tried = [(at, line.share(k, self.level), self._reaches(line, k)) for at, line, k in points]
        return crossing(tried, self.goal)


def in_two_places(score: float) -> str:
    """Write a score with two decimal places, and no minus before 0."""
    return f"{round(score, 2) + 0.0:.2f}"
