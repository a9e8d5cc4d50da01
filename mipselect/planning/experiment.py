"""`Experiment`: settings tried on simulated tables."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa

from mipselect.errors import InvalidInput, NotCertified
from mipselect.planning.chances import METHODS, Case, Chances, Scored, without_privacy
from mipselect.planning.lines import (
    METHOD,
    REPEATED,
    RIDGE,
    TOO_SLOW,
    Line,
    Progress,
    Setting,
    Step,
)
from mipselect.planning.question import Question
from mipselect.planning.simulation import Guesses, Simulation
from mipselect.problem.scores import LOSS
from mipselect.validation import checked_epsilon, checked_integer, checked_time_limit

MOST_TABLES = 10_000


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
    ) -> None:
        self.question = question
        self.epsilons = tuple(dict.fromkeys(checked_epsilon(e, "epsilons") for e in epsilons))
        if not self.epsilons:
            raise InvalidInput("epsilons must have at least one ε")
        self.tables = checked_integer(tables, "tables", 1, MOST_TABLES)
        self.seed = checked_integer(seed, "seed", 0)
        self.time_limit = checked_time_limit(time_limit)
        given = question.public, guesses, question.support_size, seed
        self.simulations = Simulation(*given), Simulation(*given, repeats=True)
        # Settings that differ in their method alone stand in a row.
        self._table = lru_cache(maxsize=1)(self._simulated)
        self._scored = lru_cache(maxsize=1)(self._asked)

    @property
    def repeated(self) -> int:
        """Number of fields that repeat each other in the tables of the lines about it."""
        return self.simulations[True].repeated

    def lines(self, settings: Sequence[Setting], progress: CaseCounter) -> list[Line]:
        """Try every setting on every table; one that takes too long on a table is given up.

        What is compared with the first setting of its score goes with it. Half of the tables show
        what fields that repeat each other do, for the differences are large.
        """
        found: dict[Setting, list[Chances]] = {setting: [] for setting in settings}
        remarks = dict.fromkeys(settings, "")
        first = {setting.score: setting for setting in reversed(settings)}
        for number in range(self.tables):
            for setting in settings:
                if setting.about == REPEATED and number >= max(2, self.tables // 2):
                    continue
                progress.begin(f"{setting.method}, {setting.rows:,} rows, table {number + 1}")
                if setting.about != RIDGE:
                    remarks[setting] = remarks[setting] or remarks[first[setting.score]]
                if remarks[setting]:
                    continue
                chances = METHODS.get(setting.method, without_privacy)
                try:
                    found[setting].append(chances(self.case(setting, number)))
                except NotCertified:
                    remarks[setting] = TOO_SLOW
            progress.tables += 1
        return [
            Line(setting, () if remarks[setting] else tuple(found[setting]), remarks[setting])
            for setting in settings
        ]

    def case(self, setting: Setting, number: int) -> Case:
        """Return a table in a setting, and the right answer there."""
        repeats = setting.about == REPEATED
        # What is scored is the same for all methods.
        alike = replace(setting, about=REPEATED if repeats else METHOD, method="")
        right = self.simulations[repeats].right(number)
        source = random.Random(f"{self.seed} {number} {setting}")
        return Case(self._scored(alike, number), right, self.epsilons, source, self.time_limit)

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
            return (Scored(instance, self.time_limit),) * len(self.epsilons)
        seed = self.simulations[False].partition_seed(number, rows)
        chosen = [question.blocks(rows, epsilon) for epsilon in self.epsilons]
        scored = {
            options: Scored(question.in_blocks(table, options, seed), self.time_limit)
            for options in dict.fromkeys(chosen)
        }
        return tuple(scored[options] for options in chosen)


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
