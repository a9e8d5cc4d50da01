"""Messages on columns that are not there, or there several times: their hints are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect.errors import InvalidInput
from mipselect.regression import ObjectivePerturbationRegressor, SelectThenRegress
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema
from mipselect.validation import did_you_mean
from tests.support.mapped_tables import map_table

BODY = TableSchema.of_numbers({"height_cm": (0, 300), "weight_kg": (0, 300), "y": (0, 1)})


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(InvalidInput) as error:
        act()
    return str(error.value)


def test_a_column_that_is_meant_by_its_own_name_is_no_hint() -> None:
    plain = pa.table({"weight_kg": [1.0], "y": [1.0]})
    assert "did you mean" not in refusal(lambda: map_table(plain, BODY, target="y"))
    other = pa.table({"weight_kg": [1.0], "y": [1.0], "height_m": [1.0]})
    assert "did you mean 'height_m'?" in refusal(lambda: map_table(other, BODY, target="y"))


def test_the_beginning_of_a_name_finds_it() -> None:
    names = ["ward", "los_days", "Los_days_before"]
    assert did_you_mean("los", names) == "; did you mean 'los_days'?"
    assert did_you_mean("LOS", names) == "; did you mean 'los_days'?"
    assert did_you_mean("wart", names) == "; did you mean 'ward'?"
    assert did_you_mean("l", names) == did_you_mean("", names) == did_you_mean("pulse", names) == ""


def test_repeated_names_of_a_frame_are_one_clear_line() -> None:
    numbers = np.random.default_rng(0).uniform(0, 1, (60, 3))
    frame = pd.DataFrame(numbers, columns=["height_cm", "weight_kg", "height_cm"])
    arrow = pa.Table.from_arrays(list(map(pa.array, numbers.T)), names=list(frame.columns))
    y = pd.Series(numbers[:, 0], name="y")
    model = ObjectivePerturbationRegressor(loss="huber(0.25)", x_bound=1.0, y_bound=1.0)
    pair = SelectThenRegress(PermuteAndFlipSelector(1), ObjectivePerturbationRegressor())
    estimators: list[Any] = [PermuteAndFlipSelector(1), model, pair]
    for estimator in estimators:
        for X in (frame, arrow):
            told = refusal(lambda estimator=estimator, X=X: estimator.fit(X, y))  # type: ignore[misc]
            assert told == "X: several columns are called height_cm; names must differ"
    model.fit(numbers, y)
    assert "several columns" in refusal(lambda: model.predict(frame))
