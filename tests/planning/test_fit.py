"""`plan_fit`: forecasts of a released model, sentences about them, and work within a time limit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score

from mipselect.cli.app import app  # noqa: F401  (options of the command line are declared by it)
from mipselect.cli.plan_model_report import model_legend
from mipselect.cli.planned_fit import planned_fit, planned_options
from mipselect.cli.table_options import DivisionOptions
from mipselect.errors import InvalidInput, NotCertified
from mipselect.planning import (
    Guesses,
    ModelLine,
    ModelPlan,
    TableScores,
    fit,
    model_sentences,
    plan_fit,
)
from mipselect.planning.question import Question
from mipselect.planning.range_advice import range_advice
from mipselect.planning.simulated_fits import ScoredModel, SimulatedFits
from mipselect.regression.table_pair import TablePair
from mipselect.tables import TableSchema
from tests.support.planned_schemas import NUMBERS, PEOPLE


def planned(schema: TableSchema = NUMBERS, target: str = "y", **more: Any) -> ModelPlan:
    options: dict[str, Any] = {"rows": 400, "epsilons": [1.0], "tables": 3, "time_limit": 600.0}
    of_classes = target == "ill"
    return plan_fit(
        planned_fit(planned_options(), 2, of_classes=of_classes),
        schema,
        target=target,
        **{**options, **more},
    )


def test_many_rows_reach_what_is_possible_and_few_are_worse_than_the_mean() -> None:
    guesses = Guesses(effect=0.5)
    many = planned(rows=40_000, guesses=guesses, epsilons=[2.0])
    assert many.of_fit.without_privacy == pytest.approx(0.5, abs=0.04)
    assert many.of_fit.expected(0) == pytest.approx(0.5, abs=0.05)
    assert many.reaches(0)
    assert "without privacy." in model_sentences(many)[0]
    few = planned(rows=50, guesses=guesses, epsilons=[0.5], tables=6)
    assert not few.reaches(0)
    assert few.of_fit.expected(0) < 0.15
    assert "would do" in model_sentences(few)[0]
    assert few.further[-1].expected(0) > few.of_fit.expected(0)


def test_rows_that_are_kept_apart_are_not_fitted_to() -> None:
    question, guesses = Question(NUMBERS, "y", 2), Guesses(effect=0.6)
    apart = planned_options(division=DivisionOptions(quality_share=0.9))
    model = planned_fit(apart, 2, of_classes=False)
    fits = SimulatedFits(model, question, guesses, 0)
    assert (fits.fitted(1000), fits.fitted(2)) == (100, 1)
    fits.models(0, 1000, 2.0, 60.0)
    made = fits._made(0, 1000)
    assert (made.table.num_rows, len(made.fitted.y), len(made.fresh.y)) == (100, 100, 2000)
    assert made.apart.num_rows == 900
    assert made.table.slice(99).to_pylist() != made.apart.slice(0, 1).to_pylist()
    all_of_them = SimulatedFits(
        planned_fit(planned_options(), 2, of_classes=False), question, guesses, 0
    )
    assert all_of_them.fitted(1000) == 1000
    # The model is one of 100 rows, wherever n stands.
    few, many = (
        np.mean([one.score for one in each.models(0, 1000, 2.0, 60.0)])
        for each in (fits, all_of_them)
    )
    assert few < many - 0.1
    options: dict[str, Any] = {"target": "y", "rows": 400, "epsilons": [1.0], "tables": 1}
    plan = plan_fit(model, NUMBERS, **options, time_limit=600.0)
    assert (plan.rows, plan.quality_share) == (400, 0.9)
    with pytest.raises(InvalidInput, match="quality_share must"):
        plan_fit(model.set_params(quality_share=1.0), NUMBERS, **options)


@pytest.mark.parametrize(
    ("epsilons", "words"),
    [
        ([0.5, 1.0], ["at ε = 0.5 and 1 do not draw them"]),
        ([2.0, 1.25], ["at ε = 1.25 and 2 private ranges", "for those who can state none"]),
        ([1.25, 1.2], ["at ε = 1.25 private ranges", "at ε = 1.2 do not draw them"]),
    ],
)
def test_which_ranges_to_take_follows_from_rows_times_epsilon(
    epsilons: list[float], words: list[str]
) -> None:
    advice = range_advice(Question(NUMBERS, "y", 2).public, 4_000, epsilons)
    assert all(word in advice for word in words), advice
    assert advice.count("at ε") == len(words) - ("for those who can state none" in words)


def test_without_numbers_there_is_no_range_to_choose() -> None:
    fields = [{"name": name, "type": "boolean"} for name in ("a", "b", "y")]
    question = Question(TableSchema.of({"fields": fields}), "y", 1)
    assert range_advice(question.public, 4_000, [1.0]) == ""


def test_a_simulated_model_is_one_of_fit() -> None:
    """Fresh scores of simulated models are those of `fit_table` on the same table."""
    model, question = planned_fit(planned_options(), 2, of_classes=False), Question(NUMBERS, "y", 2)
    fits = SimulatedFits(model, question, Guesses(effect=0.6), 0)
    simulated = [one.score for one in fits.models(3, 2000, 40.0, 60.0)]
    made = fits._made(3, 2000)
    fresh = fits._simulation.table(3, 4000).slice(2000)
    released = clone(model).set_params(epsilon=40.0)
    scores = []
    for seed in range(4):
        released.selector.random_state = released.regressor.random_state = seed
        released.fit_table(made.table, NUMBERS, target="y")
        scores.append(r2_score(fresh["y"].to_numpy(), released.predict(fresh)))
    # At so large an ε both are private in name only, and nearly the same model.
    assert max(simulated) == pytest.approx(max(scores), abs=0.02)
    assert made.without_privacy > max(*simulated, *scores) - 0.02


def test_two_classes_are_scored_by_auc() -> None:
    plan = planned(PEOPLE, "ill", rows=20_000, epsilons=[4.0], guesses=Guesses(effect=0.5))
    assert (plan.measure, plan.level) == ("AUC", 0.5)
    assert 0.75 < plan.of_fit.expected(0) <= plan.of_fit.without_privacy + 0.02
    assert "would have an AUC of 0." in model_sentences(plan)[0]
    nothing = planned(PEOPLE, "ill", epsilons=[4.0], guesses=Guesses(effect=0.0), tables=8)
    assert abs(nothing.of_fit.expected(0) - 0.5) < 0.05
    assert "a coin" in model_sentences(nothing)[0]


def test_a_plan_is_the_same_every_time() -> None:
    assert planned(rows=60) == planned(rows=60)
    assert planned(rows=60) != planned(rows=60, seed=1)


class Clock:
    """A clock that simulated work moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def counted(
    monkeypatch: pytest.MonkeyPatch, seconds_per_row: float, time_limit: float, **more: Any
) -> tuple[ModelPlan, list[tuple[int, int, float]], Clock]:
    """Plan with models that take so long and are scored by εn alone; also what was fitted."""
    clock, fitted = Clock(), []

    class Fits:
        def __init__(self, *_: object) -> None:
            pass

        def models(
            self, number: int, rows: int, epsilon: float, time_limit: float
        ) -> list[ScoredModel]:
            assert time_limit > 0.0
            fitted.append((number, rows, epsilon))
            clock.now += seconds_per_row * rows
            return [ScoredModel(0.4 - 400.0 / (rows * epsilon), True, None)] * 2

        def without_privacy(self, *_: int) -> float:
            return 0.4

    monkeypatch.setattr(fit, "SimulatedFits", Fits)
    plan = planned(rows=1000, tables=20, time_limit=time_limit, clock=clock, **more)
    return plan, fitted, clock


