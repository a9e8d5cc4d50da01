"""Released models in words, as frames and as pictures, and their files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from mipselect.errors import InvalidInput
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.regression.rows import RowMap
from mipselect.selectors import ExponentialSelector, SISSelector
from mipselect.tables import TableSchema
from tests.support.all_regressors import (
    CLASSIFIERS,
    REGRESSORS,
    all_classifiers,
    all_models,
    stored_again,
)
from tests.support.all_regressors import release as of_arrays
from tests.support.mapped_tables import map_table
from tests.support.patients import SCHEMA, patients

EVIL = r"<script>alert('$\frac$')</script>"
ADASSP = AdaSSPRegressor(delta=1e-6)
HUBER = ObjectivePerturbationRegressor(loss="huber(0.25)")
NO_ROW = ("ward is missing, compared with a", "ward is in no list, compared with a")


def fitted(regressor: Any = ADASSP, target: str = "stay", **more: Any) -> SelectThenRegress:
    given = {"always": ["sex", "age"], "never": ["died" if target == "stay" else "stay"], **more}
    frame, schema = given.pop("frame", None), given.pop("schema", SCHEMA)
    epsilon = given.pop("epsilon", 20.0)
    model = SelectThenRegress(ExponentialSelector(1), regressor, epsilon=epsilon)
    return model.fit_table(
        patients(3000) if frame is None else frame, schema, target=target, **given
    )


@pytest.fixture
def agg() -> Iterator[None]:
    """Pictures without a screen, closed at the end."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def rows_of(text: str) -> dict[str, str]:
    """What stands before each meaning in the lines of coefficients."""
    lines = [line[2:] for line in text.splitlines() if line.startswith("  ")]
    return {line.rsplit("  ", 1)[1]: line.rsplit("  ", 1)[0].strip() for line in lines}


def test_the_rows_are_the_equation() -> None:
    release = fitted().release_
    frame = release.to_frame()
    assert frame["field"].iloc[0] == "intercept"
    terms = release.in_units.terms
    assert frame["field"].tolist()[1:] == [term.field for term in terms]
    assert frame["kind"].tolist() == ["intercept", *(term.kind for term in terms)]
    assert frame["aside"].tolist()[1:] == [term.aside for term in terms]
    of_b = frame[(frame["field"] == "ward") & (frame["category"] == "b")]
    assert of_b["reference"].tolist() == ["a"]
    shown = rows_of(release.summary())
    assert shown["ward is b and not a"] == f"{of_b['coefficient'].item():+.6g}"
    assert set(shown) == {"intercept", *(term.meaning for term in terms if not term.aside)}


def test_the_summary_says_what_it_is_and_how_to_read_it() -> None:
    release = fitted().release_
    text = release.summary()
    assert text.splitlines()[:3] == [
        "Model: exponential, then adassp",
        "Features: ward; always in: age, sex",
        "stay = the sum of:",
    ]
    assert text.count("with noise for privacy") == 1
    assert "Not listed: 4 terms of the model" in text
    assert "It is (20, 1e-06)-differentially private, replacing one row;" in text
    assert str(release) == release.summary()
    assert "few rows have, or none, is mostly noise" in text
    again = stored_again(release)
    assert again.summary() == text


def test_odds_per_unit() -> None:
    release = fitted(ObjectivePerturbationClassifier(), "died").release_
    frame = release.to_frame()
    np.testing.assert_allclose(frame["odds_ratio"][1:], np.exp(frame["coefficient"][1:]))
    assert math.isnan(frame["odds_ratio"][0])
    age = frame[(frame["field"] == "age") & (frame["kind"] == "number")]
    shown = rows_of(release.summary())["per unit of age"]
    assert shown.endswith(f"odds × {age['odds_ratio'].item():.3g}")
    assert "log-odds of died=true = the sum of:" in release.summary()
    assert "odds" not in rows_of(release.summary())["intercept"]
    huge = of_arrays(
        coefficients=(1e9, 0.0), classes=(0, 1), mechanism="objective-perturbation, logistic"
    )
    assert huge.to_frame()["odds_ratio"].tolist()[1:] == [math.inf, 1.0]
    assert "log-odds of y=1" in huge.summary()


def test_a_seeded_draw_is_marked_everywhere() -> None:
    release = fitted(ObjectivePerturbationRegressor(random_state=1)).release_
    assert release.summary().startswith("NOT PRIVATE: drawn with a seeded generator")
    assert "It would have been 20-differentially private" in release.summary()
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    assert "NOT PRIVATE" in release.plot(axes).get_title(loc="left")


