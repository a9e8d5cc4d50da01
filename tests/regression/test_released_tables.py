"""A released model of a table: rows from paths and frames, and classes of their field's type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mipselect.errors import InvalidInput
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.selectors import ExponentialSelector, SISSelector
from mipselect.tables import TableSchema
from tests.support.all_regressors import stored_again
from tests.support.mapped_tables import map_table
from tests.support.patients import SCHEMA, patients


def model_of(target: str, regressor: Any, schema: TableSchema = SCHEMA, **more: Any) -> Any:
    pair = SelectThenRegress(ExponentialSelector(2), regressor, epsilon=20.0)
    return pair.fit_table(patients(300), schema, target=target, **more)


@pytest.mark.parametrize(
    ("target", "regressor"),
    [
        ("stay", ObjectivePerturbationRegressor(loss="huber(0.25)")),
        ("died", ObjectivePerturbationClassifier()),
    ],
)
def test_decisions_of_paths_frames_and_columns_are_the_same(
    target: str, regressor: Any, tmp_path: Path
) -> None:
    release = model_of(target, regressor).release_
    frame = patients(50, seed=1).drop(columns=target)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    table = map_table(patients(50, seed=1), SCHEMA, target=target)
    columns = [table.column_names.index(name) for name in release.columns]
    found = release.decision(table.X[:, columns])
    assert found.shape == (50,)
    assert len(set(found)) > 5
    sources = (path, str(path), frame, pa.Table.from_pandas(frame), frame.iloc[:0])
    for source in sources[:-1]:
        np.testing.assert_array_equal(release.decision(source), found)
        assert len(release.predict(source)) == 50
    assert release.decision(sources[-1]).shape == release.predict(sources[-1]).shape == (0,)
    if target == "died":
        assert release.predict(frame).tolist() == (found > 0.0).tolist()
    else:
        np.testing.assert_allclose(release.predict(frame), 30.0 + 30.0 * found)
    for source in (tmp_path / "none.csv", frame.drop(columns=list(release.feature_names))):
        for call in (release.decision, release.predict):
            with pytest.raises(InvalidInput, match=r"no such file|there is no column"):
                call(source)


def test_a_model_of_arrays_says_what_it_takes() -> None:
    X = pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4]})
    release = AdaSSPRegressor(x_bound=1.0, y_bound=1.0).fit(X, [0.0, 1.0]).release_
    for call in (release.decision, release.predict):
        assert call(X).shape == (2,)
        with pytest.raises(InvalidInput, match=r"'t\.csv' is no array: give its columns \(a, b\)"):
            call("t.csv")
        with pytest.raises(InvalidInput, match=r"X must have 2 columns \(a, b\), got 1"):
            call(X[["a"]])
        with pytest.raises(InvalidInput, match=r"row 0, column 1 \(b\) holds text"):
            call(X.assign(b="x"))


@pytest.mark.parametrize("kind", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
def test_a_frame_is_read_by_the_names_of_the_columns(kind: Any) -> None:
    X = pd.DataFrame({"a": [0.1, 0.2, 0.9], "b": [0.3, 0.4, -0.5], "text": ["x", "y", "z"]})
    known = X[["a", "b"]]
    release = AdaSSPRegressor(x_bound=1.0, y_bound=1.0).fit(known, [0.0, 1.0, 1.0]).release_
    expected = release.predict(known.to_numpy())
    for other in (known, X[["b", "a"]], X):
        np.testing.assert_array_equal(release.predict(kind(other)), expected)
    with pytest.raises(InvalidInput, match=r"X must have the columns a, b, got a, B"):
        release.predict(kind(known.rename(columns={"b": "B"})))
    # Columns without names are read by their place.
    rows, model = known.to_numpy(), AdaSSPRegressor(x_bound=1.0, y_bound=1.0)
    nameless = model.fit(rows, [0.0, 1.0, 1.0]).release_
    np.testing.assert_array_equal(nameless.predict(kind(known)), nameless.predict(rows))


CLASSES = [
    ({"type": "boolean"}, (False, True)),
    ({"type": "boolean", "trueValues": ["yes", "y"], "falseValues": ["no"]}, ("no", "yes")),
    ({"type": "integer", "categories": [7, 3]}, (7, 3)),
    ({"type": "number", "categories": [0.5, 2]}, (0.5, 2.0)),
    ({"type": "string", "categories": ["1", "0"]}, ("1", "0")),
]


@pytest.mark.parametrize(("field", "classes"), CLASSES)
def test_classes_are_of_the_type_of_their_field(field: dict[str, Any], classes: Any) -> None:
    content = SCHEMA.content
    content["fields"][-1] = {"name": "died", **field}
    model = model_of("died", ObjectivePerturbationClassifier(), TableSchema.of(content))
    release = stored_again(model.release_)
    for found in (release.classes, model.release_.classes, tuple(model.classes_.tolist())):
        assert found == classes
        assert [type(one) for one in found] == [type(one) for one in classes]
    predicted = release.predict(patients(20))
    assert set(predicted.tolist()) <= set(classes)
    assert predicted.dtype == np.array(classes).dtype
    stored = model.release_.to_dict()
    with pytest.raises(InvalidInput, match="not those of its table"):
        ModelRelease.from_dict({**stored, "classes": ["other", "names"]})


@pytest.mark.parametrize(
    "estimator",
    [
        SISSelector(1, x_bound=1.0, y_bound=1.0),
        ExponentialSelector(1, x_bound=1.0, y_bound=1.0, coef_bound=1.0, ridge=1.0),
        AdaSSPRegressor(x_bound=1.0, y_bound=1.0),
    ],
)
def test_text_in_a_frame_is_named_with_what_reads_it(estimator: Any) -> None:
    frame = pd.DataFrame({"age": [1.0, 2.0], "sex": ["female", "male"]})
    words = r"(column 1 .*holds text|column 'sex' is of type).*TableSchema\.skeleton"
    for table in (frame, frame.astype({"sex": "category"}), frame.to_numpy(), pa.table(frame)):
        with pytest.raises(InvalidInput, match=words):
            estimator.fit(table, [0.0, 1.0])
