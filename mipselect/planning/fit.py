"""`plan_fit`: how good a released model would be, before the table is opened."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from mipselect.errors import InvalidInput, NotCertified
from mipselect.planning.chances import require_time
from mipselect.planning.experiment import MOST_TABLES, checked_epsilons
from mipselect.planning.forecasts import (
    AUC,
    LARGER_SHARE,
    LEAST_TABLES,
    R_SQUARED,
    ModelLine,
    ModelPlan,
    TableScores,
)
from mipselect.planning.guesses import Guesses
from mipselect.planning.lines import Progress, Step
from mipselect.planning.question import Question
from mipselect.planning.rows import DOUBLINGS, doublings, require_rows
from mipselect.planning.simulated_fits import SimulatedFits
from mipselect.regression import SelectThenRegress
from mipselect.regression.pair import most_features
from mipselect.search.progress import Deadline
from mipselect.tables import TableSchema
from mipselect.validation import (
    checked_integer,
    checked_share,
    checked_time_limit,
    listed,
)

FURTHER_DOUBLINGS = 5
"""Doublings of the largest ε where it does not reach the goal."""

MOST_LINES = 3 + FURTHER_DOUBLINGS + DOUBLINGS
"""Lines of n rows, of larger ε, of half as many rows and of more, and of more rows kept apart."""

SHARE_OF_FIT = 0.5
"""Share of the time, for n rows at the ε that were asked for."""

SHARE_OF_OTHERS = 0.25
"""Share of what is left, for each later line."""


def plan_fit(
    model: SelectThenRegress,
    schema: TableSchema,
    *,
    target: str,
    rows: int,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0),
    guesses: Guesses | None = None,
    goal: float = 0.5,
    tables: int = 20,
    seed: int = 0,
    time_limit: float = 10.0,
    clock: Callable[[], float] = time.monotonic,
    progress: Progress | None = None,
    **choices: Any,
) -> ModelPlan:
    """Simulate tables with the ranges and categories of a schema, and release models of them.

    Nothing of a user's data is read. Each model is what the estimators draw at that ε, features
    and coefficients, and is scored on fresh rows of the same table: R², or AUC for two classes.

    Parameters
    ----------
    model : SelectThenRegress
        Not fitted. Its shares count, of the selection, of ranges and of rows that are kept apart to
        say how good it is, which is released of each model too; its ε is each of `epsilons`. The δ
        of the two estimators is their own, as in a fit.
    schema : TableSchema
        Every field that is used needs a range, or `ranges` has it.
    target : str
    rows : int
        n of the table that is to be opened.
    epsilons : sequence of float
        ε of features and coefficients together.
    guesses : Guesses, optional
    goal : float
        Part of the score without privacy that `rows_needed` and `epsilon_needed` are for.
    tables : int
        How many are simulated for every number of rows at most.
    seed : int
        The same seed gives the same plan, but for what the time limit cuts off.
    time_limit : float
        Seconds for all of it; one table of n rows is simulated in any case, unless a draw alone
        takes longer.
    clock : callable
        The time in seconds, since whenever.
    progress : callable, optional
        See `Progress`.
    **choices
        always, never and ranges, as for `SelectThenRegress.fit_table`.

    Returns
    -------
    ModelPlan

    Raises
    ------
    InvalidInput
        For what is wrong with the schema, the question or a guess.

    Examples
    --------
    >>> from mipselect.planning import plan_fit
    >>> from mipselect.regression import ObjectivePerturbationRegressor, SelectThenRegress
    >>> from mipselect.selectors import PermuteAndFlipSelector
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("dose", "weight", "days"), (0, 10)))
    >>> model = SelectThenRegress(
    ...     PermuteAndFlipSelector(1), ObjectivePerturbationRegressor(loss="huber")
    ... )
    >>> plan = plan_fit(model, schema, target="days", rows=20_000, epsilons=[2.0], tables=2)
    >>> 0.2 < plan.of_fit.expected(0) < 0.4
    True
    """
    asked = checked_epsilons(epsilons)
    size = most_features(model.selector)
    question = Question(
        schema,
        target,
        size,
        score=getattr(model.selector, "asked_score", None),
        intercept=bool(model.regressor.fit_intercept),
        **choices,
    ).of_single_rows
    if question.without_range:
        raise InvalidInput(f"a model needs a range of {listed(question.without_range)} too")
    guesses = Guesses() if guesses is None else guesses
    guesses.target_law(question.public)
    require_rows(rows, question.public)
    if model.quality_share is not None:
        checked_share(model.quality_share, "quality_share", closed=False)
    plan = ModelPlan(
        rows=rows,
        support_size=size,
        features=len(question.public.features),
        epsilons=asked,
        measure=R_SQUARED if question.public.units.classes is None else AUC,
        goal=checked_share(goal, "goal", closed=False),
        guesses=guesses,
        seed=checked_integer(seed, "seed", 0),
        lines=(),
        quality_share=model.quality_share,
    )
    given = question, guesses, plan.seed
    fits = SimulatedFits(model, *given)
    most = checked_integer(tables, "tables", 1, MOST_TABLES)
    least = 1 if model.quality_share is None else min(LEAST_TABLES, most)
    limit = checked_time_limit(time_limit)
    trials = ModelTrials(most, limit, clock, progress, least=least)
    plan = replace(plan, lines=(trials.line(fits, rows, asked, SHARE_OF_FIT),))
    if not plan.of_fit.tables:
        return plan
    for doubling in range(1, FURTHER_DOUBLINGS + 1):
        if plan.epsilon_needed is not None or not all_done(plan.further):
            break
        line = trials.line(fits, rows, (max(asked) * 2**doubling,), SHARE_OF_OTHERS)
        plan = replace(plan, further=(*plan.further, line))
    in_doubt = any(plan.in_doubt(k) for k in range(len(asked)))
    if in_doubt and model.quality_share is not None and model.quality_share < LARGER_SHARE:
        of_more = SimulatedFits(clone(model).set_params(quality_share=LARGER_SHARE), *given)
        line = trials.line(of_more, rows, asked, SHARE_OF_OTHERS)
        plan = replace(plan, larger_share=line if line.tables else None)
    for count in (max(2, rows // 2), *doublings(rows, question.public)):
        if count > 2 * rows and (enough_rows(plan) or not all_done(plan.lines)):
            break
        line = trials.line(fits, count, asked, SHARE_OF_OTHERS)
        plan = replace(plan, lines=(*plan.lines, line))
    return plan


def enough_rows(plan: ModelPlan) -> bool:
    """Return True if at every ε some number of rows reaches the goal, and leaves no doubt of it."""
    return all(
        plan.rows_needed(k) is not None
        and (not plan.in_doubt(k) or plan.rows_that_tell(k) is not None)
        for k in range(len(plan.epsilons))
    )


def all_done(lines: Sequence[ModelLine]) -> bool:
    """Return True if there was time for each line."""
    return all(line.tables for line in lines)


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
        self._tables, self._least, self._progress = tables, least, progress
        self._now, self._limit = clock, Deadline(time_limit, clock)
        self._done = 0
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
        if self._progress is not None:
            what = f"models of {rows:,} rows, table {number + 1}"
            self._progress(Step(self._done, MOST_LINES * self._tables, self._done, what))
        self._done += 1
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
        )