def named_by_a_stranger() -> tuple[pd.DataFrame, TableSchema]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({EVIL: rng.choice(["a", EVIL, "c"], 2000), "y&y": rng.random(2000)})
    categories = {"name": EVIL, "type": "string", "categories": ["a", EVIL, "c"]}
    limits = {"minimum": 0, "maximum": 1}
    fields = [categories, {"name": "y&y", "type": "number", "constraints": limits}]
    return frame, TableSchema.of({"fields": fields})


@pytest.mark.usefixtures("agg")
def test_names_cannot_leave_their_cells() -> None:
    frame, schema = named_by_a_stranger()
    asked = {"target": "y&y", "always": [], "never": [], "frame": frame, "schema": schema}
    release = fitted(**asked).release_
    axes = release.plot()
    axes.figure.canvas.draw()
    assert f"{EVIL} is {EVIL} and not a" in [text.get_text() for text in axes.get_yticklabels()]


def dots(axes: Any) -> dict[float, float]:
    """The drawn coefficients by their places."""
    points = [line.get_xydata() for line in axes.lines if line.get_marker() == "o"]
    return {float(y): float(x) for ((x, y),) in points}


@pytest.mark.usefixtures("agg")
def test_the_picture_has_coefficients_for_whole_ranges() -> None:
    release = fitted().release_
    axes = release.plot()
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == [
        "ward is b and not a", "ward is c and not a", "ward is d and not a",
        "age from 18 to 100", "sex is m and not f",
    ]  # fmt: skip
    shown = release.to_frame().query("not aside and kind != 'intercept'")
    spans = np.array([1.0, 1.0, 1.0, 82.0, 1.0])
    points = [dots(axes)[float(place)] for place in range(5)]
    np.testing.assert_allclose(points, spans * shown["coefficient"], rtol=1e-12)
    assert axes.get_xlabel() == "change of stay"
    assert "differentially private, replacing one row" in " ".join(
        axes.get_title(loc="left").split()
    )


@pytest.mark.usefixtures("agg")
def test_ordered_categories_are_drawn_from_the_first_to_the_last() -> None:
    fields = [dict(field) for field in SCHEMA.content["fields"]]
    (ward,) = (field for field in fields if field["name"] == "ward")
    ward["categoriesOrdered"] = True
    schema = TableSchema.of({**SCHEMA.content, "fields": fields})
    release = fitted(HUBER, always=["ward"], schema=schema).release_
    axes = release.plot()
    place = [text.get_text() for text in axes.get_yticklabels()].index("ward from a to d")
    step = release.to_frame().query("kind == 'ordered categories'")["coefficient"].item()
    assert dots(axes)[place] == pytest.approx(3.0 * step, rel=1e-12)


def test_a_model_of_arrays_is_drawn_per_unit_on_axes_that_are_given() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    axes = figures.Figure().subplots()
    assert of_arrays().plot(axes) is axes
    assert dots(axes) == {0.0: 0.5, 1.0: -0.25}
    plain = of_arrays(rows=RowMap(2, fit_intercept=False, row_bound=2.0), intercept=0.0)
    assert plain.to_frame()["field"].tolist() == ["age", "dose"]
    empty = of_arrays(
        support=(), feature_names=(), coefficients=(), rows=RowMap(0, False, row_bound=1.0)
    )
    assert "y = the sum of:" in empty.summary()
    assert len(empty.to_frame()) == 0


def test_no_model_is_no_row() -> None:
    release = of_arrays(coefficients=None, intercept=0.0)
    assert "Model: adassp: no model, for the private test failed" in release.summary()
    for view in (release.to_frame, release.plot):
        with pytest.raises(InvalidInput, match="no model was released"):
            view()


@pytest.mark.parametrize("name", REGRESSORS + CLASSIFIERS)
def test_estimators_show_what_they_released(name: str) -> None:
    model = {**all_models(), **all_classifiers()}[name]
    for view in (model.summary, model.to_frame, model.plot):
        with pytest.raises(NotFittedError):
            view()
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (60, 3))
    y = np.where(X[:, 0] > 0.0, "sick", "well") if name in CLASSIFIERS else X[:, 0]
    model.fit(X, y)
    assert model.summary() == model.release_.summary()
    if model.release_.has_model:
        pd.testing.assert_frame_equal(model.to_frame(), model.release_.to_frame())
        axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
        assert model.plot(axes) is axes


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
