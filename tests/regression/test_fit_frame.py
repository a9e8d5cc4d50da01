"""`SelectThenRegress` with a schema: `fit(frame, y)`, as scikit-learn calls it."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from mipselect import Ledger
from mipselect.errors import BudgetExceeded, InvalidInput, NoLedgerWarning, warn_of_no_ledger
from mipselect.regression import (
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.selectors import ExponentialSelector
from mipselect.tables import TableSchema
from mipselect.tables.sources import open_source, with_column
from tests.support.patients import SCHEMA, patients

HUBER = ObjectivePerturbationRegressor(loss="huber(0.25)")


def of_stays(selector: Any = None, **more: Any) -> SelectThenRegress:
    given = {"epsilon": 20.0, "schema": SCHEMA, "never": ["died"], **more}
    return SelectThenRegress(
        ExponentialSelector(1) if selector is None else selector, HUBER, **given
    )


def of_deaths(**more: Any) -> SelectThenRegress:
    given = {"epsilon": 20.0, "schema": SCHEMA, "never": ["stay"], **more}
    return SelectThenRegress(ExponentialSelector(1), ObjectivePerturbationClassifier(), **given)


def apart(target: str, n: int = 1500) -> tuple[pd.DataFrame, pd.Series]:
    frame = patients(n)
    return frame.drop(columns=target), frame[target]


def as_series(y: pd.Series) -> pd.Series:
    """With an index of its own, which scikit-learn ignores."""
    return y.set_axis(range(10, 10 + len(y)))


@pytest.mark.parametrize("given", [as_series, list, np.asarray, lambda y: y.to_frame()])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_it_is_the_fit_of_the_whole_table(kind: Any, given: Any) -> None:
    seeded = {"random_state": 3}
    selector = ExponentialSelector(1, **seeded)
    model = SelectThenRegress(
        selector, clone(HUBER).set_params(**seeded), epsilon=20.0, schema=SCHEMA, target="stay",
        always=["sex"], never=["died"],
    )  # fmt: skip
    X, y = apart("stay")
    whole = clone(model).fit_table(
        patients(1500), SCHEMA, target="stay", always=["sex"], never=["died"]
    )
    model.fit(kind(X), given(y))
    assert model.release_ == whole.release_
    assert model.release_.feature_names == ("ward",)
    np.testing.assert_array_equal(model.predict(kind(X)), whole.predict(X))
    assert model.n_features_in_ == X.shape[1]
    assert model.feature_names_in_.tolist() == list(X.columns)


def test_the_target_has_the_name_of_y_unless_one_is_given() -> None:
    X, y = apart("stay", 300)
    assert of_stays().fit(X, y).release_.table.target == "stay"
    with pytest.raises(InvalidInput, match="target must be given"):
        of_stays().fit(X, y.to_numpy())
    with pytest.raises(InvalidInput, match="target: the schema has no field 'days'"):
        of_stays().fit(X, y.rename("days"))
    assert of_stays(target="stay").fit(X, y.rename("days")).release_.table.target == "stay"


def test_a_column_of_the_frame_that_is_called_as_the_target_does_not_count() -> None:
    X, y = apart("stay", 400)
    assert of_stays().fit(X.assign(stay="60"), y).score(X, y.astype(float)) > 0.7


def test_cross_validation_charges_each_fit_and_clones_keep_the_ledger() -> None:
    X, y = apart("stay")
    ledger = Ledger(61.0)
    model = of_stays(ledger=ledger)
    assert cross_val_score(model, X, y.astype(float), cv=3).min() > 0.7
    assert ledger.spent.epsilon == 60.0
    with pytest.raises(BudgetExceeded):
        clone(model).fit(X, y)
    assert len(ledger.entries) == 3


@pytest.mark.parametrize("search", ["grid", "folds"])
def test_a_search_without_a_ledger_warns_once(search: str) -> None:
    X, y = apart("stay", 300)
    y = y.astype(float)

    def run(model: SelectThenRegress) -> None:
        if search == "grid":
            GridSearchCV(model, {"epsilon": [1.0, 2.0]}, cv=2).fit(X, y)
        else:
            cross_val_score(model, X, y, cv=2)

    warn_of_no_ledger.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NoLedgerWarning)
        of_stays().fit(X, y)
        run(of_stays(ledger=Ledger(1000.0)))
        assert not caught
        run(of_stays())
        run(of_stays())
    (told,) = caught
    assert told.filename == __file__
    assert "Ledger(epsilon=...)" in str(told.message)


def test_as_an_error_a_search_without_a_ledger_stops_before_each_draw() -> None:
    X, y = apart("stay", 300)
    warn_of_no_ledger.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoLedgerWarning)
        for _ in range(2):
            with pytest.raises(NoLedgerWarning):
                cross_val_score(of_stays(), X, y.astype(float), cv=2, error_score="raise")


def test_searches_over_parameters() -> None:
    X, y = apart("stay", 900)
    search = GridSearchCV(of_stays(), {"epsilon": [0.01, 30.0], "always": [(), ("sex",)]}, cv=3)
    search.fit(X, y.astype(float))
    assert search.best_params_ == {"epsilon": 30.0, "always": ("sex",)}
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_two_classes() -> None:
    X, y = apart("died")
    died = y == "True"
    assert cross_val_score(of_deaths(), X, died).min() > 0.8
    assert cross_val_score(of_deaths(), X, died, scoring="roc_auc").min() > 0.8
    # Which gives y as codes without a name.
    risks = cross_val_predict(of_deaths(target="died"), X, died, method="predict_proba")
    assert risks[died, 1].mean() > risks[~died, 1].mean() + 0.3
    assert of_deaths().fit(X, died).classes_.tolist() == [False, True]


def test_classes_are_scored_as_the_schema_reads_them() -> None:
    X, died = apart("died")
    yes = (died == "True").to_numpy()
    model = of_deaths(target="died").fit(X, yes.astype(int))
    right = float(np.mean((model._decision(X) > 0.0) == yes))
    for y in (died, yes, yes.astype(int), yes.astype(float).tolist()):
        assert model.score(X, y) == pytest.approx(right)
    none = [None if k < 700 else one for k, one in enumerate(yes.tolist())]
    assert model.score(X, none) == pytest.approx(model.score(X[700:], yes[700:]))
    weights = np.where(yes, 3.0, 1.0)
    assert model.score(X, died, weights) == pytest.approx(
        np.average((model._decision(X) > 0.0) == yes, weights=weights)
    )


def test_a_score_tells_that_y_is_written_otherwise_than_in_the_schema() -> None:
    X, died = apart("died", 300)
    content = {**SCHEMA.content, "fields": [dict(field) for field in SCHEMA.content["fields"]]}
    (field,) = (field for field in content["fields"] if field["name"] == "died")
    field.update(type="string", categories=["no", "yes"])
    yes = (died == "True").to_numpy()
    model = of_deaths(schema=TableSchema.of(content), target="died")
    for y in (yes, yes.astype(int), yes.astype(float), yes.astype(str)):
        fitted = model.fit(X, y)  # In silence: a single row decides on the type of y.
        with pytest.raises(InvalidInput, match="these are 'no' and 'yes', as the schema writes"):
            fitted.score(X, y)
        assert fitted.score(X, np.where(yes, "yes", "no")) >= 0.0


def test_scores_of_classes_have_r_squared_beside_minus_one_and_one() -> None:
    X, died = apart("died")
    least_squares = ObjectivePerturbationRegressor(loss="squared")
    model = of_deaths(target="died").set_params(regressor=least_squares).fit(X, died)
    yes = np.where(died == "True", 1.0, -1.0)
    expected = 1.0 - np.sum((yes - model.predict(X)) ** 2) / np.sum((yes - yes.mean()) ** 2)
    for y in (died, yes > 0.0, (yes > 0.0).astype(int)):
        assert model.score(X, y) == pytest.approx(expected)


def test_nothing_is_raised_because_of_the_rows() -> None:
    X, _ = apart("stay", 40)
    rows: list[Any] = [None, "x", [1, 2], {}, np.nan, pd.NA, 10**400, b"\xff", pd.Timestamp(0)]
    y = [*rows, *["5"] * 31]
    for kind in (pd.DataFrame, pl.from_pandas, pa.Table.from_pandas):
        assert of_stays(target="stay").fit(kind(X), y).release_.has_model
    masked = np.ma.masked_array(np.arange(40.0), np.arange(40) < 10)
    joined = with_column(X, "stay", masked)
    assert joined["stay"].isna().sum() == 10


def test_values_stand_in_the_order_of_the_rows_whatever_indices_say() -> None:
    X = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}, index=[7, 7, 2])
    y = pd.Series([10, None, 30], index=[2, 7, 9], name="other")
    joined = with_column(X, "b", y)
    assert list(joined.columns) == ["a", "b"]
    assert joined["b"].fillna(-1).tolist() == [10, -1, 30]
    assert X["b"].tolist() == [4, 5, 6]
    for kind in (pl.from_pandas, pa.Table.from_pandas):
        (part,) = open_source(with_column(kind(X.reset_index(drop=True)), "b", y))
        (batch,) = part.read(["b"])
        assert batch.column(0).to_pylist() == [10.0, None, 30.0]


@pytest.mark.parametrize(
    ("change", "X", "y", "says"),
    [
        ({"schema": "s.json"}, None, None, "schema must be a TableSchema"),
        ({"schema": None}, None, None, "target and never need a schema: give schema="),
        ({}, "patients.csv", None, "fit_table reads others"),
        ({}, np.zeros((9, 2)), None, "got a ndarray"),
        ({}, None, [1.0, 2.0], "X has 9 rows and y has 2"),
        ({"target": "stay"}, None, np.zeros((9, 2)), r"y must have the shape \(n,\)"),
        ({"never": ["agge"]}, None, None, "did you mean 'age'"),
    ],
)  # fmt: skip
def test_refusals_come_before_a_charge(change: Any, X: Any, y: Any, says: str) -> None:
    frame, stays = apart("stay", 9)
    ledger = Ledger(100.0)
    model = of_stays(ledger=ledger, **{"target": "stay", **change})
    with pytest.raises(InvalidInput, match=says):
        model.fit(frame if X is None else X, stays if y is None else y)
    assert ledger.spent.epsilon == 0.0


def test_rows_of_one_person_become_one_row() -> None:
    X, y = apart("stay", 600)
    schema = TableSchema.of(
        {
            **SCHEMA.content,
            "csvw-eo:privacyUnit": "who",
            "fields": [*SCHEMA.content["fields"], {"name": "who", "type": "string"}],
        }
    )
    who = [f"p{k // 2}" for k in range(600)]
    release = of_stays(schema=schema).fit(X.assign(who=who), y).release_
    assert release.table is not None
    assert release.table.unit == "who"
