"""The public map by a map written by hand, one row at a time, and as a transformer."""

from __future__ import annotations

import csv
import decimal
import io
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from mipselect.errors import InvalidInput
from mipselect.regression import AdaSSPRegressor
from mipselect.selectors import SISSelector
from mipselect.tables import SchemaEncoder, TableSchema
from mipselect.tables.fields import field_of
from mipselect.tables.values import numbers
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import FeatureTable, map_table, public_map
from tests.support.one_row_at_a_time import HOSPITAL, HOSTILE, ROWS, mapped_row
from tests.support.patients import SCHEMA as OF_PATIENTS
from tests.support.patients import patients

SCHEMA = TableSchema.of(HOSPITAL)
NAMES = [field.name for field in SCHEMA.fields]


def csv_bytes(rows: list[list[str]], names: list[str] = NAMES) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")


def mapped(path: Path, content: bytes) -> FeatureTable:
    path.write_bytes(content)
    return map_table(path, SCHEMA, target="los_days")


def by_hand(row: list[str]) -> tuple[list[float], float]:
    return mapped_row(SCHEMA, dict(zip(NAMES, row, strict=True)), "los_days")


def only_row(i: int, before: FeatureTable, after: FeatureTable) -> None:
    assert before.X.shape == after.X.shape
    others = np.arange(len(before.y)) != i
    np.testing.assert_array_equal(before.X[others], after.X[others])
    np.testing.assert_array_equal(before.y[others], after.y[others])


def test_every_value_becomes_what_the_page_says(tmp_path: Path) -> None:
    rows = [*ROWS, *([value] * len(NAMES) for value in HOSTILE)]
    table = mapped(tmp_path / "t.csv", csv_bytes(rows))
    assert table.X.dtype == np.float32
    assert table.X.flags.c_contiguous
    for i, row in enumerate(rows):
        x, y = by_hand(row)
        np.testing.assert_array_equal(table.X[i], np.float32(x), err_msg=repr(row))
        assert table.y[i] == y, row


def test_names_groups_and_units(tmp_path: Path) -> None:
    table = mapped(tmp_path / "t.csv", csv_bytes(ROWS))
    assert table.feature_names == tuple(NAMES[:-1])
    assert table.groups == ((0, 1), (2, 3), (4,), (5, 6), (7, 8), (9, 10, 11, 12, 13, 14), (15, 16))
    assert table.public.protected_unit == "row"
    assert table.column_names[2:7] == (
        "sex=m",
        "sex=missing",
        "systolic",
        "smoker",
        "smoker=missing",
    )
    assert table.column_names[13:15] == ("icd='missing'", "icd=missing")
    systolic = table.public.columns[4]
    assert (systolic.scale, systolic.offset) == (60.0, 140.0)
    assert (table.public.target.scale, table.public.target.offset) == (30.0, 30.0)
    values = systolic.offset + systolic.scale * table.X[:3, 4]
    np.testing.assert_allclose(values, [140, 80, 200])


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_changes_its_row_only_and_raises_nothing(tmp_path: Path, value: str) -> None:
    before = mapped(tmp_path / "t.csv", csv_bytes(ROWS))
    for k in range(len(NAMES)):
        rows = [list(row) for row in ROWS]
        rows[2][k] = value
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            only_row(2, before, mapped(tmp_path / "u.csv", csv_bytes(rows)))


@given(
    low=st.floats(-1e25, 1e25),
    width=st.floats(1e-20, 1e25),
    values=st.lists(st.floats(), min_size=1, max_size=20),
)
def test_numbers_stay_in_their_norm(low: float, width: float, values: list[float]) -> None:
    ends = {"minimum": low, "maximum": min(low + width, 1e25)}
    schema = {"fields": [{"name": "a", "type": "number", "constraints": ends}]}
    schema["fields"].append({"name": "y", "type": "boolean"})
    source = pa.table({"a": values, "y": [True] * len(values)})
    middle = 0.5 * (low + ends["maximum"])
    if not low < middle < ends["maximum"]:
        with pytest.raises(InvalidInput, match=r"minimum must be below|too narrow"):
            map_table(source, TableSchema.of(schema), target="y")
        return
    table = map_table(source, TableSchema.of(schema), target="y")
    assert np.isfinite(table.X).all()
    assert (np.abs(table.X) <= 1.0).all()
    assert (np.linalg.norm(table.X.astype(float), axis=1) <= 1.0).all()
    rows = np.isfinite(values)
    inside = (np.array(values) >= ends["minimum"]) & (np.array(values) <= ends["maximum"])
    back = table.public.columns[0].offset + table.public.columns[0].scale * table.X[:, 0].astype(
        float
    )
    slack = 1e-6 * (abs(low) + width)
    assert np.allclose(back[rows & inside], np.array(values)[rows & inside], rtol=0, atol=slack)


