"""`plan_selection`: what to expect of a table before it is opened, from its schema alone."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from mipselect.errors import InvalidInput, NotCertified
from mipselect.instance import Instance
from mipselect.planning.chances import (
    EXPONENTIAL,
    METHODS,
    USUAL,
    WITHOUT_PRIVACY,
    Case,
    Chance,
    Chances,
    blind,
    mean_of,
    without_privacy,
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

METHOD, COEF_BOUND, RIDGE, ROWS, REFERENCE = "method", "coef_bound", "ridge", "rows", "reference"
"""What a line is about."""

OTHER_BOUNDS = (0.5, 2.0)
OTHER_RIDGES = (10.0, 100.0)
DOUBLINGS = 5
"""What is tried besides the settings in question, as multiples of them."""

MOST_ENTRIES = 20_000_000
"""No table with more rows times columns is made up."""

MOST_TABLES = 10_000

TOO_SLOW = "not done within the time limit"


@dataclass(frozen=True)
class Setting:
    """One way to ask, with everything that is public about it.

    Attributes
    ----------
    about : str
        "method", "coef_bound", "ridge", "rows" or "reference".
    method : str
    rows : int
    coef_bound, ridge : float
    """

    about: str
    method: str
    rows: int
    coef_bound: float
    ridge: float


@dataclass(frozen=True)
class Line:
    """What a setting would find.

    Attributes
    ----------
    setting : Setting
    tables : tuple of tuple of Chance
        By table, and in each by ε. Empty where a table took longer than the time limit.
    remark : str
        Why it is empty, or "".
    """

    setting: Setting
    tables: tuple[Chances, ...]
    remark: str = ""

    def chance(self, k: int) -> Chance | None:
        """The mean over tables at the k-th ε; None where there are none."""
        return mean_of([chances[k] for chances in self.tables]) if self.tables else None

    def error(self, k: int) -> float | None:
        """The standard error of `found` at the k-th ε; None for a single table."""
        return _error([chances[k].found for chances in self.tables])

    def gain(self, other: Line, k: int) -> tuple[float, float | None]:
        """How much more is found than by another line on the same tables; and as `error`."""
        pairs = zip(self.tables, other.tables, strict=True)
        gains = [mine[k].found - theirs[k].found for mine, theirs in pairs]
        return float(np.mean(gains)), _error(gains)


@dataclass(frozen=True)
class SelectionPlan:
    """What to expect of a selection. No data is in it.

    Attributes
    ----------
    rows, support_size, features : int
        n, s, and how many features there are to choose from.
    epsilons : tuple of float
    coef_bound, ridge : float
        In question; the defaults, unless others were given.
    goal : float
        The share of the right columns that is wanted.
    guesses : Guesses
    seed : int
    lines : tuple of Line
        First the methods, then other `coef_bound`, other `ridge`, more rows, and what could be
        found without privacy.
    """

    rows: int
    support_size: int
    features: int
    epsilons: tuple[float, ...]
    coef_bound: float
    ridge: float
    goal: float
    guesses: Guesses
    seed: int
    lines: tuple[Line, ...]

    @property
    def blind(self) -> float:
        """What is found without looking: s/p."""
        return blind(self.features, self.support_size)

    def about(self, *what: str) -> tuple[Line, ...]:
        """The lines about something."""
        return tuple(line for line in self.lines if line.setting.about in what)

    @property
    def by_rows(self) -> tuple[Line, ...]:
        """The exponential mechanism by rising number of rows."""
        at_first = [line for line in self.about(METHOD) if line.setting.method == EXPONENTIAL]
        return (*at_first, *self.about(ROWS))

    def rows_needed(self, k: int) -> float | None:
        """About how many rows reach the goal at the k-th ε; None if more than were tried.

        Between two numbers that were tried, linear in their logarithms. The first number of rows
        is returned where fewer may do.
        """
        before: tuple[int, float] | None = None
        for line in self.by_rows:
            chance, rows = line.chance(k), line.setting.rows
            if chance is None:
                return None
            if chance.found >= self.goal:
                if before is None:
                    return float(rows)
                part = (self.goal - before[1]) / (chance.found - before[1])
                return float(before[0] * (rows / before[0]) ** part)
            before = rows, chance.found
        return None


@dataclass(frozen=True)
class Step:
    """Where a plan stands.

    Attributes
    ----------
    done, total : int
        Cases, a setting on a table each; and how many there are at most.
    tables : int
        How many tables are done.
    what : str
        What comes next.
    """

    done: int
    total: int
    tables: int
    what: str


Progress = Callable[[Step], None]
"""Receives a `Step` before each case."""


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
        How many are simulated for every number of rows.
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
    simulation = Simulation(public, guesses, support_size, seed)
    table = lru_cache(maxsize=1)(simulation.table)

    @lru_cache(maxsize=1)
    def instance(number: int, rows: int, coef_bound: float, ridge: float) -> Instance:
        return Instance.from_table(
            table(number, rows),
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
        made = instance(number, setting.rows, setting.coef_bound, setting.ridge)
        source = random.Random(f"{seed} {number} {setting}")
        return Case(made, simulation.right(number), eps, source, time_limit)

    lam = DEFAULT_RIDGE if ridge is None else checked_nonnegative(ridge, "ridge")
    start = Setting(METHOD, EXPONENTIAL, rows, coef_bound, lam)
    first = list(_at_hand(start, dict.fromkeys((EXPONENTIAL, *methods))))
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
        seed=seed,
        lines=tuple(found),
    )
    for setting in later:
        reached = all(plan.rows_needed(k) is not None for k in range(len(eps)))
        if reached or not plan.by_rows[-1].tables:
            break
        (line,) = _lines([setting], tables, case, watch)
        plan = replace(plan, lines=(*plan.lines, line))
    order = (METHOD, COEF_BOUND, RIDGE, ROWS, REFERENCE)
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

    What is compared with the first setting goes with it.
    """
    found: dict[Setting, list[Chances]] = {setting: [] for setting in settings}
    remarks = dict.fromkeys(settings, "")
    for number in range(tables):
        for setting in settings:
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


def _error(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