def test_time_enough_is_every_table_of_every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, fitted, _ = counted(monkeypatch, 1e-6, 1000.0, epsilons=[0.5, 1.0, 4.0])
    assert [line.rows for line in plan.lines] == [1000, 500, 2000, 4000]
    assert {len(line.tables) for line in plan.lines} == {20}
    assert plan.further == ()
    assert len(fitted) == 4 * 3 * 20
    assert (plan.left_out, plan.epsilon_needed) == ((), pytest.approx(2.0, rel=0.3))
    assert [plan.rows_needed(k) for k in (0, 1, 2)] == [4000, 2000, 500]


@pytest.mark.parametrize(("seconds", "models"), [(0.5, 12), (1.0, 6), (3.0, 3)])
def test_tables_are_simulated_while_time_lasts(
    monkeypatch: pytest.MonkeyPatch, seconds: float, models: int
) -> None:
    plan, fitted, clock = counted(monkeypatch, seconds / 1000, 12.0, epsilons=[1.0, 2.0, 4.0])
    assert len([one for one in fitted if one[1] == 1000]) == models
    assert len(plan.of_fit.tables) == models // 3
    assert clock.now <= 12.0


def test_what_no_time_is_left_for_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, fitted, clock = counted(monkeypatch, 1e-3, 5.0, epsilons=[1.0, 4.0])
    assert plan.left_out == (2000,)
    assert [line.rows for line in plan.by_rows] == [500, 1000]
    assert 2000 not in {rows for _, rows, _ in fitted}
    assert "Left out, for no time was left (--time-limit): 2,000 rows." in model_legend(plan)
    assert clock.now <= 5.0


