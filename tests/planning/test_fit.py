"""`plan_study`: models of simulated tables, and their quality, are those that `fit` releases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from mipselect import Guarantee
from mipselect.errors import InvalidInput, NotCertified
from mipselect.planning import Question, StudyPlan, plan_study, plans
from mipselect.planning.plans import RATIO, forecast, scored_table
from mipselect.planning.simulation import Simulation
from mipselect.planning.study import range_advice
from mipselect.quality import Measure, Quality
from mipselect.regression import (
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema
from tests.support.fields import listed, numeric, schema_of

NUMBERS = TableSchema.of_numbers(dict.fromkeys(("a", "b", "c", "d", "e", "y"), (0.0, 10.0)))
PEOPLE = schema_of(
    {"name": "id", "type": "string"},
    *(numeric(name, 0, 1) for name in ("a", "b", "c")),
    listed("kind", "u", "v", "w"),
    listed("ill", "no", "yes"),
    **{"csvw-eo:privacyUnit": "id"},
)


def question(schema: TableSchema = NUMBERS, target: str = "y", **more: Any) -> Question:
    return Question(schema=schema, target=target, **{"rows": 400, "support_size": 2, **more})


def planned(
    schema: TableSchema = NUMBERS, target: str = "y", quality_share: float | None = None,
    tables: int = 3, time_limit: float = 1200.0, **more: Any,
) -> StudyPlan:  # fmt: skip
    made = question(schema, target, **{"epsilons": [1.0], **more})
    share = quality_share
    return plan_study(made, quality_share=share, tables=tables, time_limit=time_limit)


def test_many_rows_reach_what_is_possible_and_few_do_not() -> None:
    many = planned(rows=40_000, effect=0.5, epsilons=[2.0])
    assert (many.measure, many.level, many.models) == ("R²", 0.0, 3)
    assert many.without_privacy == pytest.approx(0.5, abs=0.04)
    assert many.forecasts[0].expected == pytest.approx(0.5, abs=0.05)
    few = planned(rows=50, effect=0.5, epsilons=[0.5, 50.0], tables=6).forecasts
    assert few[0].expected < 0.15 < few[1].expected
    assert all(one.low <= one.expected <= one.high for one in few)
    assert {(one.half_width, one.above_chance) for one in few} == {(None, None)}


@pytest.mark.parametrize(
    ("share", "more"),
    [
        (None, {}),
        (None, {"always": ["e"]}),
        (0.3, {"ranges": {"a": (2.0, 8.0)}}),
        (None, {"support_size": 5}),
    ],
)
def test_a_simulated_model_is_one_of_fit(
    monkeypatch: pytest.MonkeyPatch, share: float | None, more: dict[str, Any]
) -> None:
    """The same release as `fit_table` draws, seed by seed, with the user's own schema."""
    released: list[tuple[Any, ...]] = []
    honest = plans.fitted

    def kept(*given: Any, **settings: Any) -> SelectThenRegress:
        released.append((honest(*given, **settings), given[1], settings["seed"]))
        return released[-1][0]

    monkeypatch.setattr(plans, "fitted", kept)
    plan = planned(quality_share=share, tables=1, epsilons=[3.0], **more)
    ((simulated, table, seed),) = released
    whole = Simulation(plan.question, RATIO).table(0, 2400)
    assert table.equals(whole.slice(0, 400))
    asked = {"always": (), **more}
    size = asked.pop("support_size", 2)
    again = SelectThenRegress(
        PermuteAndFlipSelector(size, random_state=seed),
        ObjectivePerturbationRegressor(loss="huber", random_state=seed),
        epsilon=3.0,
        quality_share=share,
    )
    again.fit_table(table, NUMBERS, target="y", **asked)
    mine, theirs = (each.release_ for each in (simulated, again))
    assert (mine.coefficients, mine.guarantee) == (theirs.coefficients, theirs.guarantee)
    assert mine.guarantee.epsilon <= 3.0
    assert not mine.private
    assert mine.quality == theirs.quality
    fresh = whole.slice(400)
    score = r2_score(fresh["y"].to_numpy(), again.predict(fresh))
    assert plan.forecasts[0].expected == pytest.approx(score)


def test_people_and_two_classes_are_scored_by_auc() -> None:
    asked: dict[str, Any] = {"target": "ill", "epsilons": [4.0]}
    plan = planned(PEOPLE, rows=20_000, effect=0.5, **asked)
    assert (plan.measure, plan.level) == ("AUC", 0.5)
    assert plan.without_privacy is not None
    assert 0.75 < plan.forecasts[0].expected <= plan.without_privacy + 0.02
    nothing = planned(PEOPLE, effect=0.0, **asked, tables=8)
    assert abs(nothing.forecasts[0].expected - 0.5) < 0.05


@pytest.mark.parametrize("of_classes", [False, True])
def test_without_privacy_are_least_squares_on_the_right_fields(
    monkeypatch: pytest.MonkeyPatch, of_classes: bool
) -> None:
    monkeypatch.setattr("mipselect.planning.simulation.MISSING", 0.0)
    schema, target = (PEOPLE, "ill") if of_classes else (NUMBERS, "y")
    asked = question(schema, target, rows=500, effect=0.7)
    simulation = Simulation(asked, RATIO)
    found, _ = scored_table(simulation, 2, None, 60.0)
    frame = simulation.table(2, 2500).to_pandas()
    names = [asked.public.features[j].field.name for j in simulation.right(2)]
    columns = [
        (frame[name] == level).astype(float) if isinstance(level, str) else frame[name]
        for name in names
        for level in (sorted(set(frame[name])) if frame[name].dtype == object else [0.0])
    ]
    X = np.column_stack([*columns, np.ones(len(frame))])
    y = (frame[target] == "yes").astype(float) if of_classes else frame[target]
    fitted = X[500:] @ np.linalg.lstsq(X[:500], y[:500], rcond=None)[0]
    score = roc_auc_score if of_classes else r2_score
    assert found == pytest.approx(score(y[500:], fitted), abs=1e-6)


