"""`plan_selection`: what to expect of a table before it is opened, from its schema alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.planning.chances import (
    EXACT,
    METHODS,
    PERMUTE_AND_FLIP,
    USUAL,
    WITH_WEIGHTS,
    WITHOUT_PRIVACY,
)
from mipselect.planning.experiment import CaseCounter, Experiment
from mipselect.planning.guesses import Guesses
from mipselect.planning.lines import (
    COEF_BOUND,
    METHOD,
    REFERENCE,
    REPEATED,
    RIDGE,
    ROWS,
    Progress,
    SelectionPlan,
    Setting,
)
from mipselect.planning.question import Question
from mipselect.planning.rows import checked_guesses, doublings
from mipselect.problem.scores import BLOCKS, LOSS
from mipselect.tables import TableSchema
from mipselect.validation import checked_share, listed

OTHER_BOUNDS = (0.5, 2.0)
OTHER_RIDGES = (10.0, 100.0)
"""Settings that are tried besides those in question, as multiples of them."""

ORDER = (METHOD, COEF_BOUND, REPEATED, RIDGE, ROWS, REFERENCE)
"""Order of the lines of a plan, by what they are about."""

SHARE_OF_ROWS = 0.4
"""Share of all time, for more rows than the table has."""


def plan_selection(
    schema: TableSchema,
    *,
    target: str,
    rows: int,
    support_size: int,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0),
    methods: Sequence[str] | None = None,
    guesses: Guesses | None = None,
    goal: float = 0.8,
    tables: int = 20,
    seed: int = 0,
    time_limit: float = 10.0,
    progress: Progress | None = None,
    **choices: Any,
) -> SelectionPlan:
    """Simulate tables with the ranges and categories of a schema, and select from them.

    Nothing of a user's data is read: rows are made up from the schema and from stated guesses, so
    that the public choices of a selection can be made before the table is opened. The first line is
    what `select` does by default. What draws from the squared loss of clipped rows stands beside it
    where all fields have ranges.

    Parameters
    ----------
    schema : TableSchema
    target : str
    rows : int
        n of the table that is to be opened.
    support_size : int
        s; as many columns matter in the simulated tables.
    epsilons : sequence of float
        ε of one draw each, under replace-one.
    methods : sequence of str, optional
        Methods of `select`; default all but "sample-aggregate" and "mcmc". Where a field has no
        range, "permute-and-flip" and "exponential" only; with a survey weight no method that
        draws from scores.
    guesses : Guesses, optional
        Effect, correlation, missing share, spread.
    goal : float
        The share of the right columns that `rows_needed` is for.
    tables : int
        How many are simulated for every number of rows at most, and half as many with fields that
        repeat each other.
    seed : int
        The same seed gives the same plan.
    time_limit : float
        Seconds for all of it. What has no time left is tried on fewer tables, or has no chances
        and says so; it takes no other line with it.
    progress : callable, optional
        See `Progress`.
    **choices
        score, "blocks", "block-r2" or "loss", of the first line, default that of `select`; always
        and never, as for `Instance.from_table`; of the loss ranges, intercept, coef_bound, ridge.
        clock, a callable, has the time in seconds, since whenever.

    Returns
    -------
    SelectionPlan

    Raises
    ------
    InvalidInput
        For what is wrong with the schema, the question or a guess.

    Notes
    -----
    Where there are few supports the probabilities of exact draws are computed for every table, so
    that the standard errors are those of the tables alone; else they are relative frequencies.
    Block R² depends on ε by the size of its blocks, and is computed for each size. Where it takes
    more than half a second of a table, fewer partitions are drawn than by `select`, and where it
    takes long then, it is computed of some of the rows and counts for all: `select` finds a little
    more. A plan guarantees nothing: real columns are correlated otherwise, and their
    effects are not equally strong. Survey weights are not simulated: with them n rows find at best
    what Σw/W rows do without.

    Examples
    --------
    >>> from mipselect.planning import plan_selection
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("dose", "weight", "days"), (0, 10)))
    >>> question = {"target": "days", "rows": 500, "support_size": 1}
    >>> plan = plan_selection(schema, **question, epsilons=[1.0], tables=2)
    >>> [line.setting.name for line in plan.about("method")][:3]
    ['permute-and-flip, blocks', 'exponential, blocks', 'permute-and-flip, loss']
    >>> plan.blocks[0].score, plan.blocks[0].block_rows
    ('block-r2', 12)
    """
    clock: Callable[[], float] = choices.pop("clock", time.monotonic)
    question = Question(schema, target, support_size, **choices)
    public = question.public
    guesses = checked_guesses(guesses, rows, public)
    checked_share(goal, "goal", closed=False)
    methods = checked_methods(methods, question)
    experiment = Experiment(
        question,
        guesses,
        epsilons,
        tables=tables,
        seed=seed,
        time_limit=time_limit,
        clock=clock,
    )
    first = list(_at_hand(question, rows, methods, experiment.repeated))
    later = [replace(first[0], about=ROWS, rows=more) for more in doublings(rows, public)]
    blocks = tuple(
        question.blocks(rows, epsilon) for epsilon in experiment.epsilons if question.score != LOSS
    )
    counter = CaseCounter(progress, tables * (len(first) + len(later)))
    plan = SelectionPlan(
        rows=rows,
        support_size=support_size,
        features=len(public.features),
        epsilons=experiment.epsilons,
        blocks=blocks,
        without_range=question.without_range,
        coef_bound=question.bound,
        ridge=question.penalty,
        goal=goal,
        guesses=guesses,
        repeated=experiment.repeated,
        seed=seed,
        lines=tuple(experiment.lines(first, counter, SHARE_OF_ROWS * experiment.clock.limit)),
    )
    plan = _with_more_rows(plan, later, experiment, counter)
    in_order = sorted(plan.lines, key=lambda line: ORDER.index(line.setting.about))
    return replace(plan, lines=tuple(in_order))


def _with_more_rows(
    plan: SelectionPlan, later: Sequence[Setting], experiment: Experiment, counter: CaseCounter
) -> SelectionPlan:
    """Try settings of more rows until the goal is reached at every ε, or time is up."""
    for setting in later:
        reached = all(plan.rows_needed(k) is not None for k in range(len(plan.epsilons)))
        if reached or not plan.by_rows[-1].tables:
            break
        half = 0.5 * experiment.clock.remaining
        plan = replace(plan, lines=(*plan.lines, *experiment.lines([setting], counter, half)))
    return plan


def checked_methods(methods: Sequence[str] | None, question: Question) -> tuple[str, ...]:
    """Return the methods to compare, by default all that a question allows and that are quick.

    Raises
    ------
    InvalidInput
        For a method that is unknown, or that needs ranges where there are none, or that takes no
        weights where there are some.
    """
    if methods is None:
        usual = WITH_WEIGHTS if question.weighted else USUAL
        return usual if not question.without_range else tuple(EXACT)
    for name in methods:
        if name not in METHODS:
            raise InvalidInput(
                f"methods: {name!r} is unknown; known to a plan: {', '.join(METHODS)}"
            )
        if question.weighted and name not in WITH_WEIGHTS:
            raise InvalidInput(
                f"methods: {name!r} counts all rows the same, and the schema has a survey weight: "
                f"{listed(WITH_WEIGHTS)} take weights"
            )
        if question.without_range and name not in EXACT:
            raise InvalidInput(
                f"methods: {name!r} is planned for tables with ranges, and there is none of "
                f"{listed(question.without_range)}"
            )
    return tuple(methods)


def _at_hand(
    question: Question, rows: int, methods: Sequence[str], repeated: int
) -> Iterator[Setting]:
    """Yield all settings with the number of rows in question; those of one score in a row."""
    asked = dict.fromkeys((PERMUTE_AND_FLIP, *methods))
    bound, penalty = question.bound, question.penalty
    of_loss = Setting(METHOD, PERMUTE_AND_FLIP, rows, LOSS, bound, penalty)
    start = of_loss
    if question.score != LOSS:
        start = Setting(METHOD, PERMUTE_AND_FLIP, rows, BLOCKS)
        for method in (name for name in asked if name in EXACT):
            yield replace(start, method=method)
        yield replace(start, about=REFERENCE, method=WITHOUT_PRIVACY)
    if question.without_range:
        return
    for method in asked:
        yield replace(of_loss, method=method)
    if start == of_loss:
        yield replace(start, about=REFERENCE, method=WITHOUT_PRIVACY)
    for factor in OTHER_BOUNDS:
        yield replace(of_loss, about=COEF_BOUND, coef_bound=factor * bound)
    if penalty > 0.0:
        for factor in OTHER_RIDGES:
            yield replace(of_loss, about=RIDGE, ridge=factor * penalty)
    if repeated:
        for factor in sorted((1.0, *OTHER_BOUNDS)):
            yield replace(of_loss, about=REPEATED, coef_bound=factor * bound)
