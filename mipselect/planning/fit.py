"""`plan_fit`: how good a released model would be, before the table is opened."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.planning.experiment import MOST_TABLES, checked_epsilons
from mipselect.planning.forecasts import (
    AUC,
    LARGER_SHARE,
    LEAST_TABLES,
    R_SQUARED,
    ModelLine,
    ModelPlan,
)
from mipselect.planning.guesses import Guesses
from mipselect.planning.lines import Progress
from mipselect.planning.model_trials import FURTHER_DOUBLINGS, ModelTrials
from mipselect.planning.question import Question
from mipselect.planning.rows import checked_guesses, doublings
from mipselect.planning.simulated_fits import SimulatedFits
from mipselect.regression import SelectThenRegress
from mipselect.regression.pair import most_features
from mipselect.tables import TableSchema
from mipselect.validation import (
    checked_integer,
    checked_share,
    checked_time_limit,
    listed,
)

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
    question = _question(model, schema, target, choices)
    guesses = checked_guesses(guesses, rows, question.public)
    if model.quality_share is not None:
        checked_share(model.quality_share, "quality_share", closed=False)
    plan = ModelPlan(
        rows=rows,
        support_size=question.support_size,
        features=len(question.public.features),
        epsilons=asked,
        measure=R_SQUARED if question.public.units.classes is None else AUC,
        goal=checked_share(goal, "goal", closed=False),
        guesses=guesses,
        seed=checked_integer(seed, "seed", 0),
        lines=(),
        quality_share=model.quality_share,
    )
    fits = SimulatedFits(model, question, guesses, plan.seed)
    most = checked_integer(tables, "tables", 1, MOST_TABLES)
    least = 1 if model.quality_share is None else min(LEAST_TABLES, most)
    trials = ModelTrials(most, checked_time_limit(time_limit), clock, progress, least=least)
    plan = replace(plan, lines=(trials.line(fits, rows, asked, SHARE_OF_FIT),))
    if plan.of_fit.tables:
        plan = _with_larger_epsilons(plan, trials, fits)
        plan = _with_a_larger_share(plan, trials, fits)
        plan = _with_other_rows(plan, trials, fits, doublings(rows, question.public))
    return plan


def _question(
    model: SelectThenRegress, schema: TableSchema, target: str, choices: Mapping[str, Any]
) -> Question:
    """Return the question that a model answers, whose fields all have ranges."""
    question = Question(
        schema,
        target,
        most_features(model.selector),
        score=getattr(model.selector, "asked_score", None),
        intercept=bool(model.regressor.fit_intercept),
        **choices,
    ).of_single_rows
    if question.without_range:
        raise InvalidInput(f"a model needs a range of {listed(question.without_range)} too")
    return question


def _with_larger_epsilons(plan: ModelPlan, trials: ModelTrials, fits: SimulatedFits) -> ModelPlan:
    """Double the largest ε until the goal is reached, or time is up."""
    for doubling in range(1, FURTHER_DOUBLINGS + 1):
        if plan.epsilon_needed is not None or not _all_done(plan.further):
            break
        epsilon = max(plan.epsilons) * 2**doubling
        line = trials.line(fits, plan.rows, (epsilon,), SHARE_OF_OTHERS)
        plan = replace(plan, further=(*plan.further, line))
    return plan


def _with_a_larger_share(plan: ModelPlan, trials: ModelTrials, fits: SimulatedFits) -> ModelPlan:
    """Keep more rows apart where the share leaves in doubt how good some model is."""
    share, asked = plan.quality_share, plan.epsilons
    in_doubt = any(plan.in_doubt(k) for k in range(len(asked)))
    if not in_doubt or share is None or share >= LARGER_SHARE:
        return plan
    line = trials.line(fits.with_share(LARGER_SHARE), plan.rows, asked, SHARE_OF_OTHERS)
    return replace(plan, larger_share=line if line.tables else None)


def _with_other_rows(
    plan: ModelPlan, trials: ModelTrials, fits: SimulatedFits, more: Sequence[int]
) -> ModelPlan:
    """Try half of the rows, then more of them until these are enough, or time is up."""
    for count in (max(2, plan.rows // 2), *more):
        if count > 2 * plan.rows and (_enough_rows(plan) or not _all_done(plan.lines)):
            break
        line = trials.line(fits, count, plan.epsilons, SHARE_OF_OTHERS)
        plan = replace(plan, lines=(*plan.lines, line))
    return plan


def _enough_rows(plan: ModelPlan) -> bool:
    """Return True if at every ε some number of rows reaches the goal, and leaves no doubt of it."""
    return all(
        plan.rows_needed(k) is not None
        and (not plan.in_doubt(k) or plan.rows_that_tell(k) is not None)
        for k in range(len(plan.epsilons))
    )


def _all_done(lines: Sequence[ModelLine]) -> bool:
    """Return True if there was time for each line."""
    return all(line.tables for line in lines)