@given(st.data())
def test_a_row_of_a_feature_has_norm_at_most_one(data: st.DataObject) -> None:
    cell = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5), st.floats().map(repr))
    row = [data.draw(cell).encode("utf-8", "replace").decode() for _ in NAMES]
    table = map_table(
        pa.table({name: [value] for name, value in zip(NAMES, row, strict=True)}),
        SCHEMA,
        target="los_days",
    )
    for group in table.groups:
        assert np.linalg.norm(table.X[0, list(group)].astype(float)) <= 1.0
    x, y = by_hand(row)
    np.testing.assert_array_equal(table.X[0], np.float32(x))
    assert table.y[0] == y


@given(st.lists(st.text(alphabet="0123456789.eE+-infatyINF x_\0", max_size=8), max_size=6))
def test_what_a_number_is_does_not_depend_on_its_company(texts: list[str]) -> None:
    field = field_of({"name": "a", "type": "number"}, ("",), "fields[0]")
    together = numbers(pa.array([*texts, "no number"]), field)[:-1]
    alone = [numbers(pa.array([text]), field)[0] for text in texts]
    by_python = [field.number(text) for text in texts]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, [np.nan if v is None else v for v in by_python])


WAYS: dict[str, Any] = {
    "int8": pa.array([1, 2, None, 4], pa.int8()),
    "uint64": pa.array([1, 2, None, 4], pa.uint64()),
    "half": pa.array(np.array([1, 2, np.nan, 4], np.float16)),
    "float": pa.array([1.0, 2.0, None, 4.0], pa.float32()),
    "double": pa.array([1.0, 2.0, float("nan"), 4.0]),
    "decimal": pa.array([decimal.Decimal("1.00"), decimal.Decimal(2), None, decimal.Decimal(4)]),
    "string": pa.array(["1", "2.0", None, " 4 "]),
    "large": pa.array(["1", "2", "", "4"], pa.large_string()),
    "view": pa.array(["1", "2", "", "4"]).cast(pa.string_view()),
    "bytes": pa.array([b"1", b"2", b"\xff", b"4"]),
    "dictionary": pa.array(["1", "2", None, "4"]).dictionary_encode(),
    "numbers by dictionary": pa.array([1, 2, None, 4]).dictionary_encode(),
}


@pytest.mark.parametrize("way", WAYS)
def test_how_a_column_is_stored_decides_nothing(way: str) -> None:
    schema = schema_of(
        numeric("as number", 0, 4),
        {"name": "as code", "type": "integer", "categories": [4, 1, 2]},
        listed("as text", "4", "1"),
        {"name": "as truth", "type": "boolean"},
        numeric("y", 1, 4),
    )
    names = [field.name for field in schema.fields]
    source = pa.table(dict.fromkeys(names, WAYS[way]))
    table = map_table(source, schema, target="y", never=["as text"])
    np.testing.assert_array_equal(table.X[:, :2], [[-0.5, 0], [0, 0], [0, 1], [1, 0]])
    codes = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    np.testing.assert_array_equal(table.X[:, 2:6], codes)
    np.testing.assert_array_equal(table.X[[0, 1, 3], 6], [1, 0, 0])
    np.testing.assert_allclose(table.y, [-1, -1 / 3, 0, 1])
    if way not in {"bytes", "string"}:  # There the values are other texts.
        texts = map_table(source, schema, target="y", never=names[:2])
        np.testing.assert_array_equal(texts.X[:, :2], [[1, 0], [0, 0], [0, 1], [-1, 0]])


NESTED = [
    pa.array([[1], [2], None]),
    pa.array([{"a": 1}, {"a": 2}, None]),
    pa.array([0, 10**6, None], pa.timestamp("us", "Europe/Zurich")),
    pa.array([0, 2**62, None], pa.timestamp("s")),
    pa.array([2**31 - 1, 0, None], pa.date32()),
    pa.array([1, 2, None], pa.duration("s")),
    pa.array([(1, 2, 3), None, None], pa.month_day_nano_interval()),
    pa.nulls(3),
    pa.array([True, False, None]),
    pa.array([10**38, 0, None], pa.decimal256(60, 0)),
]


@pytest.mark.parametrize("column", NESTED, ids=lambda column: str(column.type))
def test_no_type_of_column_raises(column: pa.Array) -> None:
    table = map_table(pa.table(dict.fromkeys(NAMES, column)), SCHEMA, target="los_days")
    assert np.isfinite(table.X).all()
    assert np.isfinite(table.y).all()
    assert (table.X[2, [1, 3, 6, 8]] == 1.0).all()


