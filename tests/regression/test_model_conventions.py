"""What every private model owes its users: names, the ledger, randomness, silence, odd data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from mipselect import Ledger
from mipselect.errors import (
    BudgetExceeded,
    InvalidInput,
    RelationMismatch,
    UsefulnessWarning,
)
from mipselect.regression import ModelRelease, ObjectivePerturbationClassifier
from mipselect.regression.rows import RowMap
from tests.support.all_regressors import (
    CLASSIFIERS,
    REGRESSORS,
    all_classifiers,
    all_models,
    release,
    selection,
    stored_again,
)

NAMES = REGRESSORS + CLASSIFIERS
RELATIONS = ["add-remove", "replace-one"]
VALUES = [0.0, 1.0, -1.0, 3.0, 5e-324, 1e-310, 1e-160, 1e-16, 1e16, 1e154, 1e308, -1e308, 1.7e308]


def models(**options: Any) -> dict[str, Any]:
    return {**all_models(**options), **all_classifiers(**options)}


def data(name: str, n: int = 60, p: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    n = 100 * n if name == "tukey" else n  # As many rows as its test needs.
    X = rng.uniform(-1.0, 1.0, (n, p))
    y = 0.5 * X[:, 0] - 0.3 * X[:, min(1, p - 1)] + 0.01 * rng.normal(size=n)
    if name in CLASSIFIERS:
        y = np.where(y > np.median(y), "sick", "well")
    return pd.DataFrame(X, columns=[f"feature {j}" for j in range(p)]), y


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_a_fit_is_one_private_release_that_predicts(name: str, relation: str) -> None:
    X, y = data(name)
    ledger = Ledger(100.0, 0.1, relation=relation)
    model = models(epsilon=2.0, ledger=ledger, relation=relation)[name].fit(X, y)
    release = model.release_
    assert release.private
    assert release.guarantee == model.guarantee_ == model.promise(3)
    assert (release.guarantee.epsilon, release.guarantee.relation) == (2.0, relation)
    assert [entry.guarantee for entry in ledger.entries] == [model.guarantee_]
    assert release.support == (0, 1, 2)
    assert list(release.feature_names) == list(X.columns)
    np.testing.assert_array_equal(model.coef_, release.coefficients)
    assert model.intercept_ == release.intercept
    np.testing.assert_array_equal(model.predict(X), release.predict(X))
    read = stored_again(release)
    np.testing.assert_array_equal(read.predict(X), model.predict(X))


@pytest.mark.parametrize("name", NAMES)
def test_the_ledger_refuses_before_anything_is_drawn(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = data(name)
    ledger = Ledger(0.5, 0.1)
    model = models(epsilon=1.0, ledger=ledger)[name]
    monkeypatch.setattr(type(model), "_draw", lambda *_: pytest.fail("something was drawn"))
    with pytest.raises(BudgetExceeded):
        model.fit(X, y)
    with pytest.raises(RelationMismatch):
        model.set_params(relation="add-remove").fit(X, y)
    assert ledger.entries == ()
    assert not hasattr(model, "release_")


@pytest.mark.parametrize("name", NAMES)
def test_copies_share_one_ledger(name: str) -> None:
    X, y = data(name)
    ledger = Ledger(100.0, 0.1)
    pipeline = make_pipeline(FunctionTransformer(), models(ledger=ledger)[name])
    for _ in range(3):
        clone(pipeline).fit(X, y).predict(X)
    assert len(ledger.entries) == 3


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_the_draw_and_takes_the_privacy_away(name: str) -> None:
    X, y = data(name)
    found = []
    for seed in (5, 5, np.random.RandomState(5), np.random.RandomState(5), 6):
        model = models(random_state=seed)[name].fit(X, y)
        assert not model.release_.private
        assert "NOT PRIVATE" in str(model.release_)
        found.append(model.coef_.tolist())
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[0] != found[4]
    private = models()[name]
    assert private.fit(X, y).coef_.tolist() != private.fit(X, y).coef_.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_bad_parameters_are_refused_in_one_line(name: str) -> None:
    X, y = data(name)
    for bad in (0.0, -1.0, 1e-10, 1e7, float("nan"), "1"):
        with pytest.raises(InvalidInput, match="epsilon"):
            models(epsilon=bad)[name].fit(X, y)
    with pytest.raises(InvalidInput, match="relation must be"):
        models(relation="swap")[name].fit(X, y)
    with pytest.raises(InvalidInput, match="ledger must be"):
        models(ledger=1.0)[name].fit(X, y)
    with pytest.raises(InvalidInput, match="random_state must be"):
        models(random_state="0")[name].fit(X, y)
    model = models()[name]
    wrong = {
        "delta": (0.0, 0.5, 1.0, "x"),
        "ridge": (-1.0, float("inf")),
        "rounds": (0, 1.5),
        "residual_bound": (0.0, None),
        "block_size": (2, 5.0),
        "x_bound": (0.0, [1.0, 2.0], "x"),
        "y_bound": (-1.0,),
        "row_bound": (0.0,),
        "coef_bound": (-1.0, float("inf")),
        "fit_intercept": (1,),
        "loss": ("absolute", "huber(x)", "huber(-1)", 3),
    }
    for parameter in set(wrong) & set(model.get_params()):
        for value in wrong[parameter]:
            with pytest.raises(InvalidInput):
                clone(model).set_params(**{parameter: value}).fit(X, y)


@pytest.mark.parametrize("name", ["objective", "huber", "adassp", "logistic"])
def test_a_missing_bound_is_an_error_that_says_why(name: str) -> None:
    X, y = data(name)
    optional = {key: {"coef_bound"} for key in ("huber", "logistic")}
    optional["adassp"] = {"x_bound"}
    needed = {"x_bound", "y_bound", "coef_bound"} - optional.get(name, set())
    for bound in needed & set(models()[name].get_params()):
        with pytest.raises(InvalidInput, match=f"{bound} .*without looking at the data"):
            models()[name].set_params(**{bound: None}).fit(X, y)


@pytest.mark.parametrize("name", NAMES)
def test_no_setting_of_scikit_learn_lets_missing_values_in(name: str) -> None:
    X, y = data(name)
    table = X.to_numpy(copy=True)
    table[3, 1] = np.nan
    model = models(random_state=0)[name]
    with pytest.raises(ValueError, match="NaN"):
        model.fit(table, y)
    with config_context(assume_finite=True):
        with pytest.raises(InvalidInput, match="must be finite"):
            model.fit(table, y)
        model.fit(X, y)
        with pytest.raises(InvalidInput, match="must be finite"):
            model.predict(pd.DataFrame(table, columns=X.columns))


def hostile(rng: np.random.Generator) -> np.ndarray:
    """A table whose last column is the target."""
    n, p = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    kind = rng.integers(5)
    if kind == 0:
        return rng.choice(VALUES, (n, p + 1))
    if kind == 1:
        return np.repeat(rng.choice(VALUES, (n, 1)), p + 1, axis=1)
    if kind == 2:
        return np.full((n, p + 1), rng.choice(VALUES))
    if kind == 3:
        return rng.choice([0.0, 1.0, -1.0], (n, p + 1))
    return rng.normal(size=(n, p + 1)) * rng.choice([1.0, 1e-160, 1e-310, 1e300], p + 1)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_hostile_tables_are_answered_with_numbers_and_without_a_word(
    name: str, relation: str, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(NAMES.index(name))
    for _ in range(25):
        table = hostile(rng)
        other = table.copy()
        other[0] = rng.choice(VALUES, table.shape[1])
        epsilon = float(rng.choice([1e-3, 1.0, 1e3]))
        for rows in (table, other):
            X, y = rows[:, :-1], rows[:, -1]
            model = models(epsilon=epsilon, relation=relation)[name]
            if name in CLASSIFIERS:
                y = np.where(y > 0.0, 1, 0)
                model.set_params(classes=[0, 1])
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                # Of few rows, whatever is in them.
                warnings.simplefilter("ignore", UsefulnessWarning)
                model.fit(X, y)
                assert np.isfinite(model.coef_).all()
                assert np.isfinite(model.intercept_)
                if name != "tukey" or model.release_.has_model:
                    assert np.isfinite(model.release_.decision(X)).all()
            assert model.release_.private
    assert capfd.readouterr() == ("", "")


def test_classes_that_are_public_need_not_be_in_the_data() -> None:
    X, _ = data("logistic")
    model = ObjectivePerturbationClassifier(x_bound=1.0, coef_bound=1.0, classes=["b", "a"])
    fitted = model.fit(X, ["a"] * 60)
    assert fitted.classes_.tolist() == ["a", "b"]
    assert fitted.release_.classes == ("a", "b")
    with pytest.raises(ValueError, match="needs two classes"):
        model.set_params(classes=None).fit(X, ["a"] * 60)


def test_a_feature_may_have_several_columns() -> None:
    of_three = release(
        columns=("age", "dose=low", "dose=high"),
        coefficients=(1.0, 2.0, 3.0),
        rows=RowMap(3, row_bound=9.0),
    )
    stored_again(of_three)
    assert of_three.predict([[1.0, 0.0, 1.0]]).tolist() == [5.0]
    assert "+3  per unit of dose=high" in str(of_three)
    with pytest.raises(InvalidInput):
        release(columns=("age",))


def test_a_release_says_what_it_is() -> None:
    assert str(release()).splitlines()[:6] == [
        "Model: adassp",
        "Features: age, dose",
        "y = the sum of:",
        "      1  intercept",
        "   +0.5  per unit of age",
        "  -0.25  per unit of dose",
    ]
    assert "(1, 1e-06)-differentially private" in str(release())
    assert "Note: rounded." in str(release(footnotes=("rounded",)))
    assert release(support=(0, 1)).predict([[1.0, 2.0], [9.0, 0.0]]).tolist() == [1.0, 1.5]


@pytest.mark.parametrize(
    "changes",
    [
        {"coefficients": (1.0,)},
        {"coefficients": (1.0, float("nan"))},
        {"intercept": float("inf")},
        {"bounds": {"y_bound": "3"}},
        {"rows": RowMap(3, row_bound=1.0)},
        {"footnotes": ("two\nlines",)},
        {"feature_names": ("age",)},
    ],
)
def test_a_release_holds_numbers_and_names_only(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        release(**changes)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "pickle"},
        {"version": 2},
        {"coefficients": [1.0]},
        {"coefficients": "ab"},
        {"rows": None},
        {"rows": {"size": 2}},
        {"guarantee": {"epsilon": -1.0, "conditions": []}},
        {"guarantee": None},
        {"unknown": 1},
        {"support": None},
    ],
)
def test_a_stored_model_is_checked(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        ModelRelease.from_dict({**release().to_dict(), **change})
    for name in ("guarantee", "rows", "coefficients"):
        stored = release().to_dict()
        del stored[name]
        with pytest.raises(InvalidInput, match=name):
            ModelRelease.from_dict(stored)
    with pytest.raises(InvalidInput, match="not a stored model"):
        ModelRelease.from_dict([])  # type: ignore[arg-type]


def test_rows_are_mapped_one_by_one() -> None:
    rng = np.random.default_rng(1)
    X = rng.choice(VALUES, (40, 3))
    row_map = RowMap(3, x_bound=(2.0,) * 3, unit=(2.0,) * 3, row_bound=1.5)
    whole = row_map(X)
    for i in range(40):
        assert np.array_equal(row_map(X[i : i + 1])[0], whole[i])
    assert np.linalg.norm(whole, axis=1).max() <= row_map.norm * (1.0 + 1e-15)
    assert RowMap(3, x_bound=(3.0, 4.0, 12.0)).norm == pytest.approx(170**0.5)
    assert RowMap(3).norm == np.inf
    coef, intercept = row_map.in_units_of_columns(np.array([1.0, 2.0, 3.0, 4.0]))
    assert coef.tolist() == [0.5, 1.0, 1.5]
    assert intercept == 4.0


MODELS = {
    **all_models(random_state=0),
    **all_classifiers(random_state=0),
    "selection": selection(random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_check_is_passed(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        found: list[dict[str, Any]] = check_estimator(MODELS[name], on_fail=None)
    ran = [one for one in found if one["status"] != "skipped"]
    assert len(ran) > 40
    failed = [(one["check_name"], one["exception"]) for one in ran if one["status"] != "passed"]
    if name == "tukey":  # The tables are small, and its private test keeps the model back.
        failed = [one for one in failed if "no model was released" not in str(one[1])]
    assert failed == []
