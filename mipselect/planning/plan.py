"""`plan_selection`: what to expect of a table before it is opened, from its schema alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.planning.chances import EXPONENTIAL, METHODS, USUAL, WITHOUT_PRIVACY
from mipselect.planning.experiment import CaseCounter, Experiment
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
from mipselect.planning.simulation import Guesses
from mipselect.tables import TableSchema
from mipselect.validation import (
    checked_integer,
    checked_share,
)

OTHER_BOUNDS = (0.5, 2.0)
OTHER_RIDGES = (10.0, 100.0)
DOUBLINGS = 5
"""Settings that are tried besides those in question, as multiples of them."""

MOST_ENTRIES = 20_000_000
"""No table with more rows times columns is made up."""


def plan_selection(
    schema: TableSchema,
    *,
    target: str,
    rows: int,
    support_size: int,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0),
    methods: Sequence[str] = USUAL,
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
    that the public choices of a selection can be made before the table is opened. The loss is the
    squared one.

    Parameters
    ----------
    schema : TableSchema
    target : str
    rows : int
        n of the table that is to be opened.
    support_size : int
        s; as many columns matter in the simulated tables.
    epsilons : sequence of float
        Of one draw each, under replace-one.
    methods : sequence of str
        Of those of `select`; default all but "sample-aggregate" and "mcmc".
    guesses : Guesses, optional
        Effect, correlation, missing share, spread.
    goal : float
        The share of the right columns that `rows_needed` is for.
    tables : int
        How many are simulated for every number of rows, and half as many with fields that repeat
        each other.
    seed : int
        The same seed gives the same plan.
    time_limit : float
        Seconds for each search, each preparation of draws, and the draws from one distribution;
        what takes longer has no chances. Where the exponential mechanism does, only a larger
        ridge is tried, which makes exact draws faster.
    progress : callable, optional
        See `Progress`.
    **choices
        always, never, ranges, intercept, coef_bound and ridge, as for `Instance.from_table`.

    Returns
    -------
    SelectionPlan

    Raises
    ------
    InvalidInput
        For what is wrong with the schema, the question or a guess.

    Notes
    -----
    Where there are few supports the probabilities of the exponential mechanism are exact for every
    table, so that the standard errors are those of the tables alone; else they are relative
    frequencies of exact draws. A plan guarantees nothing: real columns are correlated
    otherwise, and their effects are not equally strong.

    Examples
    --------
    >>> from mipselect.planning import plan_selection
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("dose", "weight", "days"), (0, 10)))
    >>> question = {"target": "days", "rows": 500, "support_size": 1}
    >>> plan = plan_selection(schema, **question, epsilons=[1.0], tables=2)
    >>> [line.setting.method for line in plan.about("method")][0]
    'exponential'
    """
    question = Question(schema, target, support_size, **choices)
    public = question.public
    guesses = Guesses() if guesses is None else guesses
    guesses.target_law(public)
    checked_integer(rows, "rows", 2)
    if rows * len(public.columns) > MOST_ENTRIES:
        raise InvalidInput(
            f"rows must be at most {MOST_ENTRIES // len(public.columns):,} for "
            f"{len(public.columns)} columns, got {rows:,}; plan with fewer: what is found depends "
            "on epsilon times rows"
        )
    checked_share(goal, "goal", closed=False)
    for name in methods:
        if name not in METHODS:
            raise InvalidInput(
                f"methods: {name!r} is unknown; known to a plan: {', '.join(METHODS)}"
            )
    experiment = Experiment(
        question, guesses, epsilons, tables=tables, seed=seed, time_limit=time_limit
    )
    start = Setting(METHOD, EXPONENTIAL, rows, question.bound, question.penalty)
    first = list(_at_hand(start, dict.fromkeys((EXPONENTIAL, *methods)), experiment.repeated))
    later = [
        replace(start, about=ROWS, rows=rows * 2**k)
        for k in range(1, DOUBLINGS + 1)
        if rows * 2**k * len(public.columns) <= MOST_ENTRIES
    ]
    counter = CaseCounter(progress, tables * (len(first) + len(later)))
    plan = SelectionPlan(
        rows=rows,
        support_size=support_size,
        features=len(public.features),
        epsilons=experiment.epsilons,
        coef_bound=start.coef_bound,
        ridge=start.ridge,
        goal=goal,
        guesses=guesses,
        repeated=experiment.repeated,
        seed=seed,
        lines=tuple(experiment.lines(first, counter)),
    )
    for setting in later:
        reached = all(plan.rows_needed(k) is not None for k in range(len(plan.epsilons)))
        if reached or not plan.by_rows[-1].tables:
            break
        plan = replace(plan, lines=(*plan.lines, *experiment.lines([setting], counter)))
    order = (METHOD, COEF_BOUND, REPEATED, RIDGE, ROWS, REFERENCE)
    in_order = sorted(plan.lines, key=lambda line: order.index(line.setting.about))
    return replace(plan, lines=tuple(in_order))


def _at_hand(start: Setting, methods: Iterable[str], repeated: int) -> Iterator[Setting]:
    """All settings with the number of rows in question; those of one instance in a row."""
    for method in methods:
        yield replace(start, method=method)
    yield replace(start, about=REFERENCE, method=WITHOUT_PRIVACY)
    for factor in OTHER_BOUNDS:
        yield replace(start, about=COEF_BOUND, coef_bound=factor * start.coef_bound)
    if start.ridge > 0.0:
        for factor in OTHER_RIDGES:
            yield replace(start, about=RIDGE, ridge=factor * start.ridge)
    if repeated:
        for factor in sorted((1.0, *OTHER_BOUNDS)):
            yield replace(start, about=REPEATED, coef_bound=factor * start.coef_bound)