def test_classes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(csv_bytes(ROWS))
    table = map_table(path, SCHEMA, target="sex")
    assert table.public.target.classes == ("f", "m")
    assert table.y.tolist() == [-1, 1, 1, 0, 0, -1, 0]
    table = map_table(path, SCHEMA, target="smoker", always=["sex", "icd"], never=["dose"])
    assert table.public.target.classes == ("no", "yes")
    assert table.y.tolist() == [1, -1, -1, 0, 0, 1, 0]
    assert table.feature_names == ("age", "systolic", "nyha", "los_days")
    assert table.public.always_names == ("sex", "icd")
    assert table.always == tuple(range(7, 15))
    assert table.always_groups[0] == (7, 8)
    # Ranges of the question take the place of those of the schema.
    table = map_table(path, SCHEMA, target="los_days", ranges={"age": (0, 50), "los_days": (0, 10)})
    assert table.X[:3, 0].tolist() == [np.float32(-0.28), 1.0, 1.0]
    assert table.y[:3].tolist() == [-1, 1, 1]
    assert table.public.target.scale == 5.0


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"target": "los_day"}, "target: the schema has no field 'los_day'.*mean 'los_days'"),
        ({"target": "icd"}, "target 'icd' must be a number with a range.*5 categories"),
        ({"always": ["ages"]}, "always: the schema has no field 'ages'"),
        ({"always": "age"}, "always must be a list of field names, got 'age'"),
        ({"never": 5}, "never must be a list of field names, got 5"),
        ({"always": ["age"], "never": ["age"]}, "in always and in never: age"),
        ({"never": ["los_days"]}, "the target 'los_days' cannot be in never"),
        ({"never": NAMES[:-1]}, "no field to choose from"),
        ({"ranges": {"age": (3, 3)}}, "ranges: field age: a range must be lo < hi"),
        ({"ranges": {"age": (3,)}}, "must be two numbers"),
        ({"ranges": {"age": (0, float("nan"))}}, "must be a number between"),
        ({"ranges": {"sex": (0, 1)}}, "must be one of numbers without categories"),
        ({"ranges": {"age": (0, 1)}, "never": ["age"]}, "fields that are not used: age"),
        ({"unit_rule": "mean"}, "needs csvw-eo:privacyUnit"),
        ({"unit_rule": "middle"}, "unit_rule must be one of 'first', 'last', 'mean'"),
    ],
)
def test_a_wrong_question_is_one_line_before_a_row_is_read(
    question: dict[str, Any], message: str
) -> None:
    def rows() -> Any:
        raise AssertionError("a row was read")
        yield

    source = pa.RecordBatchReader.from_batches(
        pa.schema([(name, pa.string()) for name in NAMES]), rows()
    )
    with pytest.raises(InvalidInput, match=message) as caught:
        map_table(source, SCHEMA, **{"target": "los_days", **question})
    assert "\n" not in str(caught.value)


def test_fields_without_range_or_categories_are_refused_together() -> None:
    content = json.loads(json.dumps(HOSPITAL))
    del content["fields"][0]["constraints"]["maximum"]
    content["fields"] += [{"name": "note", "type": "string"}, {"name": "day", "type": "date"}]
    schema = TableSchema.of(content)
    with pytest.raises(InvalidInput) as caught:
        public_map(schema, target="los_days")
    message = str(caught.value)
    for part in ("'age' needs constraints.maximum", "'note' needs categories", "type date"):
        assert part in message
    public = public_map(schema, target="los_days", never=["note", "day"], ranges={"age": (0, 99)})
    assert len(public.features) == 7
    content["fields"][-2:] = [{"name": "icd=E", "type": "boolean"}]
    content["fields"][0]["constraints"]["maximum"] = 100
    with pytest.raises(InvalidInput, match="two columns would be called 'icd=E'"):
        public_map(TableSchema.of(content), target="los_days")


def test_a_category_with_many_levels_is_one_feature() -> None:
    levels = [f"c{k}" for k in range(200)]
    schema = schema_of(
        {"name": "a", "type": "string", "categories": levels},
        listed("one", "only"),
        {"name": "y", "type": "boolean"},
    )
    source = pa.table({"a": [*levels, "x", None], "one": ["only"] * 202, "y": [True] * 202})
    table = map_table(source, schema, target="y")
    assert len(table.groups[0]) == 201
    np.testing.assert_array_equal(table.X[:200, :200], np.eye(200))
    assert not table.X[200, :201].any()
    assert table.X[201, 200] == 1.0
    assert (table.X[:, 201] == 1.0).all()


BARE = schema_of({"name": "a", "type": "number"})
BY_WARD = TableSchema.of({**OF_PATIENTS.content, "csvw-eo:privacyUnit": "ward"})
COLUMNS = [
    *("age", "age=missing", "sex=m", "sex=missing"),
    *("ward=a", "ward=b", "ward=c", "ward=d", "ward=missing", "dose"),
]


