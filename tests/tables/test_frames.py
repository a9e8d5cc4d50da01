"""What only looks like a table of numbers is refused by row and column, never read."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_vector, plain_array
from mipselect.mechanisms import TopR
from mipselect.problem.instance import Instance
from mipselect.search import top_supports

COLUMNS = {"age": [0.5, 0.25, 0.75], "smoker": [True, False, True]}
TABLE = pa.table(COLUMNS)
VALUES = [[0.5, 1.0], [0.25, 0.0], [0.75, 1.0]]
TUPLES = pd.MultiIndex.from_product([["a"], ["b", "c"]])
DAYS = ["2020-01-01", "2020-01-02", None]


def refuse(*_: object, **__: object) -> Any:
    raise AssertionError("it is there already, or to compute is for the user to decide")


class Stream:
    """A frame that is known by its Arrow stream only, as those of Polars and DuckDB."""

    columns, collect = ("age", "smoker"), refuse
    __arrow_c_stream__ = TABLE.__arrow_c_stream__


class Lazy:
    columns, collect = ("age", "smoker"), refuse


class Graph:
    columns, __dask_graph__, __array__ = ("age", "smoker"), None, refuse


class Labelled:
    """An unknown frame whose `columns` are not its names."""

    columns = TABLE.columns

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return np.array(VALUES)


@pytest.mark.parametrize(
    "frame",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        Stream(),
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).convert_dtypes(),
        pd.DataFrame(COLUMNS).astype(object),
        pd.DataFrame(COLUMNS).astype({"smoker": pd.ArrowDtype(pa.bool_())}),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_frames_give_their_values_and_their_names(frame: Any) -> None:
    matrix, names = numeric_matrix(frame)
    assert (matrix.tolist(), names, matrix.dtype) == (VALUES, ("age", "smoker"), np.float64)


def test_a_release_from_an_arrow_table_holds_names_and_no_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (30, 4))
    names = ["a", "b", "c", "d"]
    for table in (pa.table(dict(zip(names, X.T, strict=True))), pa.record_batch(list(X.T), names)):
        instance = Instance(
            table, X[:, 1], support_size=2, x_bound=1, y_bound=1, coef_bound=1, ridge=1
        )
        assert instance.feature_names == tuple(names)
        np.testing.assert_array_equal(instance.X, X)
        release = TopR(top_supports(instance), 1.0).release()
        assert set(release.feature_names) <= set(names)
        for written in (repr(release), json.dumps(release.to_dict()), str(release)):
            assert not any(repr(float(value))[:6] in written for value in X.ravel())


def test_values_are_as_they_are_given() -> None:
    single = TABLE.cast(pa.schema([("age", pa.float32()), ("smoker", pa.float32())]))
    assert numeric_matrix(single)[0].dtype == np.float32
    assert numeric_matrix(single.to_pandas())[0].dtype == np.float32
    # Whole numbers as labels become text, and given names replace those of a frame.
    assert numeric_matrix(pd.DataFrame(VALUES))[1] == ("0", "1")
    assert numeric_matrix(pd.DataFrame({"Unnamed: 0": [1.0]}), ["id"])[1] == ("id",)
    assert numeric_matrix([[decimal.Decimal("0.5"), 2**70]])[0].tolist() == [[0.5, 2.0**70]]
    assert numeric_matrix(np.ma.array(VALUES, mask=np.zeros((3, 2))))[0].tolist() == VALUES
    # Numbers are not copied.
    X = np.zeros((3, 2))
    frame = pd.DataFrame(X)
    assert np.shares_memory(numeric_matrix(X)[0], X)
    assert np.shares_memory(numeric_matrix(frame)[0], frame.to_numpy())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (Lazy(), r"X is lazy, a Lazy; give X\.collect\(\)"),
        (Graph(), r"X is lazy, a Graph; give X\.compute\(\)"),
        (Labelled(), "column 0 is labelled by a ChunkedArray"),
        (pd.DataFrame(VALUES, columns=pd.to_datetime(DAYS[:2])), "labelled by a Timestamp"),
        (pd.DataFrame(VALUES, columns=TUPLES), "by a tuple"),
        (pd.DataFrame(VALUES, columns=["Unnamed: 0", "a"]), "column 0 is called 'Unnamed: 0'"),
        (pa.table({"a": [1.0], "": [2.0]}), "column 1 has no name"),
        (pa.table({"a": [1.0], "b\x1b[31m": [2.0]}), r"column 1 must be .* got 'b\\x1b\[31m'"),
        (pa.table({"a": [1.0, None]}), r"row 1, column 0 \(a\) holds nan"),
        (pa.table({"a": [datetime.date(2020, 1, 1)]}), "column 'a' is of type date32.*leave them"),
        (pa.table({"a": ["SECRET"]}), "column 'a' is of type string; values must"),
        (pa.table({"a": [[1.0]]}), "column 'a' is of type list"),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), r"row 1, column 0 \(a\)"),
        (pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}), r"row 1, column 0 \(a\)"),
        (pd.DataFrame({"a": [True, None]}), r"row 1, column 0 \(a\) holds nothing"),
        (pd.DataFrame({"a": [1.0] * 3, "day": pd.to_datetime(DAYS)}), r"column 1 \(day\).*leave"),
        (pd.DataFrame({"a": pd.to_timedelta([1, None])}), r"column 0 \(a\).*leave them out"),
        (pd.DataFrame({"a": pd.period_range("2020", periods=2)}), r"column 0 \(a\).*leave them"),
        (pd.DataFrame({"a": [datetime.date(1950, 3, 4)]}), r"column 0 \(a\).*leave them out"),
        (pd.DataFrame({"a": pd.Categorical([1, 2])}), r"column 0 \(a\) is of type category"),
        (pd.DataFrame({"a": pd.Categorical(["SECRET"])}), r"row 0, column 0 \(a\) holds text"),
        (pd.DataFrame({"a": ["SECRET", "2"]}), r"row 0, column 0 \(a\) holds text"),
        (np.ma.array(VALUES, mask=np.eye(3, 2)), r"row 0, column 0 \(x0\) is masked"),
        ([np.ma.array([1.0, 2.0], mask=[0, 1])], r"row 0, column 1 \(x1\) is masked"),
        ([np.ma.array([1.0, 2.0]), np.ma.array([1.0])], "X must hold real numbers only"),
        ([[1.0, 2.0], np.ma.masked], "X must hold real numbers only|masked"),
        (np.array([DAYS[:2]], dtype="datetime64[D]"), r"X holds datetime64\[D\]; dates"),
        (np.array([[1]], dtype="timedelta64[s]"), r"X holds timedelta64\[s\]; dates"),
        ([[1.0, pd.NaT]], r"row 0, column 1 \(x1\) holds <NA>"),
        ([[1.0, pd.NA]], r"row 0, column 1 \(x1\) holds <NA>"),
        ([[1.0, None]], r"row 0, column 1 \(x1\) holds nothing"),
        ([["SECRET", "2"]], r"row 0, column 0 \(x0\) holds text"),
        ([[b"SECRET", 1.0]], r"row 0, column 0 \(x0\) holds a value of type bytes"),
        ([[datetime.date(1950, 3, 4)]], r"row 0, column 0 \(x0\) holds a date or a time"),
        ([[1j]], "complex128"),
        ([[10**400]], r"row 0, column 0 \(x0\) holds no finite number"),
        ([[10**5000]], r"row 0, column 0 \(x0\) holds no finite number"),
        (10**400, "X must be an array, got int"),
        (np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), "X must hold real numbers only"),
        (sparse.eye_array(2), r"X must be an array, got .*, give X\.toarray\(\)"),
        ([[1.0], [1.0, 2.0]], "X must hold real numbers only"),
        ([1.0], r"shape \(n, p\), got shape \(1,\)"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else type(value).__name__,
)
def test_what_only_looks_like_numbers_is_named_and_not_quoted(table: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        numeric_matrix(table)
    assert str(caught.value).isprintable()
    assert not any(secret in str(caught.value) for secret in ("SECRET", "1950", "1000"))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "y: row 1 is masked"),
        (np.array(DAYS[:2], dtype="datetime64[D]"), "y holds datetime64"),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], "row 0 holds a date"),
        (pd.Series([1, None], dtype="Int64"), "y must.* row 1 holds"),
        (pd.Series(pd.to_datetime(DAYS[1:])), "y holds datetime64"),
        (pa.chunked_array([[datetime.date(2020, 1, 1)] * 2]), "y holds datetime64"),
        (pa.array([1.0, None]), "y must be finite: row 1 holds nan"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_responses_and_classes_are_looked_at_too(y: Any, message: str, loss: str) -> None:
    public = {"support_size": 1, "x_bound": 1, "y_bound": 1, "coef_bound": 1, "ridge": 1}
    with pytest.raises(InvalidInput, match=message):
        Instance(np.eye(2), y, loss=loss, **public)


def test_text_is_a_class_and_no_number() -> None:
    assert plain_array(["u", "v"], "y").tolist() == ["u", "v"]
    with pytest.raises(InvalidInput, match="row 0 holds text"):
        numeric_vector(["1", "2"])
