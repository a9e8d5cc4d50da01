"""`plan_selection`: what to expect of a table before it is opened, from its schema alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa

from mipselect.errors import InvalidInput, NotCertified
from mipselect.instance import Instance
from mipselect.planning.chances import (
    EXPONENTIAL,
    METHODS,
    USUAL,
    WITHOUT_PRIVACY,
    Case,
    Chances,
    without_privacy,
)
from mipselect.planning.lines import (
    COEF_BOUND,
    METHOD,
    REFERENCE,
    REPEATED,
    RIDGE,
    ROWS,
    TOO_SLOW,
    Line,
    Progress,
    SelectionPlan,
    Setting,
    Step,
)
from mipselect.planning.simulation import Guesses, Simulation
from mipselect.tables import PublicMap, TableSchema
from mipselect.tables.defaults import DEFAULT_RIDGE, default_coef_bound
from mipselect.tables.public_map import Ranges
from mipselect.validation import (
    checked_epsilon,
    checked_integer,
    checked_nonnegative,
    checked_scale,
    checked_share,
    checked_time_limit,
)

OTHER_BOUNDS = (0.5, 2.0)
OTHER_RIDGES = (10.0, 100.0)
DOUBLINGS = 5
"""Settings that are tried besides those in question, as multiples of them."""

MOST_ENTRIES = 20_000_000
"""No table with more rows times columns is made up."""

MOST_TABLES = 10_000


def plan_selection(
    schema: TableSchema,
    *,
    target: str,
    rows: int,
    support_size: int,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0),
    methods: Sequence[str] = USUAL,
    always: Sequence[str] = (),
    never: Sequence[str] = (),
    ranges: Ranges | None = None,
    intercept: bool = True,
    coef_bound: float | None = None,
    ridge: float | None = None,
    guesses: Guesses | None = None,
    goal: float = 0.8,
    tables: int = 20,
    seed: int = 0,
    time_limit: float = 10.0,
    progress: Progress | None = None,
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
    always, never, ranges, intercept, coef_bound, ridge
        As for `Instance.from_table`.
    guesses : Guesses, optional
        Effect, correlation, missing share, spread.
    goal : float
        The share of the right columns for which `rows_needed` is asked.
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
    frequencies of exact draws. A plan is no promise: real columns are correlated otherwise, and
    their effects are not equally strong.

    Examples
    --------
    >>> from mipselect.planning import plan_selection
    >>> from mipselect.tables import TableSchema
    >>> fields = [
    ...     {"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": 10}}
    ...     for name in ("dose", "weight", "days")
    ... ]
    >>> schema = TableSchema.of({"fields": fields})
    >>> plan = plan_selection(
    ...     schema, target="days", rows=500, support_size=1, epsilons=[1.0], tables=2
    ... )
    >>> [line.setting.method for line in plan.about("method")][0]
    'exponential'
    """
    if not isinstance(schema, TableSchema):
        raise InvalidInput("schema must be a TableSchema: TableSchema.read(path)")
    public = PublicMap.of(schema, target=target, always=always, never=never, ranges=ranges)
    guesses = Guesses() if guesses is None else guesses
    guesses.target_law(public)
    checked_integer(rows, "rows", 2)
    if rows * len(public.columns) > MOST_ENTRIES:
        raise InvalidInput(
            f"rows must be at most {MOST_ENTRIES // len(public.columns):,} for "
            f"{len(public.columns)} columns, got {rows:,}; plan with fewer: what is found depends "
            "on epsilon times rows"
        )
    checked_integer(support_size, "support_size", 1, len(public.features))
    checked_integer(tables, "tables", 1, MOST_TABLES)
    checked_integer(seed, "seed", 0)
    checked_share(goal, "goal", closed=False)
    checked_time_limit(time_limit)
    eps = tuple(dict.fromkeys(checked_epsilon(epsilon, "epsilons") for epsilon in epsilons))
    if not eps:
        raise InvalidInput("epsilons must have at least one ε")
    for name in methods:
        if name not in METHODS:
            raise InvalidInput(
                f"methods: {name!r} is unknown; known to a plan: {', '.join(METHODS)}"
            )
    if coef_bound is None:
        coef_bound = default_coef_bound(support_size, len(public.always), intercept)
    checked_scale(coef_bound, "coef_bound")
    simulations = [Simulation(public, guesses, support_size, seed, many) for many in (False, True)]
    repeated = simulations[True].repeated

    @lru_cache(maxsize=1)
    def table(repeats: bool, number: int, rows: int) -> pa.Table:
        return simulations[repeats].table(number, rows)

    @lru_cache(maxsize=1)
    def instance(
        repeats: bool, number: int, rows: int, coef_bound: float, ridge: float
    ) -> Instance:
        return Instance.from_table(
            table(repeats, number, rows),
            schema,
            target=target,
            support_size=support_size,
            always=always,
            never=never,
            intercept=intercept,
            coef_bound=coef_bound,
            ridge=ridge,
            ranges=ranges,
        )

    def case(setting: Setting, number: int) -> Case:
        repeats = setting.about == REPEATED
        made = instance(repeats, number, setting.rows, setting.coef_bound, setting.ridge)
        source = random.Random(f"{seed} {number} {setting}")
        return Case(made, simulations[repeats].right(number), eps, source, time_limit)

    lam = DEFAULT_RIDGE if ridge is None else checked_nonnegative(ridge, "ridge")
    start = Setting(METHOD, EXPONENTIAL, rows, coef_bound, lam)
    first = list(_at_hand(start, dict.fromkeys((EXPONENTIAL, *methods))))
    if repeated:
        bounds = [factor * coef_bound for factor in (1.0, *OTHER_BOUNDS)]
        first += [replace(start, about=REPEATED, coef_bound=bound) for bound in sorted(bounds)]
    later = [
        replace(start, about=ROWS, rows=rows * 2**k)
        for k in range(1, DOUBLINGS + 1)
        if rows * 2**k * len(public.columns) <= MOST_ENTRIES
    ]
    watch = _Watch(progress, tables * (len(first) + len(later)))
    found = _lines(first, tables, case, watch)
    plan = SelectionPlan(
        rows=rows,
        support_size=support_size,
        features=len(public.features),
        epsilons=eps,
        coef_bound=coef_bound,
        ridge=lam,
        goal=goal,
        guesses=guesses,
        repeated=repeated,
        seed=seed,
        lines=tuple(found),
    )
    for setting in later:
        reached = all(plan.rows_needed(k) is not None for k in range(len(eps)))
        if reached or not plan.by_rows[-1].tables:
            break
        (line,) = _lines([setting], tables, case, watch)
        plan = replace(plan, lines=(*plan.lines, line))
    order = (METHOD, COEF_BOUND, REPEATED, RIDGE, ROWS, REFERENCE)
    in_order = sorted(plan.lines, key=lambda line: order.index(line.setting.about))
    return replace(plan, lines=tuple(in_order))