def encoder(**more: Any) -> SchemaEncoder:
    return SchemaEncoder(OF_PATIENTS, **{"target": "stay", "never": ["died"], **more})


def same_bits(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> None:
    assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_it_is_the_map_of_tables() -> None:
    frame = patients(500)
    table = map_table(frame, OF_PATIENTS, target="stay", never=["died"])
    X = encoder().fit_transform(frame)
    same_bits(X, table.X)
    assert encoder().get_feature_names_out().tolist() == list(table.column_names) == COLUMNS
    assert list(encoder().groups.values()) == list(table.groups)
    assert list(encoder().groups) == list(table.feature_names)


ODD_ROWS = pd.DataFrame(
    {
        "age": [41.5, "x", None, np.inf, "-1e400", True, 10**30],
        "sex": ["f", 3, None, "NA", " m ", b"\xff", pd.NA],
        "ward": ["b", ["a"], 7.0, "", "d", np.nan, "missing"],
        "dose": [0.25, "NaN", "0,5", 1e308, -0.0, None, "1"],
    },
    dtype=object,
)


def test_every_row_is_mapped_by_itself_to_the_last_bit() -> None:
    frame = pd.concat([patients(40), ODD_ROWS], ignore_index=True)
    whole = encoder().fit(frame).transform(frame)
    for k in range(len(frame)):
        one = frame.iloc[[k]]
        same_bits(encoder().fit(one).transform(one), whole[[k]])
        # As pandas stores a row that comes alone: as numbers, where it can.
        same_bits(encoder().transform(one.infer_objects()), whole[[k]])


def test_what_it_was_fitted_on_makes_no_difference() -> None:
    frame = patients(50)
    one = encoder().fit(ODD_ROWS).transform(frame)
    same_bits(one, encoder().fit(frame.iloc[:0]).transform(frame))
    same_bits(one, encoder().transform(frame))


def test_in_a_pipeline_with_names_and_groups() -> None:
    frame = patients(4000).drop(columns="other")
    y = frame.pop("stay").astype(float)
    names = encoder().set_output(transform="pandas")
    assert names.fit_transform(frame.iloc[5:9]).index.tolist() == [5, 6, 7, 8]
    groups = encoder().groups
    always = [groups.pop("sex")]
    bounds = {"x_bound": 1.0, "y_bound": 60.0}
    selector = SISSelector(1, epsilon=50.0, groups=groups, always=always, **bounds)
    model = AdaSSPRegressor(epsilon=50.0, y_bound=60.0).for_features((2, 5))
    pipe = make_pipeline(encoder(), selector, model)
    pipe.fit(frame, y)
    assert pipe[:-1].get_feature_names_out().tolist() == COLUMNS[2:9]
    assert pipe.score(frame, y) > 0.5
    assert "SchemaEncoder" in pipe._repr_html_()


def test_clones_pickles_and_parameters() -> None:
    narrow = encoder()
    again = pickle.loads(pickle.dumps(clone(narrow)))
    assert again.get_params() == narrow.get_params()
    frame = patients(20)
    same_bits(again.transform(frame), narrow.transform(frame))
    fewer = clone(narrow).set_params(never=["died", "age"])
    assert fewer.transform(frame).shape[1] == len(COLUMNS) - 2
    every = SchemaEncoder(OF_PATIENTS).get_feature_names_out().tolist()
    assert every == [*COLUMNS, "stay", "stay=missing", "died", "died=missing"]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: SchemaEncoder("schema.json"), "schema must be a TableSchema"),
        (lambda: encoder(target="stey"), "did you mean 'stay'"),
        (lambda: encoder(never=["stay"]), "the target 'stay' cannot be in never"),
        (lambda: encoder(never="died"), "never must be a list of field names"),
        (lambda: encoder(never=["age", "sex", "ward", "dose", "died"]), "no field to choose from"),
        (lambda: SchemaEncoder(BARE), "'a' needs constraints.minimum and constraints.maximum"),
        (lambda: SchemaEncoder(BY_WARD, never=["ward"]), "makes one row of a person's"),
    ],
)  # fmt: skip
def test_refusals_name_what_would_be_right(made: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        made().fit(patients(5))
    with pytest.raises(InvalidInput, match=says):
        made().transform(patients(5))


@pytest.mark.parametrize("X", [np.zeros((3, 4)), [[1, 2]]], ids=["array", "lists"])
def test_arrays_have_no_names(X: Any) -> None:
    with pytest.raises(InvalidInput, match=r"a table must be a path.*got a (ndarray|list)"):
        encoder().fit(X)


def test_the_checks_of_scikit_learn_that_apply() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        schema = TableSchema.of_numbers({"x0": (-10.0, 10.0)})
        found: list[dict[str, Any]] = check_estimator(SchemaEncoder(schema), on_fail=None)
    assert {one["status"] for one in found} == {"passed"}
