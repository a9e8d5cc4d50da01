"""Regressors warn where public numbers show that a model can hardly be of use."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mipselect import Ledger
from mipselect.arrays import FloatArray
from mipselect.errors import UsefulnessWarning
from mipselect.regression import (
    AdaSSPRegressor,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
)
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema


def rows(n: int) -> tuple[FloatArray, FloatArray]:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n, 4))
    return X, 0.5 * X[:, 0]


def told(fitting: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitting()
    assert all(one.category is UsefulnessWarning for one in caught)
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


def test_a_test_that_must_fail_is_told_before_it_is_paid_for() -> None:
    ledger = Ledger(2.0, 1e-6)
    model = TukeyRegressor(epsilon=2.0, delta=1e-6, ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UsefulnessWarning)
        with pytest.raises(UsefulnessWarning, match="few rows, 300, for this ε: its private test"):
            model.fit(*rows(300))
    assert ledger.spent.epsilon == 0.0


def test_what_the_test_needs_is_enough() -> None:
    (few,) = told(lambda: TukeyRegressor(epsilon=2.0).fit(*rows(300)))
    enough = int(few.partition("; about ")[2].partition(" rows")[0].replace(",", ""))
    assert told(lambda: TukeyRegressor(epsilon=2.0).fit(*rows(enough))) == []
    larger = float(few.partition("or ε = ")[2].split()[0])
    assert told(lambda: TukeyRegressor(epsilon=larger).fit(*rows(300))) == []


def test_a_private_number_of_rows_is_not_told() -> None:
    hidden = TukeyRegressor(epsilon=2.0, relation="add-remove")
    (needed,) = told(lambda: hidden.fit(*rows(300)))
    assert needed.startswith("its test needs about ")
    assert told(lambda: hidden.fit(*rows(900))) == [needed]


def test_a_pair_is_told_of_both() -> None:
    X, y = rows(300)
    pair = SelectThenRegress(PermuteAndFlipSelector(2), TukeyRegressor(delta=1e-6), epsilon=1.0)
    (found,) = told(lambda: pair.fit(X, y))
    assert "its private test is likely to fail" in found
    frame, schema = table(300)
    (found,) = told(lambda: pair.fit_table(frame, schema, target="y"))
    assert "its private test is likely to fail" in found
    other = SelectThenRegress(PermuteAndFlipSelector(2), AdaSSPRegressor(delta=1e-6), epsilon=1.0)
    assert told(lambda: other.fit_table(frame, schema, target="y")) == []


def table(n: int) -> tuple[pd.DataFrame, TableSchema]:
    X, y = rows(n)
    schema = TableSchema.of_numbers(dict.fromkeys("abcdy", (-1, 1)))
    return pd.DataFrame(np.column_stack([X, y]), columns=list("abcdy")), schema


def few_rows(*, selector: Any = None, **parameters: Any) -> list[str]:
    frame, schema = table(400)
    pair = SelectThenRegress(selector or PermuteAndFlipSelector(2), **parameters)
    found = told(lambda: pair.fit_table(frame, schema, target="y"))
    return [sentence for sentence in found if "few for a model" in sentence]


def test_rows_that_are_too_few_for_any_model_are_told() -> None:
    """A model from blocks has 0.7 of ε, so that 400 rows make 84."""
    (found,) = few_rows(regressor=ObjectivePerturbationRegressor(), epsilon=0.3)
    assert found.startswith("400 rows are few for a model at ε = 0.21. ")
    assert "are below 96, models of tables mostly predict worse than the mean of the" in found
    assert found.endswith("458 rows, or ε = 0.35 in all, are the least")
    assert few_rows(regressor=ObjectivePerturbationRegressor(), epsilon=0.35) == []


def test_a_private_number_of_rows_is_not_compared() -> None:
    hidden, scored = (
        ObjectivePerturbationRegressor(relation="add-remove"),
        PermuteAndFlipSelector(2, score="loss"),
    )
    assert few_rows(selector=scored, regressor=hidden, epsilon=0.3) == []
    assert few_rows(selector=scored, regressor=ObjectivePerturbationRegressor(), epsilon=0.3) != []
