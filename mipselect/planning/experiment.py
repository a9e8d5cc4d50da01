"""`Experiment`: settings tried on simulated tables."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa

from mipselect.errors import InvalidInput, NotCertified
from mipselect.planning.chances import (
    METHODS,
    Case,
    Chances,
    Scored,
    require_time,
    without_privacy,
)
from mipselect.planning.guesses import Guesses
from mipselect.planning.lines import (
    METHOD,
    REPEATED,
    TOO_SLOW,
    Line,
    Progress,
    Setting,
    Step,
)
from mipselect.planning.question import Question
from mipselect.planning.simulation import Simulation
from mipselect.problem.scores import LOSS
from mipselect.search.progress import Deadline
from mipselect.validation import checked_epsilon, checked_integer, checked_time_limit

MOST_TABLES = 10_000

SHARE_OF_THE_FIRST = 0.6
SHARE_OF_A_CASE = 0.25
"""Share of the time that is left, for the first setting and any other on their first table."""


def checked_epsilons(epsilons: Sequence[float]) -> tuple[float, ...]:
    """Return each ε once; raise `InvalidInput` for none, and for one that is out of its range."""
    asked = tuple(dict.fromkeys(checked_epsilon(e, "epsilons") for e in epsilons))
    if not asked:
        raise InvalidInput("epsilons must have at least one ε")
    return asked


class Experiment:
    """Simulated tables, each with the same question in several settings; see `plan_selection`."""

    def __init__(
        self,
        question: Question,
        guesses: Guesses,
        epsilons: Sequence[float],
        *,
        tables: int,
        seed: int,
        time_limit: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.question = question
        self.epsilons = checked_epsilons(epsilons)
        self.tables = checked_integer(tables, "tables", 1, MOST_TABLES)
        self.seed = checked_integer(seed, "seed", 0)
        self.clock, self._now = Deadline(checked_time_limit(time_limit), clock), clock
        given = question.public, guesses, question.support_size, seed
        self.simulations = Simulation(*given), Simulation(*given, repeats=True)
        # Settings that differ in their method alone stand in a row.
        self._table = lru_cache(maxsize=1)(self._simulated)
        self._scored = lru_cache(maxsize=1)(self._asked)

    @property
    def repeated(self) -> int:
        """Number of fields that repeat each other in the tables of the lines about it."""
        return self.simulations[True].repeated

    def lines(self, settings: Sequence[Setting], progress: CaseCounter, later: float) -> list[Line]:
        """Try every setting on every table that there is time for, but so many seconds for later.

        A setting that takes long costs no other its answers: each has a share of the time for its
        first table, and where not all can go on, the one that took longest stops. Half of the
        tables show what fields that repeat each other do, for the differences are large.
        """
        found: dict[Setting, list[Chances]] = {setting: [] for setting in settings}
        spent = dict.fromkeys(settings, 0.0)
        clock = Deadline(self.clock.remaining - later, self._now)
        for number in range(self.tables):
            for setting in tuple(spent):
                if setting.about == REPEATED and number >= max(2, self.tables // 2):
                    continue
                progress.begin(f"{setting.method}, {setting.rows:,} rows, table {number + 1}")
                own = self._own(number, setting is settings[0], clock)
                chances = METHODS.get(setting.method, without_privacy)
                try:
                    require_time(own)
                    before = own.seconds
                    found[setting].append(chances(self.case(setting, number, own)))
                    spent[setting] += own.seconds - before
                except NotCertified:
                    del spent[setting]
            progress.tables += 1
            spent = affordable(spent, (number + 1) * clock.remaining)
        return [
            Line(setting, tuple(tables), "" if tables else TOO_SLOW)
            for setting, tables in found.items()
        ]

    def _own(self, number: int, first: bool, clock: Deadline) -> Deadline:
        """Say by when a case must be done; what all others are compared with may take longer."""
        if number > 0:
            return clock
        share = SHARE_OF_THE_FIRST if first else SHARE_OF_A_CASE
        return Deadline(share * clock.remaining, self._now)

    def case(self, setting: Setting, number: int, clock: Deadline) -> Case:
        """Return a table in a setting, and the right answer there."""
        repeats = setting.about == REPEATED
        # What is scored is the same for all methods.
        alike = replace(setting, about=REPEATED if repeats else METHOD, method="")
        right = self.simulations[repeats].right(number)
        source = random.Random(f"{self.seed} {number} {setting}")
        return Case(self._scored(alike, number), right, self.epsilons, source, clock)

    def _simulated(self, repeats: bool, number: int, rows: int) -> pa.Table:
        return self.simulations[repeats].table(number, rows)

    def _asked(self, setting: Setting, number: int) -> tuple[Scored, ...]:
        """Score a table for every ε, once where nothing differs."""
        rows, question = setting.rows, self.question
        table = self._table(setting.about == REPEATED, number, rows)
        if setting.score == LOSS:
            assert setting.coef_bound is not None
            assert setting.ridge is not None
            instance = question.instance(table, setting.coef_bound, setting.ridge)
            return (Scored(instance, self.clock),) * len(self.epsilons)
        seed = self.simulations[False].partition_seed(number, rows)
        chosen = [question.blocks(rows, epsilon) for epsilon in self.epsilons]
        scored = {}
        for options in dict.fromkeys(chosen):
            few = question.rows_scored(rows, options)
            source = question.in_blocks(table.slice(0, few), options, seed)
            scored[options] = Scored(source, self.clock, rows / few)
        return tuple(scored[options] for options in chosen)


def affordable(spent: Mapping[Setting, float], seconds: float) -> dict[Setting, float]:
    """Leave out the dearest but the first until the others take no longer; at last the first."""
    kept = dict(spent)
    while kept and sum(kept.values()) > seconds:
        others = list(kept)[1:] or list(kept)
        del kept[max(others, key=kept.__getitem__)]
    return kept


class CaseCounter:
    """Number of cases begun and of tables done, told before each case.

    Parameters
    ----------
    report : callable, optional
        See `Progress`.
    total : int
        The most cases there may be.
    """

    def __init__(self, report: Progress | None, total: int) -> None:
        self._report, self._total = report, total
        self._done = self.tables = 0

    def begin(self, what: str) -> None:
        """Report a case before it is looked at, and count it."""
        if self._report is not None:
            self._report(Step(self._done, self._total, self.tables, what))
        self._done += 1
