"""Frames of pandas: rows that came apart, and NA among objects, are refused before a draw."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mipselect import BlockScores, Instance, Ledger, Moments
from mipselect.errors import InvalidInput, UsefulnessWarning
from mipselect.regression import (
    AdaSSPRegressor,
    ObjectivePerturbationClassifier,
    SelectThenRegress,
)
from mipselect.selectors import PermuteAndFlipSelector

N = 60


def frame() -> pd.DataFrame:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (N, 2))
    return pd.DataFrame(X, columns=["a", "b"])


def target() -> pd.Series:
    return frame()["a"].rename("y")


def estimators(ledger: Ledger | None = None) -> dict[str, Any]:
    selector, regressor = PermuteAndFlipSelector(1), AdaSSPRegressor(x_bound=1.0, y_bound=1.0)
    pair = SelectThenRegress(selector, regressor, epsilon=1.0, ledger=ledger)
    return {
        "selector": PermuteAndFlipSelector(1, ledger=ledger),
        "regressor": AdaSSPRegressor(x_bound=1.0, y_bound=1.0, ledger=ledger),
        "pair": pair,
    }


NAMES = list(estimators())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("made", [pd.Series, pd.DataFrame])
def test_a_target_in_another_order_is_refused_before_it_is_paid_for(name: str, made: Any) -> None:
    ledger = Ledger(1.0, 1e-6)
    y = made(target()).sort_values("y") if made is pd.DataFrame else target().sort_values()
    with pytest.raises(InvalidInput, match=r"at other places: .* y\.loc\[X\.index\]"):
        estimators(ledger)[name].fit(frame(), y)
    assert ledger.spent.epsilon == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_what_the_refusal_advises_is_taken(name: str) -> None:
    X, y = frame(), target().sort_values()
    estimators()[name].fit(X, y.loc[X.index])
    estimators()[name].fit(X.loc[y.index], y)
    estimators()[name].fit(X, y.to_numpy())


BOUNDS = {"x_bound": 1.0, "y_bound": 1.0}
OF_ROWS = {
    "Instance": lambda X, y: Instance(X, y, support_size=1, coef_bound=1.0, ridge=1.0, **BOUNDS),
    "from_blocks": lambda X, y: Instance.from_blocks(X, y, support_size=1),
    "BlockScores": lambda X, y: BlockScores(X, y, support_size=1, epsilon=1.0),
    "Moments": lambda X, y: Moments.of((X, y), **BOUNDS),
}


@pytest.mark.parametrize("made", OF_ROWS.values(), ids=OF_ROWS)
def test_instances_scores_and_sums_refuse_another_order_too(made: Any) -> None:
    X, y = frame(), target().sort_values()
    with pytest.raises(InvalidInput, match="at other places"):
        made(X, y)
    made(X, y.loc[X.index])
    made(X, y.to_numpy())


def test_rows_that_were_left_out_of_one_are_missed() -> None:
    X, y = frame().drop(index=[1]), target().drop(index=[7])
    with pytest.raises(InvalidInput, match="at other places"):
        PermuteAndFlipSelector(1).fit(X, y)


@pytest.mark.parametrize("counted", ["X", "y"])
def test_labels_of_an_array_say_nothing(counted: str) -> None:
    """A part of the rows, of which one side was made anew of an array."""
    part = frame().sample(frac=0.6, random_state=1).index
    X, y = frame().loc[part], target().loc[part]
    if counted == "X":
        X = X.reset_index(drop=True)
    else:
        y = y.reset_index(drop=True)
    PermuteAndFlipSelector(1).fit(X, y)


def test_labels_that_have_none_in_common_are_refused() -> None:
    """Unless one side counts its rows from 0, as what is made of an array does."""
    named = [f"p{j}" for j in range(N)]
    X, y, other = frame().set_axis(named), target(), target().set_axis([f"q{j}" for j in range(N)])
    with pytest.raises(InvalidInput, match=r"no index label in common: .* y\.to_numpy\(\)"):
        PermuteAndFlipSelector(1).fit(X, other)
    for accepted in (y, other.to_numpy(), other.set_axis(named)):
        PermuteAndFlipSelector(1).fit(X, accepted)


@pytest.mark.parametrize("name", NAMES)
def test_whole_numbers_as_labels_are_the_names_of_columns_unless_they_are_places(name: str) -> None:
    estimator, X, y = estimators()[name], frame(), target()
    for labels, names in (([1990, 2000], {"1990", "2000"}), ([0, 1], {"x0", "x1"})):
        numbered = X.set_axis(labels, axis=1)
        estimator.fit(numbered, y)
        assert set(estimator.release_.feature_names) <= names
        if name == "selector":
            estimator.set_output(transform="pandas")
            assert tuple(estimator.transform(numbered)) == estimator.release_.feature_names
    estimator.fit(X.set_axis([1990, 2000], axis=1), y).fit(X.to_numpy(), y)
    assert set(estimator.release_.feature_names) <= {"x0", "x1"}


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_rows_are_refused_by_a_name_that_was_written(name: str) -> None:
    estimator, X, y = estimators()[name], frame(), target()
    with pytest.raises(InvalidInput, match=r"not sample_weight: .* field of a schema") as refused:
        estimator.fit(X, y, sample_weight=y)
    assert str(refused.value).startswith(f"{type(estimator).__name__}.fit takes X and y")


@pytest.mark.parametrize("name", NAMES)
def test_a_target_among_the_columns_is_told_once(name: str) -> None:
    X, y = frame(), target().rename("a")
    with pytest.warns(UsefulnessWarning) as told:
        estimators()[name].fit(X, y)
    (itself,) = (one for one in told if "explains itself" in str(one.message))
    assert itself.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", UsefulnessWarning)
        with pytest.raises(UsefulnessWarning, match="X has a column 'a', and y is called so too"):
            estimators()[name].set_params(epsilon=100.0).fit(X, y)
        estimators()[name].set_params(epsilon=100.0).fit(X.drop(columns="a"), y)
        estimators()[name].set_params(epsilon=100.0).fit(X, y.to_numpy())


@pytest.mark.parametrize("kept", [pd.DataFrame, np.asarray])
@pytest.mark.parametrize("name", NAMES)
def test_na_among_objects_is_a_missing_value(name: str, kept: Any) -> None:
    X = frame().astype(object)
    X.iloc[3, 1] = pd.NA
    with pytest.raises(InvalidInput, match=r"row 3, column 1 .*<NA>.* need a schema"):
        estimators()[name].fit(kept(X), target())
    y = target().astype(object)
    y.iloc[5] = pd.NA
    with pytest.raises(InvalidInput, match=r"y .*row 5 holds <NA>.* need a schema"):
        estimators()[name].fit(frame(), y)


def test_na_is_no_class() -> None:
    y = pd.Series(np.where(target() > 0.0, "yes", "no")).astype(object)
    y.iloc[5] = pd.NA
    model = ObjectivePerturbationClassifier(x_bound=1.0)
    with pytest.raises(InvalidInput, match="row 5 holds <NA>"):
        model.fit(frame(), y)
    model.set_params(classes=["no", "yes"]).fit(frame(), y)


def test_na_of_rows_that_are_predicted_is_told_too() -> None:
    X = frame().astype(object)
    X.iloc[3, 1] = pd.NA
    model = AdaSSPRegressor(x_bound=1.0, y_bound=1.0).fit(frame(), target())
    with pytest.raises(InvalidInput, match=r"row 3, column 1 .*<NA>"):
        model.predict(X)


def test_complex_numbers_are_refused_without_a_value() -> None:
    X = np.random.default_rng(0).uniform(0.1, 0.9, (N, 2)) + 1j
    with pytest.raises(InvalidInput, match="Complex data not supported") as caught:
        PermuteAndFlipSelector(1).fit(X, X[:, 0].real)
    assert "[" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("name", NAMES)
def test_a_date_among_objects_is_named_by_its_place(name: str) -> None:
    X = frame().astype(object)
    X.iloc[3, 1] = pd.Timestamp("2001-02-03")
    with pytest.raises(InvalidInput, match=r"row 3, column 1 \(b\) holds a date") as refused:
        estimators()[name].fit(X, target())
    assert "2001" not in str(refused.value)
