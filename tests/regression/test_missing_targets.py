"""A row without a target teaches a model of a table nothing, and is one of the n rows."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
)
from mipselect.regression.ranges import PrivateRanges
from mipselect.regression.rows import ModelRows
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema
from mipselect.tables.public_map import TableQuestion

N = 1500
NUMBER = {"type": "number", "constraints": {"minimum": -1, "maximum": 1, "required": True}}
FIELDS = [{"name": name, **NUMBER} for name in ("a", "b")]
TARGET = {"name": "y", "type": "number", "constraints": {"minimum": 0, "maximum": 100}}
CLASSES = {"name": "y", "type": "string", "categories": ["no", "yes"]}
WEIGHT = {"name": "w", "type": "number", "mipselect:role": "weight"}
WEIGHT["constraints"] = {"minimum": 0, "maximum": 2}
LEFT = np.arange(N) % 7 == 3


def table(of_those_left: float, target: Any) -> pa.Table:
    """Make rows that differ, between two calls, only where there is no target."""
    rng = np.random.default_rng(0)
    a, b, w = rng.uniform(-1.0, 1.0, N), rng.uniform(-1.0, 1.0, N), rng.uniform(0.0, 2.0, N)
    y = 10.0 + 3.0 * a + rng.normal(0.0, 1.0, N)
    a[LEFT] = b[LEFT] = of_those_left
    w[LEFT] = 1.0 + of_those_left
    values = y.tolist() if target is TARGET else np.where(y > 10.0, "yes", "no").tolist()
    absent = None if target is TARGET else "neither"
    values = [absent if left else value for value, left in zip(values, LEFT, strict=True)]
    return pa.table({"a": a, "b": b, "y": values, "w": w})


SEED = {"random_state": 5}
MODELS = {
    "huber": (ObjectivePerturbationRegressor(loss="huber", **SEED), TARGET),
    "squared": (ObjectivePerturbationRegressor(loss="squared", **SEED), TARGET),
    "adassp": (AdaSSPRegressor(delta=1e-6, **SEED), TARGET),
    "boosted": (BoostedAdaSSPRegressor(delta=1e-6, rounds=5, **SEED), TARGET),
    "logistic": (ObjectivePerturbationClassifier(**SEED), CLASSES),
    "classes by adassp": (AdaSSPRegressor(delta=1e-6, **SEED), CLASSES),
}


def coefficients(regressor: Any, target: Any, of_those_left: float, *more: Any) -> list[float]:
    schema = TableSchema.of({"fields": [*FIELDS, target, *more]})
    never = () if more else ("w",)
    model = SelectThenRegress(PermuteAndFlipSelector(2, **SEED), regressor, epsilon=20.0)
    kept = table(of_those_left, target)
    kept = kept if more else kept.drop_columns(["w"])
    release = model.fit_table(kept, schema, target="y", never=never if more else ()).release_
    return [*(release.coefficients or ()), release.intercept]


WITH_A_WEIGHT = [(name, [WEIGHT]) for name in ("huber", "squared", "adassp")]


@pytest.mark.parametrize(("name", "more"), [*((name, []) for name in MODELS), *WITH_A_WEIGHT])
def test_a_row_without_a_target_teaches_nothing(name: str, more: list[Any]) -> None:
    """Whatever else the row has: the columns, their intercept, and where most values lie."""
    one, other = (coefficients(*MODELS[name], value, *more) for value in (-1.0, 0.9))
    assert one == pytest.approx(other, rel=1e-9)
    assert any(one)


def test_nor_in_the_blocks_of_tukey() -> None:
    rng = np.random.default_rng(0)
    X, left = rng.uniform(-1.0, 1.0, (4000, 2)), np.arange(4000) % 7 == 3
    y = np.where(left, 0.0, 0.5 + X[:, 0])
    thetas = []
    for of_those_left in (-1.0, 0.9):
        X[left] = of_those_left
        rows = ModelRows(X, y, shares=1.0 - left)
        model = TukeyRegressor(epsilon=5.0, delta=1e-4)
        thetas.append(model._draw(rows, random.Random(1), False).theta)
    np.testing.assert_array_equal(*thetas)
    np.testing.assert_allclose(thetas[0], [1.0, 0.0, 0.5], atol=0.1)


def test_a_mean_far_from_the_middle_of_the_range_is_found() -> None:
    schema = TableSchema.of({"fields": [*FIELDS, TARGET]})
    model = SelectThenRegress(
        PermuteAndFlipSelector(2, **SEED), MODELS["squared"][0], epsilon=1000.0
    )
    rows = table(0.0, TARGET).drop_columns(["w"])
    found = model.fit_table(rows, schema, target="y").predict(pa.table({"a": [0.0], "b": [0.0]}))
    assert found[0] == pytest.approx(10.0, abs=0.5)  # 15.7 with 50 in a seventh of the rows


@pytest.mark.parametrize("target", [TARGET, CLASSES])
def test_private_ranges_leave_such_rows_out_of_the_model(target: Any) -> None:
    free = [{"name": "a", "type": "number"}, {"name": "b", "type": "number"}, target]
    question = TableQuestion(TableSchema.of({"fields": free}), "y")
    ranges = PrivateRanges(question, 10.0)
    rows, *_ = ranges.rows(table(0.0, target), (0, 1), random.Random(0))
    np.testing.assert_array_equal(rows.shares, ~LEFT)