def test_a_plan_is_the_same_every_time() -> None:
    assert planned(rows=60).forecasts == planned(rows=60).forecasts
    assert planned(rows=60).forecasts != planned(rows=60, seed=1).forecasts


def quality(low: float, high: float = 0.5) -> Quality:
    return Quality(measures=(Measure("R²", 0.2, low, high),), guarantee=Guarantee(1.0))


def test_a_forecast_sums_up_models() -> None:
    found = [(0.1, quality(-0.1)), (0.3, quality(0.1)), (0.0, quality(-0.2)), (0.2, quality(0.3))]
    one = forecast(1.0, found)
    assert one.expected == pytest.approx(0.15)
    assert one.standard_error == pytest.approx(np.std([0.1, 0.3, 0.0, 0.2], ddof=1) / 2.0)
    assert (one.low, one.high) == pytest.approx((0.03, 0.27))
    assert (one.half_width, one.above_chance) == (pytest.approx(0.25), 0.5)
    open_ends = forecast(1.0, [(0.1, quality(-math.inf)), (0.1, quality(0.1))])
    assert open_ends.half_width == math.inf
    classes = Quality(measures=(Measure("AUC", 0.6, 0.4, 0.8),), guarantee=Guarantee(1.0))
    of_a_coin = forecast(1.0, [(0.6, classes)])
    assert (of_a_coin.above_chance, of_a_coin.standard_error) == (0.0, None)


def test_a_draw_that_takes_too_long_leaves_the_models_out(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, asked = plans.scored_table, list[tuple[int, float]]()

    def late(made: Simulation, number: int, share: float | None, time_limit: float) -> Any:
        asked.append((number, time_limit))
        if number == last:
            raise NotCertified("time limit reached", bound=0.0, incumbent=0.0)
        return honest(made, number, share, time_limit)

    monkeypatch.setattr(plans, "scored_table", late)
    last = 2
    assert planned(tables=4).models == 2
    assert [number for number, _ in asked] == [0, 1, 2]
    assert asked[0][1] == 600.0 > asked[1][1]
    last = 0
    nothing = planned()
    assert (nothing.models, nothing.without_privacy, nothing.forecasts) == (0, None, ())
    # One table is simulated in any case.
    monkeypatch.setattr(plans, "scored_table", honest)
    assert planned(support_size=5, time_limit=1e-9).models == 1


def test_long_scores_have_fewer_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = question(rows=1000)
    table = Simulation(asked, RATIO).table(0, 1000)
    for seconds, partitions in ((0.5, 8), (1e-9, 1)):
        monkeypatch.setattr("mipselect.planning.simulation.SECONDS_OF_PARTITIONS", seconds)
        model = plans.fitted(asked, table, 1.0, quality_share=None, seed=0, time_limit=60.0)
        assert model.selector.partitions == asked.blocks(0.3).partitions == partitions


def test_of_a_table_with_weights_fields_are_drawn_as_of_fit_from_least_squares() -> None:
    ends = {"minimum": 0, "maximum": 3}
    weight = {"name": "w", "type": "number", "constraints": ends, "mipselect:role": "weight"}
    schema = schema_of(*NUMBERS.content["fields"], weight)
    asked = question(schema)
    table = Simulation(asked, RATIO).table(0, 400)
    assert "w" not in table.column_names
    model = plans.fitted(asked, table, 1.0, quality_share=None, seed=0, time_limit=60.0)
    assert (model.selector.asked_score, model.selector.partitions) == ("blocks", 16)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tables": 0}, "tables must be"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"target": "z"}, "no field 'z'"),
        ({"quality_share": 1.0}, "quality_share must"),
    ],
)
def test_what_is_wrong_is_said(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        planned(**wrong)


def test_a_model_needs_ranges() -> None:
    bare = TableSchema.of_numbers(dict.fromkeys(("a", "b", "c", "y")))
    assert planned(schema=bare).forecasts == ()
    known = dict.fromkeys(("a", "b", "c", "y"), (0.0, 1.0))
    assert planned(schema=bare, ranges=known, rows=60).forecasts


def test_a_figure_is_of_a_kind_that_there_is() -> None:
    plan = planned(rows=60, tables=1)
    assert plan.plot(".png").startswith(b"\x89PNG")
    with pytest.raises(InvalidInput, match="suffix must be one of"):
        plan.plot(".gif")


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
    advice = range_advice(question(rows=4_000, epsilons=epsilons))
    assert all(word in advice for word in words), advice
    assert advice.count("at ε") == len(words) - ("for those who can state none" in words)


def test_without_numbers_there_is_no_range_to_choose() -> None:
    schema = TableSchema.of({"fields": [{"name": n, "type": "boolean"} for n in ("a", "b", "y")]})
    assert range_advice(question(schema, support_size=1, rows=4_000)) == ""
