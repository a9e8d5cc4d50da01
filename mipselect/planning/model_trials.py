"""`ModelTrials`: models of simulated tables, as many as a time limit allows."""

from __future__ import annotations

from collections.abc import Callable

from mipselect.errors import NotCertified
from mipselect.planning.chances import require_time
from mipselect.planning.experiment import CaseCounter
from mipselect.planning.forecasts import ModelLine, TableScores
from mipselect.planning.lines import Progress
from mipselect.planning.rows import DOUBLINGS
from mipselect.planning.simulated_fits import SimulatedFits
from mipselect.search.progress import Deadline

FURTHER_DOUBLINGS = 5
"""Doublings of the largest ε where it does not reach the goal."""

MOST_LINES = 3 + FURTHER_DOUBLINGS + DOUBLINGS
"""Lines of n rows, of larger ε, of half as many rows and of more, and of more rows kept apart."""


class ModelTrials:
    """Models of simulated tables within a time limit; see `plan_fit`.

    Parameters
    ----------
    tables : int
        The most for each line.
    time_limit : float
        Seconds for all lines.
    clock : callable
    progress : callable, optional
    least : int
        So many tables of a line may take the time of later ones.
    """

    def __init__(
        self,
        tables: int,
        time_limit: float,
        clock: Callable[[], float],
        progress: Progress | None,
        *,
        least: int,
    ) -> None:
        self._tables, self._least = tables, least
        self._now, self._limit = clock, Deadline(time_limit, clock)
        self._counter = CaseCounter(progress, MOST_LINES * tables)
        self._taken: dict[int, float] = {}
        """Seconds of the slowest table at one ε, by its rows."""

    def line(
        self, fits: SimulatedFits, rows: int, epsilons: tuple[float, ...], share: float
    ) -> ModelLine:
        """Release models of tables for a share of the time that is left, if that is enough for one.

        A table is begun if it is likely to be done: the first `least` of a line within all that is
        left, and the first of the first line in any case.
        """
        own = Deadline(share * self._limit.remaining, self._now)
        done: list[TableScores] = []
        while len(done) < self._tables:
            left = own.remaining if len(done) >= self._least else self._limit.remaining
            if self._expected(rows) * len(epsilons) > left:
                break
            before = own.seconds
            try:
                done.append(self._table(fits, len(done), rows, epsilons))
            except NotCertified:
                break
            taken = (own.seconds - before) / len(epsilons)
            self._taken[rows] = max(taken, self._taken.get(rows, 0.0))
        return ModelLine(rows, epsilons, tuple(done))

    def _expected(self, rows: int) -> float:
        """Bound the seconds of a table at one ε: no more a row than with fewer rows; 0 at first."""
        times = (seconds * max(1.0, rows / done) for done, seconds in self._taken.items())
        return min(times, default=0.0)

    def _table(
        self, fits: SimulatedFits, number: int, rows: int, epsilons: tuple[float, ...]
    ) -> TableScores:
        """Score models of a table; raise `NotCertified` if no time is left."""
        self._counter.begin(f"models of {rows:,} rows, table {number + 1}")
        self._counter.tables += 1
        models = []
        for epsilon in epsilons:
            left = self._limit.limit
            if self._taken:
                require_time(self._limit)
                left = self._limit.remaining
            models.append(fits.models(number, rows, epsilon, left))
        return TableScores(
            fits.without_privacy(number, rows),
            tuple(tuple(model.score for model in each) for each in models),
            tuple(tuple(model.quality for model in each) for each in models),
            tuple(sum(not model.released for model in each) for each in models),
            tuple(tuple(w for model in each for w in model.half_widths) for each in models),
        )
