"""Derived features: what each value becomes, by a map written by hand, through every door."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mipselect import Instance
from mipselect.errors import InferredTypesWarning, InvalidInput
from mipselect.tables import ModelTable, TableEquation, TableSchema, Term
from mipselect.tables.encoders import one as singular
from mipselect.tables.fields import field_of
from mipselect.tables.mapping import mapped_batches, open_table, read_rows
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.schema import NO_POINT, seconds
from mipselect.tables.values import MISSING, UNLISTED, arrow_cells, codes
from tests.support.derived_by_hand import (
    CLINIC,
    CLINIC_HOSTILE,
    CLINIC_ROWS,
    FIELDS,
    NAMES,
    derived_row,
    moment,
    number,
)
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import map_table, public_map

SCHEMA = TableSchema.of(CLINIC)
MADE = {entry["name"]: entry for entry in CLINIC["mipselect:features"]}
Rows = list[list[str]]


def table_of(rows: Rows) -> pa.Table:
    return pa.table({name: [row[k] for row in rows] for k, name in enumerate(NAMES)})


def derived_columns(rows: Rows) -> dict[str, np.ndarray[Any, Any]]:
    table = map_table(table_of(rows), SCHEMA, target="stay")
    groups = zip(table.feature_names, table.groups, strict=True)
    return {name: table.X[:, list(group)] for name, group in groups if name in MADE}


def agree_with_the_hand(rows: Rows) -> None:
    found = derived_columns(rows)
    assert list(found) == list(MADE)
    for name, columns in found.items():
        for i, row in enumerate(rows):
            by_hand = derived_row(MADE[name], dict(zip(NAMES, row, strict=True)))
            np.testing.assert_allclose(
                columns[i], by_hand, rtol=1e-6, atol=1e-7, err_msg=f"{name}: {row}"
            )
        assert (np.linalg.norm(columns.astype(float), axis=1) <= 1.0).all(), name


def test_every_value_becomes_what_the_page_says() -> None:
    agree_with_the_hand(CLINIC_ROWS + [[value] * len(NAMES) for value in CLINIC_HOSTILE])


@pytest.mark.deep
@given(st.data())
def test_odd_rows_become_what_the_page_says(data: st.DataObject) -> None:
    dates = st.dates().map(str) | st.datetimes().map(lambda t: t.isoformat())
    cell = st.one_of(
        st.sampled_from([*CLINIC_HOSTILE, *(v for row in CLINIC_ROWS for v in row)]),
        dates,
        st.times().map(str),
        st.floats(-1e3, 1e6).map(repr),
        st.text(max_size=4).filter(lambda t: "\0" not in t),
    )
    row = [data.draw(cell).encode("utf-8", "replace").decode() for _ in NAMES]
    agree_with_the_hand([row])


def test_fields_of_dates_are_read_and_are_no_features() -> None:
    content = {**CLINIC, "mipselect:features": CLINIC["mipselect:features"][:2]}
    for schema, question, message in (
        (TableSchema.of(content), {"target": "stay"}, "admitted.*type datetime is used"),
        (SCHEMA, {"target": "stay", "always": ["admitted"]}, "always: 'admitted' .*"),
        (SCHEMA, {"target": "admitted"}, ""),
    ):
        with pytest.raises(InvalidInput, match=f"{message} through mipselect:features"):
            public_map(schema, **question)


def test_what_is_made_of_the_target_is_left_out() -> None:
    names = {e.field.name for e in public_map(SCHEMA, target="age").features}
    assert not names & {"age", "root of age"}
    assert {"log income", "root of visits"} <= names
    public = public_map(SCHEMA, target="log income", ranges={"log income": (2, 9)})
    assert "income" not in {e.field.name for e in public.features}
    assert (public.target.scale, public.target.offset) == (3.5, 5.5)
    with pytest.raises(InvalidInput, match="'income' is made of what the target 'log income'"):
        public_map(SCHEMA, target="log income", always=["income"])
    table = map_table(table_of(CLINIC_ROWS), SCHEMA, target="log income")
    assert table.y[:2].tolist() == pytest.approx([-1.0, 1.0])
    with pytest.raises(InvalidInput, match="12 categories without an order"):
        public_map(SCHEMA, target="month of birth")
    # A feature may be made of a field that is never one.
    names = {e.field.name for e in public_map(SCHEMA, target="stay", never=["income"]).features}
    assert names & {"income", "log income"} == {"log income"}


def test_ranges_of_the_question_are_of_the_feature_that_they_name() -> None:
    ranges = {"age": (30.0, 70.0), "log income": (3.0, 9.0)}
    public = public_map(SCHEMA, target="stay", ranges=ranges)
    encoders = {encoder.field.name: encoder for encoder in public.encoders}
    assert (encoders["age"].low, encoders["age"].high) == (30.0, 70.0)  # type: ignore[attr-defined]
    assert encoders["root of age"].low == 4.0  # type: ignore[attr-defined]
    assert encoders["log income"].high == 9.0  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match="must be one of numbers"):
        public_map(SCHEMA, target="stay", ranges={"weekday": (0, 1)})


def test_without_ranges_numbers_are_as_they_are() -> None:
    content = json.loads(json.dumps(CLINIC))
    for field in content["fields"]:
        for end in ("minimum", "maximum") if field["name"] != "stay" else ():
            field.get("constraints", {}).pop(end, None)
    content["mipselect:features"] = [
        {"name": "log income", "from": "income", "transform": "log"},
        {"name": "root", "from": "visits", "transform": "sqrt"},
        {"name": "year", "from": "admitted", "part": "year"},
    ]
    schema = TableSchema.of(content)
    with pytest.raises(InvalidInput) as refused:
        public_map(schema, target="stay", never=["born", "at"])
    for words in (
        "'log income' needs a range of income, or minimum and maximum of its own",
        "'year' needs minimum and maximum of its own",
    ):
        assert words in str(refused.value)
    public = TableQuestion(schema, "stay", never=["born", "at"]).without_ranges
    rows = [
        ["50", "0", "-1", "yes", "m", "1", "E", "2010-07-02", "", "00:00", "1"],
        ["70", "1e999", "9", "no", "m", "1", "I", "x", "", "00:00", "1"],
        ["", "1", "4", "yes", "f", "1", "", "2010-07-02", "", "00:00", "1"],
        ["1e200", "2", "1e200", "yes", "m", "1", "E", "2010-07-02", "", "00:00", "1"],
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", InferredTypesWarning)  # It is of types.
        X, _, _ = read_rows(open_table(table_of(rows), public), public)
    columns = {c.name: X[:, j].tolist() for j, c in enumerate(public.columns)}
    nan = math.nan
    for name, expected in {
        # Below the domain, and beyond all numbers, a value is missing.
        "log income": [nan, nan, 0.0, math.log(2)],
        "root": [nan, 3.0, 2.0, 1e100],
        "root=missing": [1.0, 0.0, 0.0, 0.0],
        "year": [2010.0, nan, 2010.0, 2010.0],
    }.items():
        np.testing.assert_array_equal(columns[name], expected, err_msg=name)


def test_every_way_to_store_a_moment_gives_the_same() -> None:
    field = field_of({"name": "t", "type": "datetime"}, ("", "1900-01-01"), "fields[0]")
    texts = ["2020-01-31T12:30:01.5", "0001-01-01", "1900-01-01", "x", None, "1969-12-31T23:59"]
    expected = [1580473801, -62135596800, NO_POINT, NO_POINT, NO_POINT, -60]
    known = np.array(["2020-01-31T12:30:01.5", "0001-01-01", "1900-01-01", "NaT", "NaT",
                      "1969-12-31T23:59"], dtype="datetime64[ms]")  # fmt: skip
    stored: list[Any] = [
        pa.array(texts),
        pa.array([None if t is None else t.encode() for t in texts]),
        pa.array(texts).dictionary_encode(),
        *(pa.array(known.astype(f"datetime64[{unit}]")) for unit in ("ms", "us")),
        pa.array(known).cast(pa.timestamp("us", "Europe/Zurich")),
        pa.array(known).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4, 5, 6], pa.array(known)),
    ]
    for column in stored:
        assert seconds(column, field).tolist() == expected, column.type
    days = pa.array(known).cast(pa.date32(), safe=False)
    for column in (days, days.cast(pa.date64())):
        found = seconds(column, field)
        assert found.tolist()[:3] == [1580428800, -62135596800, NO_POINT]
    extremes = pa.array([2**63 - 1, -(2**63), -(2**63) + 1, 253402300799, 253402300800])
    for unit in ("s", "ms", "us", "ns"):
        found = seconds(extremes.cast(pa.timestamp(unit)), field).tolist()
        if unit == "s":
            assert found == [NO_POINT, NO_POINT, NO_POINT, 253402300799, NO_POINT]
    beyond = pa.array([2**31 - 1, -(2**31), 2_932_896, 2_932_897], pa.int32()).cast(pa.date32())
    assert (seconds(beyond, field) == NO_POINT).tolist() == [True, True, False, True]
    for column in (pa.array([1.5, 20200131.0]), pa.array([True, None]), pa.array([[1], None])):
        assert (seconds(column, field) == NO_POINT).all()
    assert (seconds(pa.array([5], pa.time32("s")), field) == NO_POINT).all()


ZONED = [
    pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "Asia/Tokyo")
]
DAYTIMES = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
KINDS = [
    *(pa.date32(), pa.date64(), *DAYTIMES, *ZONED, pa.duration("s"), pa.int64(), pa.uint64()),
    *(pa.float32(), pa.float64(), pa.decimal128(38, 2)),
]
WRAPPED: dict[str, Any] = {
    "plain": lambda column: column,
    "dictionary": lambda column: column.dictionary_encode(),
    "run ends": lambda column: pa.RunEndEncodedArray.from_arrays(
        list(range(1, len(column) + 1)), column
    ),
}


def odd_values(kind: Any) -> pa.Array:
    """Values of a type that are small, extreme, beyond its meaning or none."""
    if pa.types.is_floating(kind):
        odd = [0.0, -0.0, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 0.5, None]
        return pa.array(odd, pa.float64()).cast(kind, safe=False)
    if pa.types.is_decimal(kind) or pa.types.is_unsigned_integer(kind):
        return pa.array([0, 1, 10**19 if kind == pa.uint64() else -(10**30), None], kind)
    store = pa.int32() if kind.bit_width == 32 else pa.int64()
    most = 2 ** (kind.bit_width - 1)
    return pa.array([0, -1, 1, -most, most - 1, 86_400, 86_399_999, None], store).view(kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_odd_rows_of_any_type_change_no_other_row(kind: Any, wrapped: str) -> None:
    calm = odd_values(kind).take(pa.array([0, 2, 1]))
    tables = []
    for column in (calm, pa.concat_arrays([calm, odd_values(kind)])):
        try:
            stored = WRAPPED[wrapped](column)
        except pa.ArrowInvalid:  # PyArrow refuses to store such times of day.
            return
        columns = {**dict.fromkeys(NAMES, stored), "stay": pa.array(["1"] * len(column))}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", InferredTypesWarning)  # It is of types.
            found = [map_table(pa.table(columns), SCHEMA, target="stay").X]
            public = TableQuestion(SCHEMA, "stay").without_ranges
            found.append(read_rows(open_table(pa.table(columns), public), public)[0])
        tables.append(np.hstack(found))
    before, after = tables
    np.testing.assert_array_equal(before, after[:3])
    for block in public_map(SCHEMA, target="stay").blocks:
        lengths = (after[:, block.start : block.stop].astype(float) ** 2).sum(axis=1)
        assert (lengths <= 1.0).all()


def test_a_time_of_day_is_no_text_however_it_is_stored() -> None:
    times = [datetime.time(7), datetime.time(7, 30), None]
    field = field_of({"name": "t", "type": "string", "categories": ["07:00"]}, ("",), "fields[0]")
    seconds_only = pa.array([25_200, 27_000, None], pa.int32()).cast(pa.time32("s"))
    for column in (
        pa.array(times),
        pa.array(times, pa.time64("ns")),
        arrow_cells(times),
        seconds_only,
    ):
        assert codes(column, field).tolist() == [UNLISTED, UNLISTED, MISSING], column.type


def clinic(n: int, seed: int = 0) -> pa.Table:
    """Rows of texts, a few of them odd."""
    rng = np.random.default_rng(seed)
    odd = [value for value in CLINIC_HOSTILE if value != "\0"]
    rows = []
    for _ in range(n):
        day = np.datetime64("2010-01-01T00:30") + np.timedelta64(int(rng.integers(10**6)), "m")
        born = pd.Timestamp("1950-01-01") + pd.Timedelta(days=int(rng.integers(20_000)))
        row = [str(rng.integers(18, 101)), f"{rng.lognormal(8, 1):.2f}", str(rng.integers(51))]
        row += [str(rng.choice(["yes", "no"])), str(rng.choice(["f", "m"]))]
        row += [str(rng.choice([1, 2, 4])), str(rng.choice(["E", "I", "missing"])), str(day)]
        row += [born.strftime("%Y-%m-%d"), f"{rng.integers(24):02d}:15"]
        row.append(f"{rng.uniform(0, 60):.1f}")
        for k in np.flatnonzero(rng.random(len(row)) < 0.05):
            row[k] = odd[int(rng.integers(len(odd)))]
        rows.append(row)
    return pa.table({name: [row[k] for row in rows] for k, name in enumerate(NAMES)})


def score(rule: TableEquation, row: dict[str, str]) -> float:
    """What a reader of the equation makes of raw texts, knowing the schema alone."""
    return rule.intercept + sum(t.coefficient * _multiplier(t, row) for t in rule.terms)


def _multiplier(term: Term, row: dict[str, str]) -> float:
    entry = MADE.get(term.field, {"from": term.field})
    field = FIELDS[entry["from"]]
    value = _value(field, row[field["name"]])
    required = field.get("constraints", {}).get("required", False)
    levels = ["false", "true"] if field["type"] == "boolean" else field.get("categories", [])
    unlisted = bool(levels) and value is not None and value not in levels
    if term.kind == "missing":
        return float(value is None and not required)
    if term.kind == "in no list":
        return float(unlisted or (value is None and required))
    if value is None or unlisted:
        return 0.0 if term.counts_as is None else term.counts_as
    if levels:
        place = levels.index(value)
        return float(place if term.kind == "ordered categories" else levels[place] == term.category)
    if "part" in entry:
        parts = {
            "year": lambda at: at.year,
            "month": lambda at: f"{at:%B}",
            "weekday": lambda at: f"{at:%A}",
            "hour": lambda at: str(at.hour),
        }
        found = parts[entry["part"]](value)
        if term.kind == "category":
            return float(found == term.category)
        return float(np.clip(found, entry["minimum"], entry["maximum"]))
    low, high = field["constraints"]["minimum"], field["constraints"]["maximum"]
    if entry.get("transform") == "sqrt":
        low, high = entry.get("minimum", math.sqrt(low)), entry.get("maximum", math.sqrt(high))
        return float(np.clip(math.sqrt(max(value, 0.0)), low, high))
    value = min(max(value, low), high)
    return math.log2(value) if "transform" in entry else value


def _value(field: dict[str, Any], text: str) -> Any:
    if field["type"] in ("date", "datetime"):
        return moment(text)
    if field["type"] in ("integer", "number"):
        return number(text)
    text = text.strip()
    if field["type"] == "boolean":
        truths = {"yes": "true", "1": "true", "no": "false", "0": "false"}
        text = truths.get(text, text)
    return None if text in CLINIC["missingValues"] else text


@pytest.mark.parametrize(("target", "cell"), [("stay", "1"), ("smoker", "yes")])
def test_the_equation_in_words_gives_what_the_columns_give(target: str, cell: str) -> None:
    question = {"target": target, "always": ["root of visits", "sex"]}
    public = public_map(SCHEMA, **question)
    model = ModelTable.of(SCHEMA, public, range(len(public.features)))
    read = ModelTable.from_dict(json.loads(json.dumps(model.to_dict())))
    assert read == model
    assert read.public == model.public
    coef = np.random.default_rng(1).normal(size=len(read.column_names))
    rule = read.equation(coef, 0.3)
    assert rule.classes == (("no", "yes") if target == "smoker" else None)
    rows = [dict(zip(NAMES, row, strict=True)) for row in CLINIC_ROWS]
    rows += [dict.fromkeys(NAMES, value) for value in CLINIC_HOSTILE]
    rows += clinic(50).to_pylist()
    # Neither the target nor other columns need be there.
    table = pa.table({name: [row[name] for row in rows] for name in NAMES if name != target})
    (X,) = mapped_batches(table, read.public)
    columns = public.target.offset + public.target.scale * (X.astype(float) @ coef + 0.3)
    found = [score(rule, row) for row in rows]
    np.testing.assert_allclose(found, columns, rtol=1e-5, atol=1e-4)
    whole = map_table(table.append_column(target, pa.array([cell] * len(rows))), SCHEMA, **question)
    np.testing.assert_array_equal(X, whole.X)


def test_coefficients_are_reported_in_words_that_fit() -> None:
    public = public_map(SCHEMA, target="stay")
    model = ModelTable.of(SCHEMA, public, range(len(public.features)))
    rule = model.equation(np.ones(len(public.columns)), 0.0)
    meanings = [term.meaning for term in rule.terms]
    plurals = {"years": "year", "days": "day", "degrees": "degree", "inches": "inch"}
    for unit, word in plurals.items() | {(u, u) for u in ("mmHg", "m/s", "Celsius", "glass", "ms")}:
        assert singular(unit) == word
    for words in (
        "per CHF of income", "per doubling of income", "per unit of √age",
        "per year of admission year", "month of birth is March and not January",
        "weekday is Sunday and not Monday", "hour is 7 and not 0",
        "root of visits is missing, compared with its middle",
    ):  # fmt: skip
        assert words in meanings, words
    listed = [term.field for term in rule.terms if term.kind == "in no list"]
    # A value that is no date is missing, and in no list only where one is required.
    assert "time of day" in listed
    assert not set(listed) & {"month of birth", "weekday", "hour"}
    stored = json.loads(json.dumps(rule.to_dict()))["terms"]
    assert {"field", "kind", "coefficient", "meaning", "unit"} <= set(stored[0])
    log = next(t for t in rule.terms if t.kind == "doubling")
    assert log.coefficient == pytest.approx(30.0 / (0.5 * math.log(1000)) * math.log(2))
    assert model.ranges["root of visits"] == (0.0, math.sqrt(50.0))


def test_a_model_keeps_what_it_reads_and_the_ranges_of_features_apart() -> None:
    schema = TableSchema.of({**CLINIC, "title": "kept nowhere"})
    question = {"target": "stay", "always": ["sex"], "ranges": {"age": (30.0, 50.0)}}
    public = public_map(schema, **question)
    names = ["age", "root of visits", "log income"]
    kept = [k for k, e in enumerate(public.features) if e.field.name in names]
    stored = ModelTable.of(schema, public, kept).to_dict()
    assert not any(word in json.dumps(stored) for word in ("nowhere", "smoker", "icd", "weekday"))
    model = ModelTable.from_dict(stored)
    assert (model.target, model.always, model.unit) == ("stay", ("sex",), "row")
    assert model.ranges["age"] == (30.0, 50.0)
    assert model.ranges["log income"] == (math.log(100.0), math.log(1e5))
    assert model.sources == ("income", "visits")
    (X,) = mapped_batches(clinic(20).select(["sex", "visits", "income", "age"]), model.public)
    whole = map_table(clinic(20), schema, **question)
    columns = [whole.column_names.index(name) for name in model.column_names]
    np.testing.assert_array_equal(X, whole.X[:, columns])


TWO = schema_of(
    numeric("a", 1, 9),
    listed("b", "x", "y"),
    {"name": "t", "type": "date"},
    numeric("y", 0, 1),
    **{
        "mipselect:features": [
            {"name": "root", "from": "a", "transform": "sqrt"},
            {"name": "log", "from": "a", "transform": "log"},
            {"name": "year", "from": "t", "part": "year", "minimum": 2019, "maximum": 2020},
            {"name": "month", "from": "t", "part": "month"},
        ]
    },
)


@pytest.mark.deep
def test_the_sensitivity_is_the_formula_and_is_attained() -> None:
    """By every support and every pair of extreme rows of a small table."""

    def instance(rows: list[tuple[Any, ...]]) -> Instance:
        columns = zip(("a", "b", "t", "y"), zip(*rows, strict=True), strict=True)
        return Instance.from_table(
            pa.table({name: list(cells) for name, cells in columns}), TWO, target="y",
            never=["a", "b"], support_size=1, intercept=False, coef_bound=1.0, ridge=1e-3,
        )  # fmt: skip

    values = itertools.product(("1", "9", "5"), ("x", "y"), ("2020-01-31", "2019-03-01"), (0, 1))
    extreme = list(values)
    rest = [("9", "y", "2020-01-01", 1)] * 3
    before = instance([*rest, ("9", "y", "2020-01-31", 1)])
    delta = before.sensitivity
    assert delta == pytest.approx((1.0 + 1.0) ** 2 / (2 * 4))
    assert before.feature_names == ("root", "log", "year", "month")
    supports = [(j,) for j in range(4)]
    largest = np.zeros(4)
    for one, other in itertools.product(extreme, extreme):
        pair = [instance([*rest, row]).objectives(supports) for row in (one, other)]
        largest = np.maximum(largest, np.abs(pair[0] - pair[1]))
    assert (largest <= delta * (1 + 1e-9)).all()
    # Every kind of feature comes near the bound: a row of length 1 that is told wrong.
    assert (largest > 0.4 * delta).all()