class _Watch:
    """Counts cases and tells about them."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._done, self._total, self._tables = progress, 0, total, 0

    def begin(self, what: str) -> None:
        if self._progress is not None:
            self._progress(Step(self._done, self._total, self._tables, what))
        self._done += 1

    def end_of_table(self) -> None:
        self._tables += 1


def _at_hand(start: Setting, methods: Iterable[str]) -> Iterator[Setting]:
    """All settings with the number of rows in question; those of one instance in a row."""
    for method in methods:
        yield replace(start, method=method)
    yield replace(start, about=REFERENCE, method=WITHOUT_PRIVACY)
    for factor in OTHER_BOUNDS:
        yield replace(start, about=COEF_BOUND, coef_bound=factor * start.coef_bound)
    if start.ridge > 0.0:
        for factor in OTHER_RIDGES:
            yield replace(start, about=RIDGE, ridge=factor * start.ridge)


def _lines(
    settings: Sequence[Setting],
    tables: int,
    case: Callable[[Setting, int], Case],
    watch: _Watch,
) -> list[Line]:
    """Every setting on every table; one that takes too long on a table is given up.

    What is compared with the first setting goes with it. Half of the tables show what fields that
    repeat each other do, for the differences are large.
    """
    found: dict[Setting, list[Chances]] = {setting: [] for setting in settings}
    remarks = dict.fromkeys(settings, "")
    for number in range(tables):
        for setting in settings:
            if setting.about == REPEATED and number >= max(2, tables // 2):
                continue
            watch.begin(f"{setting.method}, {setting.rows:,} rows, table {number + 1}")
            if remarks[settings[0]] and setting.about != RIDGE:
                remarks[setting] = remarks[settings[0]]
            if remarks[setting]:
                continue
            look = METHODS.get(setting.method, without_privacy)
            try:
                found[setting].append(look(case(setting, number)))
            except NotCertified:
                remarks[setting] = TOO_SLOW
        watch.end_of_table()
    return [
        Line(setting, () if remarks[setting] else tuple(found[setting]), remarks[setting])
        for setting in settings
    ]
