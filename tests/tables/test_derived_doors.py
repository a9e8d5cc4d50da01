"""Derived features through every door: instances, blocks, moments, people, models in words."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect import Instance
from mipselect.tables import ModelTable, TableEquation, TableSchema, Term
from mipselect.tables.encoders import one as singular
from tests.support.derived_by_hand import (
    CLINIC,
    CLINIC_HOSTILE,
    CLINIC_ROWS,
    FIELDS,
    NAMES,
    moment,
    number,
)
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import map_table, public_map

SCHEMA = TableSchema.of(CLINIC)
MADE = {entry["name"]: entry for entry in CLINIC["mipselect:features"]}


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
        row += [born.strftime("%d.%m.%Y"), f"{rng.integers(24):02d}:15"]
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
        return moment(field, text)
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
    (X,) = read.batches(table)
    columns = public.target.offset + public.target.scale * (X.astype(float) @ coef + 0.3)
    found = [score(rule, row) for row in rows]
    np.testing.assert_allclose(found, columns, rtol=1e-5, atol=1e-4)
    whole = map_table(table.append_column(target, pa.array([cell] * len(rows))), SCHEMA, **question)
    np.testing.assert_array_equal(X, whole.X)


def test_a_unit_is_written_in_the_singular() -> None:
    plurals = {"years": "year", "days": "day", "degrees": "degree", "inches": "inch"}
    for unit, word in plurals.items() | {(u, u) for u in ("mmHg", "m/s", "Celsius", "glass", "ms")}:
        assert singular(unit) == word


def test_coefficients_are_reported_in_words_that_fit() -> None:
    public = public_map(SCHEMA, target="stay")
    model = ModelTable.of(SCHEMA, public, range(len(public.features)))
    rule = model.equation(np.ones(len(public.columns)), 0.0)
    meanings = [term.meaning for term in rule.terms]
    for words in (
        "per CHF of income",
        "per doubling of income",
        "per unit of √age",
        "per year of admission year",
        "month of birth is March and not January",
        "weekday is Sunday and not Monday",
        "hour is 7 and not 0",
        "root of visits is missing, compared with its middle",
    ):
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
    (X,) = model.batches(clinic(20).select(["sex", "visits", "income", "age"]))
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
