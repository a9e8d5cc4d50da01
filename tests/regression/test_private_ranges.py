"""Private ranges of a table: what is drawn, what it costs, and that nothing else is seen of it."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mipselect import Ledger
from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.regression import (
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    ranges,
)
from mipselect.regression.ranges import range_of, range_of_field
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema
from mipselect.tables.public_map import TableQuestion
from tests.support.all_regressors import stored_again

HUBER = ObjectivePerturbationRegressor(loss="huber(0.25)", random_state=2)
FIELDS = ("age", "year", "dose", "group", "y")


def schema_of(**stated: tuple[float, float]) -> TableSchema:
    """Numbers without ranges but for those that are stated, and a field of categories."""
    entries: list[dict[str, Any]] = []
    for name in FIELDS:
        entry: dict[str, Any] = {"name": name, "type": "number"}
        if name == "group":
            entry = {"name": name, "type": "string", "categories": ["a", "b"]}
        elif name in stated:
            low, high = stated[name]
            entry["constraints"] = {"minimum": low, "maximum": high}
        entries.append(entry)
    return TableSchema.of({"fields": entries, "missingValues": ["", "NA"]})


def table(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, year = rng.normal(50.0, 15.0, n), rng.integers(1990, 2021, n)
    frame = pd.DataFrame({"age": age, "year": year, "dose": rng.lognormal(0.0, 1.0, n)})
    frame["group"] = rng.choice(["a", "b"], n)
    effect = 2000.0 * age + 3000.0 * (year - 2005.0) + 20_000.0 * (frame["group"] == "b")
    frame["y"] = 1e5 + effect + rng.normal(0.0, 5000.0, n)
    return frame


def pair(epsilon: float = 8.0, size: int = 3, **more: Any) -> SelectThenRegress:
    selector = PermuteAndFlipSelector(size, random_state=1)
    regressor = more.pop("regressor", HUBER)
    return SelectThenRegress(selector, regressor, epsilon=epsilon, ranges="private", **more)


def test_ranges_of_the_drawn_fields_are_drawn_and_released() -> None:
    frame, ledger = table(), Ledger(8.0)
    model = pair(ledger=ledger).fit_table(frame, schema_of(), target="y")
    release = model.release_
    assert release.feature_names == ("age", "year", "group")
    assert ledger.remaining.epsilon == 0.0
    assert release.guarantee.epsilon == 8.0
    drawn = {each["field"]: each for each in release.drawn_ranges}
    assert set(drawn) == {"age", "year", "y"}  # A category needs no range, "dose" was not drawn.
    assert sum(each["epsilon"] for each in drawn.values()) <= 0.2 * 8.0
    for name, each in drawn.items():
        assert each["private"] is False  # Seeded.
        assert each["minimum"] < np.quantile(frame[name], 0.2)
        assert each["maximum"] > np.quantile(frame[name], 0.8)
        fields = {field.name: field for field in release.table.schema.fields}
        assert (fields[name].minimum, fields[name].maximum) == (each["minimum"], each["maximum"])
    assert model.score(frame, frame["y"]) > 0.8
    again = stored_again(release)
    assert again.drawn_ranges == release.drawn_ranges


def test_stated_ranges_are_kept_and_cost_nothing() -> None:
    schema = schema_of(year=(1990.0, 2020.0), y=(0.0, 300_000.0))
    release = pair().fit_table(table(), schema, target="y").release_
    assert [each["field"] for each in release.drawn_ranges] == ["age"]
    assert release.drawn_ranges[0]["epsilon"] == pytest.approx(1.6)
    ends = {field.name: (field.minimum, field.maximum) for field in release.table.schema.fields}
    assert ends["year"] == (1990.0, 2020.0)
    more = {"year": (1980.0, 2030.0)}
    release = pair().fit_table(table(), schema_of(), target="y", ranges=more).release_
    assert {each["field"] for each in release.drawn_ranges} == {"age", "y"}


def test_the_ledger_is_charged_before_a_range_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    monkeypatch.setattr(ranges, "range_of", stop)
    ledger = Ledger(8.0)
    with pytest.raises(Stop):
        pair(ledger=ledger).fit_table(table(500), schema_of(), target="y")
    assert ledger.remaining.epsilon == 0.0
    small = Ledger(7.9)
    with pytest.raises(BudgetExceeded):
        pair(ledger=small).fit_table(table(500), schema_of(), target="y")
    assert small.remaining.epsilon == 7.9


HOSTILE = [
    ["text"] * 60,
    ["NA"] * 60,
    ["inf", "-inf"] * 30,
    ["1e308", "-1e308", "1e-320"] * 20,
    ["7"] * 60,
    ["7"] + [""] * 59,
]


@pytest.mark.parametrize("values", HOSTILE)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_raised_or_said_because_of_the_rows(values: list[str], seed: int) -> None:
    frame = pd.DataFrame(dict.fromkeys(FIELDS, values))
    model = pair(20.0, regressor=clone(HUBER).set_params(random_state=seed))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = model.fit_table(frame, schema_of(), target="y").release_
    assert release.has_model
    assert all(np.isfinite([e["minimum"], e["maximum"]]).all() for e in release.drawn_ranges)
    with warnings.catch_warnings():
        # A prediction says what it replaces.
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(release.predict(frame)).all()


@pytest.mark.parametrize(
    ("size", "stated", "count"),
    [(1, {}, 2), (3, {}, 4), (4, {}, 4), (3, {"y": (0.0, 1.0)}, 3), (1, {"age": (0.0, 90.0)}, 2)],
)
def test_too_few_rows_are_refused_before_anything_is_paid(
    size: int, stated: dict[str, tuple[float, float]], count: int
) -> None:
    """With 0.8 for all ranges each has ε = 0.8/count, and n times that must be 48."""
    least = 60 * count
    ledger = Ledger(4.0)
    model = pair(4.0, size=size, ledger=ledger)
    with pytest.raises(InvalidInput, match=f"48 for each of {count}.* take {least:,} rows"):
        model.fit_table(table(least - 1), schema_of(**stated), target="y")
    assert ledger.remaining.epsilon == 4.0
    model.fit_table(table(least), schema_of(**stated), target="y")
    assert ledger.remaining.epsilon == 0.0


def test_one_row_of_each_person() -> None:
    content = schema_of().content
    content["fields"].append({"name": "who", "type": "string"})
    schema = TableSchema.of({**content, "csvw-eo:privacyUnit": "who"})
    frame = table(1000)
    frame["who"] = [f"p{k // 2}" for k in range(1000)]
    for rule in ("first", "mean"):
        model = pair(size=2).fit_table(frame, schema, target="y", unit_rule=rule)
        assert len(model.release_.drawn_ranges) == 3
        assert model.release_.table.unit == "who"


def test_ranges_see_nothing_of_the_rows_that_are_kept_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def counted(values: np.ndarray, epsilon: float, source: random.Random) -> tuple[float, float]:
        seen.append(len(values))
        return range_of(values, epsilon, source)

    monkeypatch.setattr(ranges, "range_of", counted)
    model = pair(quality_share=0.25, size=2).fit_table(table(2000), schema_of(), target="y")
    assert set(seen) == {1500}
    assert (model.quality_.rows, model.quality_.share) == (500, 0.25)


def test_targets_beyond_their_range_count_where_a_slope_is_bounded() -> None:
    bounds = {"x_bound": 1.0, "y_bound": 1.0}
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (4000, 1))
    y = np.where(rng.random(4000) < 0.2, 1.5, -0.5) + X[:, 0]
    slopes = {}
    for loss, clip in (("huber(0.25)", 1024.0), ("huber(5)", 1.0), ("squared", 1.0)):
        model = ObjectivePerturbationRegressor(
            epsilon=50.0, loss=loss, coef_bound=9.0, random_state=0, **bounds
        )
        assert model._clip_bound == clip
        slopes[loss] = model.fit(X, y).coef_[0]
        if clip > 1.0:  # A gradient is bounded by the loss, whatever the target is.
            assert model._loss().slope(clip, np.inf) == model._loss().slope(1.0, 0.0)
    assert slopes["huber(0.25)"] == pytest.approx(1.0, abs=0.1)
    assert slopes["squared"] < 0.9


@pytest.mark.parametrize(
    ("more", "asked", "words"),
    [
        ({"epsilon": None}, {}, "need epsilon"),
        ({"selector": PermuteAndFlipSelector(1, score="loss")}, {}, "drawn from blocks"),
        ({"ranges": "secret"}, {}, "ranges must be"),
        ({}, {"ranges": {"group": (0.0, 1.0)}}, "numbers without categories"),
        (
            {},
            {"never": ["age", "year", "dose"], "ranges": {"y": (0.0, 1.0)}},
            "none is to be drawn",
        ),
    ],
)
def test_bad_questions(more: dict[str, Any], asked: dict[str, Any], words: str) -> None:
    model = pair(size=1).set_params(**more)
    with pytest.raises(InvalidInput, match=words):
        model.fit_table(table(50), schema_of(), target="y", **asked)


@pytest.mark.parametrize("share", [0.03, 0.2, 0.5, 0.97])
@pytest.mark.parametrize("shift", [0.0, 7.0])
def test_a_range_of_two_numbers_holds_both_without_a_schema(share: float, shift: float) -> None:
    """Most are the same, so that an interval around these alone is the likeliest."""
    source, rng = random.Random(1), np.random.default_rng(0)
    field = schema_of().field("age", "field")
    values = shift + (rng.random(5000) < share)
    for _ in range(20):
        (low, high), whole = range_of_field(field, values, 0.1, source)
        assert whole
        assert low <= shift
        assert high >= shift + 1.0
    others = [range_of_field(field, 0.01 * rng.normal(size=5000), 0.1, source) for _ in range(20)]
    assert not any(whole for _, whole in others)
    assert np.median([high - low for (low, high), _ in others]) < 0.2  # They keep their units.


def test_a_range_that_was_drawn_has_no_part() -> None:
    """It is one already: all of the ε of the model is for the coefficients, and stated ranges."""
    question = TableQuestion(schema_of(year=(1990.0, 2020.0)), "y")
    plan = pair().plan_of_table(question, random.Random(0))
    numbers = plan.ranged_numbers((0, 1, 2, 3))
    assert [*numbers.by_name] == ["year"]
    assert plan.epsilon_of_target == 0.0
    assert plan.epsilon_of_a_range((0, 2)) == 0.0 < plan.epsilon_of_a_range((1,))
