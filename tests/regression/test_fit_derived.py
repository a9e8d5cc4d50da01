"""Models on derived features: fitted, stored, predicted and measured as those on fields."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect.errors import InvalidInput
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    evaluate_model,
)
from mipselect.selectors import ExponentialSelector
from mipselect.tables import TableSchema
from tests.support.all_regressors import public_part, stored_again
from tests.support.clinic import CONTENT, clinic
from tests.support.mapped_tables import map_table

HUBER = ObjectivePerturbationRegressor(loss="huber(0.25)")
SCHEMA = TableSchema.of(CONTENT)
ASKED: dict[str, Any] = {"target": "stay", "never": ["age", "income", "died"]}


def fitted(frame: Any, size: int = 3, regressor: Any = HUBER, **more: Any) -> ModelRelease:
    options = {"epsilon": 30.0, **more}
    schema = options.pop("schema", SCHEMA)
    asked = {**ASKED, **options.pop("asked", {})}
    model = SelectThenRegress(ExponentialSelector(size), regressor, **options)
    return model.fit_table(frame, schema, **asked).release_


def test_a_model_finds_what_the_rows_were_made_of_and_predicts_by_it() -> None:
    frame = clinic()
    release = fitted(frame)
    assert release.feature_names == ("log income", "month", "root of age")
    assert release.table is not None
    assert release.table.sources == ("age", "income", "admitted")
    by_meaning = {term.meaning: term.coefficient for term in release.in_units.terms}
    assert by_meaning["per doubling of income"] == pytest.approx(2.0, abs=0.2)
    assert by_meaning["month is July and not January"] == pytest.approx(-6.0, abs=1.5)
    assert by_meaning["per unit of √age"] == pytest.approx(2.5, abs=0.3)
    read = stored_again(release)
    # A table with what the features are made of is enough.
    given = frame[["income", "admitted", "age"]]
    np.testing.assert_array_equal(read.predict(given), release.predict(frame))
    with pytest.raises(InvalidInput, match="there is no column admitted"):
        read.predict(frame[["income", "age"]])
    # In words, by a reader who has the row and the rule.
    row = frame.iloc[0]
    income = np.exp(np.clip(np.log(row["income"]), *release.table.ranges["log income"]))
    month = pd.to_datetime(row["admitted"], format="%d.%m.%Y").strftime("%B")
    by_hand = release.in_units.intercept
    by_hand += by_meaning["per doubling of income"] * np.log2(income)
    by_hand += by_meaning.get(f"month is {month} and not January", 0.0)
    by_hand += by_meaning["per unit of √age"] * np.sqrt(row["age"])
    assert read.predict(given)[0] == pytest.approx(by_hand, abs=1e-4)


def test_the_target_may_be_derived() -> None:
    frame = clinic()
    asked = {"target": "log income", "never": ["age", "died", "smoker"]}
    release = fitted(frame, 1, asked=asked)
    assert release.feature_names == ("stay",)
    assert "log income = the sum of" in str(release.summary())
    predicted = release.predict(frame)
    assert np.corrcoef(predicted, np.log(frame["income"]))[0, 1] > 0.4
    found = evaluate_model(release, frame, epsilon=20.0)
    assert found.beats_chance


def test_quality_and_people_and_private_ranges() -> None:
    content = json.loads(json.dumps(CONTENT))
    content["csvw-eo:privacyUnit"] = "who"
    content["fields"].append({"name": "who", "type": "integer"})
    del content["fields"][1]["constraints"]
    schema = TableSchema.of(content)
    frame = clinic()
    frame["who"] = np.arange(len(frame)) // 2
    release = fitted(frame, schema=schema, ranges="private", epsilon=60.0)
    assert release.table is not None
    assert set(release.table.private_ranges) == {"log income"}
    low, high = release.table.ranges["log income"]
    assert low < 10 < high
    stored_again(release)
    quality = evaluate_model(release, frame, epsilon=20.0, schema=schema)
    assert quality.rows == len(frame) // 2
    assert quality.beats_chance
    held = fitted(frame, schema=schema, ranges="private", epsilon=60.0, quality_share=0.3)
    assert held.quality is not None


def test_classes_and_other_models() -> None:
    release = fitted(clinic(), 2, AdaSSPRegressor(delta=1e-6))
    assert release.feature_names == ("log income", "root of age")
    assert len(release.to_frame()) == len(release.in_units.terms) + 1
    table = map_table(clinic(50), SCHEMA, **ASKED)
    assert set(release.columns) <= set(table.column_names)


def test_nothing_public_depends_on_hostile_rows() -> None:
    hostile = ["", "x", "1e999", "-1", "31.02.2020", "10000-01-01", "nan", "\x00", "9" * 400]
    frame = clinic(60).astype(str)
    noise: dict[tuple[str, ...], Any] = {}

    def public(table: Any) -> Any:
        return public_part(fitted(table, 1, epsilon=1.0), table, noise)

    expected = public(frame)
    for value in hostile:
        changed = frame.copy()
        changed.loc[3] = value
        assert public(changed) == expected
    days = pa.array([None] * 59 + [2**31 - 1], pa.int32()).cast(pa.date32())
    odd = pa.Table.from_pandas(frame, preserve_index=False)
    assert public(odd.set_column(3, "admitted", days)) == expected