def test_a_plan_without_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, fitted, _ = counted(monkeypatch, 1.0, 5.0, epsilons=[0.1, 4.0])
    # The first table is simulated however long it takes.
    assert fitted == [(0, 1000, 0.1), (0, 1000, 4.0)]
    assert (len(plan.of_fit.tables), plan.left_out) == (1, (500, 2000))
    first, second = model_sentences(plan)
    assert first.endswith("worse than the mean (R² -3.60); ε = 3.6 would do.")
    assert second.endswith("75% of what is possible without privacy.")

    def never(*_: object) -> None:
        raise NotCertified("time limit reached", bound=0.0, incumbent=0.0)

    monkeypatch.setattr(SimulatedFits, "models", never)
    monkeypatch.setattr(fit, "SimulatedFits", SimulatedFits)
    plan = planned()
    assert (plan.of_fit.tables, plan.further, len(plan.lines)) == ((), (), 1)
    assert model_sentences(plan) == ("How good a model would be is left out: no time was left.",)


def line_of(rows: int, *means: float, epsilons: Sequence[float] = (1.0,)) -> ModelLine:
    tables = [
        TableScores(0.4, tuple((mean - 0.01 * sign, mean) for mean in means))
        for sign in (1, -1, 1, -1)
    ]
    return ModelLine(rows, tuple(epsilons), tuple(tables))


def plan_of(*lines: ModelLine, further: tuple[ModelLine, ...] = (), **more: Any) -> ModelPlan:
    asked: dict[str, Any] = {"rows": 500, "support_size": 1, "features": 4, "measure": "R²"}
    asked |= {"goal": 0.5, "guesses": Guesses(), "seed": 0, **more}
    return ModelPlan(**asked, epsilons=lines[0].epsilons, lines=lines, further=further)


def test_sentences_say_what_a_model_would_be_and_what_would_do() -> None:
    few, more = line_of(500, -0.24), line_of(2000, 0.3)
    larger = line_of(500, 0.3, epsilons=(4.0,))
    (said,) = model_sentences(plan_of(few, more, further=(larger,)))
    assert said == (
        "At ε = 1 the model would be worse than the mean (R² -0.24); about 1,500 rows or ε = 3.1 "
        "would do."
    )
    (said,) = model_sentences(plan_of(few, more))
    assert said.endswith("; about 1,500 rows would do.")
    (said,) = model_sentences(plan_of(few, line_of(2000, 0.1)))
    assert said.endswith("; neither 2,000 rows nor ε = 1 would do.")
    larger = line_of(500, -0.1, -0.05, epsilons=(1.0, 2.0))
    for said in model_sentences(plan_of(larger)):
        assert said.endswith("no time was left to say what would do.")
    just = line_of(500, 0.193, epsilons=(1.0,))
    (said,) = model_sentences(plan_of(just))
    assert said.endswith("48% of what is possible without privacy; no time was left to say what "
                         "would do.")  # fmt: skip
    (said,) = model_sentences(plan_of(line_of(500, 0.1995)))
    assert said.endswith("50% of what is possible without privacy.")
    (said,) = model_sentences(plan_of(few))
    assert said.endswith("; no time was left to say what would do.")
    (said,) = model_sentences(plan_of(line_of(500, 0.12)))
    assert "would have an R² of 0.12, 30% of what is possible without privacy; no time" in said
    (said,) = model_sentences(plan_of(line_of(500, 0.38)))
    assert said == (
        "At ε = 1 the model would have an R² of 0.38, 95% of what is possible without privacy."
    )
    (said,) = model_sentences(plan_of(line_of(500, -0.004)))
    assert "worse than the mean (R² 0.00)" in said
    (said,) = model_sentences(plan_of(line_of(500, 0.0055)))
    assert "would hardly be better than the mean (R² 0.01)" in said
    mixed = (TableScores(0.4, ((-0.1, 0.4, 0.4),)), TableScores(0.4, ((0.4, 0.4, 0.3),)))
    (said,) = model_sentences(plan_of(ModelLine(500, (1.0,), 2 * mixed)))
    assert said.endswith("without privacy, but no better than the mean in 17% of cases.")


