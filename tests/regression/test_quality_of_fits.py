"""Fits that keep rows apart, and the quality that these give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from mipselect import Ledger
from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.quality.draw import within
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
    evaluate_model,
    evaluation,
)
from mipselect.regression.evaluation import evaluation_map
from mipselect.selectors import ExponentialSelector, SISSelector
from mipselect.tables import TableSchema
from mipselect.tables.mapping import chosen_rows, open_table, read_rows
from tests.support.all_regressors import stored_again
from tests.support.mapped_tables import public_map

FIELDS = [
    {"name": "who", "type": "integer"},
    {"name": "dose", "type": "number", "constraints": {"minimum": 0, "maximum": 10}},
    {"name": "ward", "type": "string", "categories": ["a", "b", "c"]},
    {"name": "effect", "type": "number", "constraints": {"minimum": -20, "maximum": 40}},
    {"name": "well", "type": "boolean"},
]
ROWS = TableSchema.of({"fields": FIELDS[1:]})
PEOPLE = TableSchema.of({"fields": FIELDS, "csvw-eo:privacyUnit": "who"})


def frame(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    dose = rng.uniform(0.0, 10.0, n)
    effect = 2.0 * dose + rng.normal(size=n)
    well = rng.random(n) < 1.0 / (1.0 + np.exp(5.0 - dose))
    ward = rng.choice(list("abc"), n)
    return pd.DataFrame({"dose": dose, "ward": ward, "effect": effect, "well": well})


def of_people(people: int, seed: int = 0) -> pd.DataFrame:
    """One to three rows of each person, in no order."""
    rng = np.random.default_rng(seed)
    who = rng.permutation(np.repeat(np.arange(people), rng.integers(1, 4, people)))
    return frame(len(who), seed).assign(who=who)


def model(regressor: Any = None, relation: str = "replace-one", **more: Any) -> SelectThenRegress:
    regressor = AdaSSPRegressor(delta=1e-6, relation=relation) if regressor is None else regressor
    asked = {"epsilon": 4.0, "quality_share": 0.2, **more}
    return SelectThenRegress(ExponentialSelector(1), regressor, **asked)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_table_is_charged_once_and_no_more_than_without_quality(relation: str) -> None:
    ledger = Ledger(4.0, 1e-6, relation=relation)
    fitted = model(relation=relation, ledger=ledger)
    fitted.fit_table(frame(40_000), ROWS, target="effect", never=["well"])
    (entry,) = ledger.entries
    quality = fitted.quality_
    assert quality == fitted.release_.quality
    assert entry.guarantee == fitted.release_.guarantee
    assert entry.guarantee.epsilon == 4.0
    assert quality.guarantee == within(entry.guarantee)
    assert quality.guarantee.epsilon <= entry.guarantee.epsilon
    assert quality.guarantee.concentrated <= entry.guarantee.rho
    assert (quality.rows, quality.share) == (8000 if relation == "replace-one" else None, 0.2)
    assert quality.beats_chance
    assert quality.first.value == pytest.approx(0.97, abs=0.1)
    assert "Better than predicting the mean" in str(fitted.release_)
    assert stored_again(fitted.release_).quality == quality


def test_all_rows_of_a_person_stay_together() -> None:
    data = of_people(500)
    public = public_map(PEOPLE, target="effect", never=["well"])
    parts = open_table(data, public)

    def every_fifth(people: int) -> np.ndarray:
        assert people == 500
        return np.arange(people) % 5 == 0

    here, there = (
        {
            who
            for part in some
            for batch in part.read(["who"])
            for who in batch.column(0).to_pylist()
        }
        for some in chosen_rows(parts, public, every_fifth)
    )
    assert (len(here), len(there)) == (100, 400)
    assert not here & there
    fitted = model().fit_table(data, PEOPLE, target="effect", never=["well"])
    assert fitted.quality_.rows == 100


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(
    ("kind", "bounds", "name"),
    [
        (AdaSSPRegressor, {"y_bound": 1.0}, "R²"),
        (ObjectivePerturbationRegressor, {"y_bound": 1.0, "coef_bound": 2.0}, "R²"),
        (ObjectivePerturbationClassifier, {}, "AUC"),
    ],
)
def test_rows_of_arrays_that_a_model_has_not_seen_measure_it(
    kind: type[Any], bounds: dict[str, float], name: str, alone: bool, relation: str
) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (6000, 2))
    y = np.clip(0.7 * X[:, 1] + 0.1 * rng.normal(size=6000), -1.0, 1.0)
    y = np.sign(y) if name == "AUC" else y
    ledger = Ledger(4.0, 1e-6, relation=relation)
    asked: dict[str, Any] = {"epsilon": 4.0, "quality_share": 0.25, "ledger": ledger}
    regressor = kind(x_bound=1.0, relation=relation, **bounds)
    selector = SISSelector(1, x_bound=1.0, y_bound=1.0, relation=relation)
    fitted = regressor if alone else SelectThenRegress(selector, regressor)
    quality = fitted.set_params(**asked).fit(X, y).quality_
    assert quality == fitted.release_.quality
    assert (quality.first.name, quality.share) == (name, 0.25)
    assert quality.rows == (1500 if relation == "replace-one" else None)
    assert quality.beats_chance
    # Rows apart cost nothing on top.
    (entry,) = ledger.entries
    assert entry.guarantee.epsilon == 4.0
    assert quality.guarantee == within(entry.guarantee)
    assert fitted.set_params(quality_share=None, ledger=None).fit(X, y).quality_ is None


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_numbers_without_a_range_are_refused_before_anything_is_paid(relation: str) -> None:
    ledger = Ledger(4.0, 1e-6, relation=relation)
    selector = SISSelector(1, x_bound=1.0, y_bound=1.0, relation=relation)
    regressor = BoostedAdaSSPRegressor(x_bound=1.0, relation=relation)
    asked = SelectThenRegress(selector, regressor, quality_share=0.25, ledger=ledger)
    with pytest.raises(InvalidInput, match="needs a public range of the target: y_bound"):
        asked.fit(np.zeros((50, 3)), np.ones(50))
    assert ledger.spent.epsilon == 0.0


def test_a_row_is_fitted_to_or_measures_and_never_both() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (20, 2))
    y = np.clip(X[:, 0], -1.0, 1.0)
    model = ObjectivePerturbationRegressor(
        epsilon=50.0, x_bound=1.0, y_bound=1.0, coef_bound=2.0, quality_share=0.25, random_state=3
    )
    before = model.fit(X, y).release_
    apart = 0
    for row in range(20):
        other = y.copy()
        other[row] = -np.sign(y[row])
        after = model.fit(X, other).release_
        seen = not np.array_equal(after.coefficients, before.coefficients)
        apart += not seen
        if not seen:
            assert after.quality != before.quality
    assert apart == 5


def test_a_share_of_a_part_is_refused_for_it_would_be_ignored() -> None:
    regressor = ObjectivePerturbationClassifier(x_bound=1.0, quality_share=0.1)
    selector = SISSelector(1, x_bound=1.0, y_bound=1.0, relation="replace-one")
    with pytest.raises(InvalidInput, match="regressor has a quality_share; give it to Select"):
        SelectThenRegress(selector, regressor).fit(np.zeros((50, 3)), np.ones(50))
    with pytest.raises(InvalidInput, match="quality_share must be"):
        regressor.set_params(quality_share=1.5).fit(np.zeros((50, 3)), np.ones(50))


@pytest.mark.parametrize("n", [50, 200, 500])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_useless_model_of_a_small_table_is_not_said_to_be_good(n: int, relation: str) -> None:
    data = frame(n)
    data["effect"] = np.random.default_rng(n).permutation(data["effect"].to_numpy())
    said = sum(
        model(relation=relation, epsilon=1.0, quality_share=0.1)
        .fit_table(data, ROWS, target="effect", never=["well"])
        .quality_.beats_chance
        for _ in range(8)
    )
    assert said <= 2


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_one_row_or_none_apart_is_no_error(relation: str) -> None:
    fitted = model(relation=relation, quality_share=1e-9, epsilon=1.0)
    fitted.fit_table(frame(20), ROWS, target="effect", never=["well"])
    assert not fitted.quality_.beats_chance
    asked = {"x_bound": 1.0, "relation": relation}
    selector = SISSelector(1, y_bound=1.0, **asked)
    classes = ObjectivePerturbationClassifier(**asked, classes=(0, 1))
    for n in (2, 3, 4):
        X, y = np.ones((n, 2)), np.ones(n)
        both = SelectThenRegress(selector, classes, epsilon=1.0, quality_share=0.01).fit(X, y)
        alone = clone(classes).set_params(quality_share=0.01).fit(X, y)
        for fitted in (alone, both):
            assert fitted.quality_.rows == (1 if relation == "replace-one" else None)


def released(schema: TableSchema, data: pd.DataFrame) -> ModelRelease:
    fitted = model(quality_share=None).fit_table(data, schema, target="effect", never=["well"])
    return fitted.release_


def test_a_model_alone_is_charged_before_a_row_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    release, ledger = released(ROWS, frame(4000)), Ledger(1.0)
    charged: list[float] = []
    found = evaluation.predictions_of

    def noted(*given: Any) -> Any:
        charged.append(ledger.remaining.epsilon)
        return found(*given)

    monkeypatch.setattr(evaluation, "predictions_of", noted)
    quality = evaluate_model(release, frame(3000, 1), epsilon=0.75, ledger=ledger)
    assert charged == [0.25]
    assert (quality.rows, quality.share) == (3000, None)
    assert quality.guarantee.epsilon == 0.75
    assert quality.beats_chance
    with pytest.raises(BudgetExceeded):
        evaluate_model(release, frame(3000, 1), epsilon=0.75, ledger=ledger)
    assert charged == [0.25]
    missing = frame(10).drop(columns="effect")
    with pytest.raises(InvalidInput, match="effect"):
        evaluate_model(release, missing, epsilon=0.1, ledger=ledger)
    assert ledger.remaining.epsilon == 0.25


def test_a_required_target_that_is_missing_counts_as_the_middle() -> None:
    """As in a fit, and not as a row that is there for the mean alone."""
    limits = {"minimum": -20, "maximum": 40, "required": True}
    fields = [{**field, "constraints": limits} if field["name"] == "effect" else field
              for field in FIELDS[1:]]  # fmt: skip
    release, rows = released(TableSchema.of({"fields": fields}), frame(4000)), frame(20_000, 1)
    rows.loc[::3, "effect"] = np.nan
    target = rows["effect"].fillna(10.0)
    errors = target - release.predict(rows)
    found = evaluate_model(release, rows, epsilon=20.0, random_state=0).measures[0].value
    assert found == pytest.approx(1.0 - (errors**2).mean() / target.var(), abs=0.05)


def test_a_model_of_people_wants_to_know_whose_row_is_whose() -> None:
    release = released(PEOPLE, of_people(3000))
    with pytest.raises(InvalidInput, match="one row for each who"):
        evaluate_model(release, of_people(50), epsilon=1.0)
    quality = evaluate_model(release, of_people(2000, 3), epsilon=1.0, schema=PEOPLE)
    assert quality.rows == 2000
    unit = TableSchema.of({**PEOPLE.content, "csvw-eo:privacyUnit": "dose"})
    with pytest.raises(InvalidInput, match="names must differ"):
        evaluation_map(release.table, unit, "first")


def test_whose_row_it_is_goes_by_the_schema_that_says_it() -> None:
    codes = TableSchema.of({**ROWS.content, "missingValues": ["", "7"]})
    release = released(codes, frame(3000))
    public = evaluation_map(release.table, PEOPLE, "first")
    data = frame(4).assign(who=["1", "2", "7", ""])
    assert len(read_rows(open_table(data, public), public)[1]) == 4


def test_models_that_cannot_be_evaluated_are_refused() -> None:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (500, 2))
    of_arrays = AdaSSPRegressor(x_bound=1.0, y_bound=1.0).fit(X, X[:, 0]).release_
    with pytest.raises(InvalidInput, match="one of arrays"):
        evaluate_model(of_arrays, frame(10), epsilon=1.0)
    failed = model(TukeyRegressor(delta=1e-6))
    failed.fit_table(frame(60), ROWS, target="effect", never=["well"])
    assert failed.quality_ is None
    with pytest.raises(InvalidInput, match="no model was released"):
        evaluate_model(failed.release_, frame(10), epsilon=1.0)


def test_seeded_draws_are_no_release() -> None:
    release = released(ROWS, frame(4000))
    one, other = (
        evaluate_model(release, frame(500, 1), epsilon=1.0, random_state=3) for _ in range(2)
    )
    assert one == other
    assert not one.guarantee.private


def test_hostile_rows_raise_nothing() -> None:
    release = released(ROWS, frame(4000))
    hostile = pa.table(
        {
            "dose": pa.array(["x", None, "1e999", "nan", "-5"]),
            "ward": pa.array([None, "?", "a", "b", ""]),
            "effect": pa.array(["1e999", "-inf", "", "?", "nan"]),
        }
    )
    for relation in ("replace-one", "add-remove"):
        quality = evaluate_model(release, hostile, epsilon=1.0, relation=relation)
        assert not quality.beats_chance
