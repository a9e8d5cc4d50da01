"""The time of a plan of a selection: each line has its share, and none costs another its answer."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism
from mipselect.cli.plan_report import legend, plan_table
from mipselect.errors import NotCertified
from mipselect.planning import Guesses, SelectionPlan, answers, experiment, plan_selection
from mipselect.planning.chances import USUAL, Case, Chance, Chances, require_time
from mipselect.planning.experiment import affordable
from mipselect.planning.lines import TOO_SLOW, Setting
from mipselect.planning.question import Question
from mipselect.search.progress import Deadline
from tests.support.planned_schemas import NUMBERS

FOREVER = 1e6


class Clock:
    """A clock that only methods move on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def planned(
    monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float], time_limit: float = 100.0
) -> tuple[SelectionPlan, Counter[str], Clock]:
    """Plan with methods that take so long, or give up; also how often each was tried."""
    clock, tried = Clock(), Counter[str]()

    def method(name: str) -> Any:
        def chances(case: Case) -> Chances:
            tried[name] += 1
            taken = seconds.get(name, 0.01)
            # What takes forever does not look at the clock.
            clock.now += taken if taken > FOREVER else min(taken, case.clock.remaining)
            require_time(case.clock)
            return tuple(Chance(0.9, 0.5) for _ in case.epsilons)

        return chances

    monkeypatch.setattr(experiment, "METHODS", {name: method(name) for name in USUAL})
    monkeypatch.setattr(experiment, "without_privacy", method("without privacy"))
    plan = plan_selection(
        NUMBERS,
        target="y",
        rows=200,
        support_size=2,
        tables=10,
        time_limit=time_limit,
        clock=clock,
        guesses=Guesses(repeated=0.0),
    )
    return plan, tried, clock


def tables(plan: SelectionPlan) -> dict[str, int]:
    return {line.setting.name: len(line.tables) for line in plan.lines}


def test_with_time_enough_every_line_has_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _, _ = planned(monkeypatch, {})
    assert set(tables(plan).values()) == {10}
    assert {line.remark for line in plan.lines} == {""}


@pytest.mark.parametrize("slow", ["top-r", "sis", "exponential"])
def test_a_slow_method_is_left_out_and_named_and_takes_no_other_with_it(
    monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    plan, tried, _ = planned(monkeypatch, {slow: 30.0})
    late = [line.setting for line in plan.lines if not line.tables]
    assert {setting.method for setting in late} == {slow}
    assert {len(line.tables) for line in plan.lines if line.tables} == {10}
    # Its first try is the only one of each of its lines.
    assert tried[slow] == len(late)
    said = legend(plan, 0.3)
    assert f"{TOO_SLOW} (--time-limit): {'; '.join(setting.name for setting in late)}".lower() in (
        said.lower()
    )
    shown = list(plan_table(plan).columns[0].cells)
    assert all(setting.name not in shown for setting in late)
    assert not re.search(" -(?!-)", " ".join(answer for _, answer in answers(plan)))


def test_a_dear_method_is_tried_on_fewer_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _, clock = planned(monkeypatch, {"sis": 12.0, "top-r": 1.0})
    count = tables(plan)
    assert 1 <= count["sis"] < 10
    assert count["top-r, loss"] == count["permute-and-flip, loss"] == 10
    assert clock.now <= 100.0


def test_the_first_method_is_the_last_to_be_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _, clock = planned(monkeypatch, {"permute-and-flip": 2.0, "kendall": 1.0}, 60.0)
    count = tables(plan)
    assert count["permute-and-flip, blocks"] == max(count.values())
    assert clock.now <= 60.0 + 2.0


def test_without_time_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, tried, _ = planned(monkeypatch, {"permute-and-flip": 1e9})
    assert sum(tried.values()) == 1
    assert not any(line.tables for line in plan.lines)
    assert all("unknown" in answer for _, answer in answers(plan))


def test_the_dearest_are_left_out_until_the_others_can_go_on() -> None:
    one, two, three, four = (Setting("method", name, 10, "loss") for name in "abcd")
    spent = {one: 5.0, two: 1.0, three: 4.0, four: 2.0}
    assert affordable(spent, 12.0) == spent
    assert affordable(spent, 9.0) == {one: 5.0, two: 1.0, four: 2.0}
    assert affordable(spent, 5.5) == {one: 5.0}
    assert affordable(spent, 4.0) == {}


def test_scores_of_some_rows_count_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case of fewer scored rows is that of a table with so many rows and a larger ε."""
    monkeypatch.setattr("mipselect.planning.question.SECONDS_OF_SCORES", 1e-9)
    question = Question(NUMBERS, "y", 2)
    options = question.blocks(4000, 1.0)
    few = question.rows_scored(4000, options)
    assert few == 20 * options.block_rows  # type: ignore[operator]
    tried = experiment.Experiment(
        question, Guesses(effect=0.05), [1.0], tables=1, seed=0, time_limit=600.0
    )
    case = tried.case(Setting("method", "exponential", 4000, "blocks"), 0, tried.clock)
    (scored,) = case.scored
    assert scored.weight == pytest.approx(4000 / few)
    assert scored.source.n == few
    (chance,) = experiment.METHODS["exponential"](case)
    # The exact law of all supports at ε n/n'.
    supports, _ = scored.listed
    law = ExponentialMechanism(scored.source, 4000 / few)
    expected = sum(
        float(case.shares(support[None, :])[0]) * math.exp(law.log_probability(support))
        for support in supports
    )
    assert chance.found == pytest.approx(expected, rel=1e-6)


def test_draws_are_fewer_where_time_is_short_and_some_at_least() -> None:
    clock = Clock()
    (scored,) = (
        experiment.Experiment(
            Question(NUMBERS, "y", 2), Guesses(), [1.0], tables=1, seed=0, time_limit=600.0
        )
        .case(Setting("method", "exponential", 400, "blocks"), 0, Deadline(600.0))
        .scored
    )
    drawn: list[int] = []

    def draw() -> tuple[int, ...]:
        clock.now += 1.0
        drawn.append(1)
        return (0, 1)

    for seconds, share, count in ((100.0, 1.0, 50), (30.0, 1.0, 30), (60.0, 0.5, 30)):
        clock.now = 0.0
        drawn.clear()
        right = (np.array([0]), np.array([2]))
        case = Case((scored,), right, (1.0,), random.Random(0), Deadline(seconds, clock))
        assert case.of_draws(draw, share) == Chance(0.5, 0.0)
        assert len(drawn) == count
    clock.now = 0.0
    with pytest.raises(NotCertified, match="time limit"):
        Case((scored,), right, (1.0,), random.Random(0), Deadline(9.0, clock)).of_draws(draw)


def test_an_impossible_draw_is_not_certified() -> None:
    question = Question(NUMBERS, "y", 2)
    tried = experiment.Experiment(question, Guesses(), [1.0], tables=1, seed=0, time_limit=1e-9)
    case = tried.case(Setting("method", "exponential", 400, "blocks"), 0, tried.clock)
    with pytest.raises(NotCertified, match="time limit"):
        _ = case.seconds