def test_what_would_do_is_more_than_what_does_not() -> None:
    """A rough line of fewer rows reached the goal by chance; of n rows nearly half is possible."""
    lines = line_of(1909, 0.196), line_of(954, 0.3), line_of(3818, 0.3)
    plan = plan_of(*lines, rows=1909)
    needed = plan.rows_needed(0)
    assert needed is not None
    assert 1909 < needed < 2000
    assert "; about 2,000 rows would do" in model_sentences(plan)[0]
    falling = plan_of(line_of(500, 0.3, 0.1, epsilons=(1.0, 3.0)))
    assert falling.epsilon_needed == 1.0
    assert "ε = 1 would do" not in model_sentences(falling)[1]


def test_what_is_needed_lies_between_what_was_tried() -> None:
    plan = plan_of(line_of(500, 0.1), line_of(1000, 0.3), line_of(250, 0.0))
    assert plan.rows_needed(0) == pytest.approx(500 * 2**0.5)
    assert plan.epsilon_needed is None
    assert plan_of(line_of(500, 0.3), line_of(250, 0.3)).rows_needed(0) == 250
    assert plan_of(line_of(500, 0.1), line_of(1000, 0.1)).rows_needed(0) is None
    unsorted = line_of(500, 0.3, 0.1, epsilons=(2.0, 1.0))
    assert plan_of(unsorted).epsilon_needed == pytest.approx(2.0**0.5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": 1}, "rows must be"),
        ({"rows": 10**9}, "plan with fewer"),
        ({"epsilons": []}, "at least one"),
        ({"epsilons": [0.0]}, "epsilons must be"),
        ({"goal": 1.0}, "goal must be"),
        ({"tables": 0}, "tables must be"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"target": "z"}, "no field 'z'"),
        ({"guesses": Guesses(target_mean=99.0)}, "target_mean must be inside"),
    ],
)
def test_what_is_wrong_is_said(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        planned(**wrong)


def test_a_model_needs_ranges() -> None:
    fields = [{"name": name, "type": "number"} for name in ("a", "b", "c", "y")]
    bare = TableSchema.of({"fields": fields})
    with pytest.raises(InvalidInput, match="a model needs a range of a, b, c, y"):
        planned(bare)
    known = dict.fromkeys(("a", "b", "c", "y"), (0.0, 1.0))
    assert planned(bare, ranges=known, rows=60).of_fit.tables


def test_draws_by_the_scores_of_some_rows_have_the_weight_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question = Question(NUMBERS, "y", 2)
    fits = SimulatedFits(
        planned_fit(planned_options(), 2, of_classes=False), question, Guesses(), 0
    )
    whole_promise = fits._plan(20_000, 1.0).promise
    whole = fits._in_time(fits._plan(20_000, 1.0), 20_000, 60.0)
    monkeypatch.setattr("mipselect.planning.question.SECONDS_OF_SCORES", 1e-9)
    part = fits._in_time(fits._plan(20_000, 1.0), 20_000, 60.0)
    # What is promised is that of a fit, and so is the quality.
    assert fits._plan(20_000, 1.0).promise == whole_promise
    assert part.blocks is not None
    assert part.blocks == whole.blocks
    few = question.rows_scored(20_000, part.blocks)
    assert few == 20 * part.blocks.block_rows  # type: ignore[operator]
    ratio = part.method.get_params()["epsilon"] / whole.method.get_params()["epsilon"]
    assert ratio == pytest.approx(20_000 / few)
    law = TablePair.of(part, fits._made(0, 20_000).fitted, random.Random(0), private=False,
                       scored=fits._scored(part, 0, 20_000))  # fmt: skip
    assert law.pair.selection.log_probability((0, 1)) <= 0.0
