"""Models in the units of a table: words of coefficients, values that a prediction replaces."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect.errors import InvalidInput
from mipselect.tables import ModelTable, TableSchema
from mipselect.tables.encoders import Scaled, equation, in_digits
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import public_map

SCHEMA = schema_of(
    {"name": "id", "type": "string"},
    numeric("age", 18, 100) | {"type": "integer"},
    listed("sex", "f", {"value": "m", "label": "male"}),
    {"name": "smoker", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
    {"name": "stage", "type": "integer", "categories": [1, 2, 4], "categoriesOrdered": True},
    listed("icd", "E", "I", "missing", "other"),
    numeric("dose", 0, 5, required=True, missingValues=["-9"], decimalChar=","),
    listed("ward", "x", "y", "z", constraints={"required": True}),
    numeric("stay", 0, 60),
    **{"missingValues": ["", "NA"], "csvw-eo:privacyUnit": "id"},
)


def model_of(
    schema: TableSchema, target: str, features: range | list[int] | None = None
) -> ModelTable:
    public = public_map(schema, target=target)
    return ModelTable.of(schema, public, features or range(len(public.features)))


def test_a_model_says_what_it_misses_before_a_row_is_read() -> None:
    def rows() -> Any:
        pytest.fail("a row was read")
        yield

    kinds = pa.schema([("age", pa.int64()), ("other", pa.int64())])
    with pytest.raises(InvalidInput, match="there is no column sex; columns: age, other"):
        model_of(SCHEMA, "stay", [0, 1]).batches(pa.RecordBatchReader.from_batches(kinds, rows()))


def test_terms_say_how_to_read_them() -> None:
    model = model_of(SCHEMA, "stay")
    assert ModelTable.from_dict(model.to_dict()).unit == "id"
    rule = model.equation(np.ones(len(model.column_names)), 0.0)
    meanings = [term.meaning for term in rule.terms]
    for words in (
        "per unit of age", "age is missing, compared with its middle", "sex is male and not f",
        "smoker is true and not false", "per step of stage, from 1 on", "icd is I and not E",
        "icd is missing and not E", "icd is missing, compared with E",
        "ward is in no list, compared with x",
    ):  # fmt: skip
        assert words in meanings
    assert all(math.isfinite(term.coefficient) for term in rule.terms)
    age = next(term for term in rule.terms if term.kind == "number")
    assert age.coefficient == pytest.approx(30.0 / 41.0)
    assert age.counts_as == 59.0
    assert json.loads(json.dumps(rule.to_dict()))["terms"][0]["meaning"] == "per unit of age"
    assert str(rule).splitlines()[0].startswith("stay = ")


@pytest.mark.parametrize(
    ("stated", "kept"),
    [
        ({}, False),
        ({"constraints": {}}, False),
        ({"constraints": {"required": False}}, True),
        ({"missingValues": ["NA", "-9"]}, True),
        ({"missingValues": []}, True),
    ],
)
def test_terms_of_missing_values_are_listed_where_the_schema_says_that_there_are_some(
    stated: dict[str, Any], kept: bool
) -> None:
    limits = {"minimum": 0, "maximum": 10}
    given = stated.get("constraints", {})
    fields = [
        {"name": "dose", "type": "number", **stated, "constraints": {**limits, **given}},
        {"name": "ward", "type": "string", "categories": ["a", "b", "c"], **stated},
        {"name": "sex", "type": "string", "categories": ["f", "m"], **stated},
        {"name": "y", "type": "number", "constraints": limits},
    ]
    schema = TableSchema.of({"missingValues": ["", "?"], "fields": fields})
    model = model_of(schema, "y")
    rule = model.equation(np.arange(1.0, 1.0 + len(model.column_names)), 0.0)
    assert len(rule.terms) == 8
    missing = [term for term in rule.terms if term.kind == "missing"]
    assert [term.aside for term in missing] == [not kept] * 3
    assert [t.field for t in rule.terms if t.kind == "in no list" and t.aside] == ["ward"]
    assert [term.aside for term in rule.terms if term.kind not in ("missing", "in no list")] == (
        [False] * 4
    )
    *lines, last = str(rule).splitlines()
    assert last.startswith(f"  and {1 if kept else 4} term")
    assert len(lines) == 1 + sum(not term.aside for term in rule.terms)
    # What is stored says it too.
    again = ModelTable.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.equation(np.ones(len(again.column_names)), 0.0).left_out == rule.left_out
    assert [term["aside"] for term in rule.to_dict()["terms"]] == [t.aside for t in rule.terms]


def test_a_target_of_ordered_categories_says_that_it_is_a_number() -> None:
    pain = {"name": "pain", "type": "integer", "categories": [3, 1, 2], "categoriesOrdered": True}
    schema = schema_of(numeric("dose", 0, 1), pain)
    rule = model_of(schema, "pain").equation([0.5, 0.0], 0.0)
    assert rule.places == ("3", "1", "2")
    assert rule.lines[0] == "pain from 0 (3) to 2 (2) = 0.5"
    assert rule.to_dict()["target_categories"] == ["3", "1", "2"]
    rule = model_of(schema, "dose").equation([0.5, 0.0], 0.0)
    assert (rule.places, rule.aim, rule.to_dict()["target_categories"]) == ((), "dose", None)
    # A rule without terms of missing values counts none.
    bare = TableSchema.of_numbers({"dose": (0.0, 1.0), "y": (0.0, 1.0)})
    rule = model_of(bare, "y").equation([1.0], 0.0)
    assert (rule.left_out, len(rule.lines)) == ("", 1 + len(rule.terms))


def test_odds_are_multiplied_by_the_exponential_of_a_coefficient() -> None:
    model = model_of(schema_of(numeric("dose", 0, 10), listed("ill", "no", "yes")), "ill")
    rule = model.equation([5.0, 0.0], 0.0, log_odds=True)
    assert [in_digits(ratio, 3) for ratio in (1.0, 1.0004, 0.9999957, 2.7182)] == [
        *("1", "1.0004", "0.999996", "2.72")
    ]
    assert rule.lines[:2] == ["log-odds of ill=yes = -5", "  +1  per unit of dose: odds × 2.72"]
    stored = rule.to_dict()
    assert stored["log_odds"] is True
    assert [term["odds_ratio"] for term in stored["terms"]] == [math.e, 1.0]
    plain = model.equation([5.0, 0.0], 0.0)
    assert plain.lines[0] == "score of ill=yes = -5"
    assert "odds_ratio" not in plain.to_dict()["terms"][0]
    huge = model.equation([1e9, 0.0], 0.0, log_odds=True)
    assert huge.to_dict()["terms"][0]["odds_ratio"] is None
    assert huge.lines[1] == "  +2e+08  per unit of dose"
    json.dumps(huge.to_dict(), allow_nan=False)


def test_labels_of_categories_are_the_words_of_their_terms() -> None:
    """Two categories of one label would be read as one; a label may hold what a terminal obeys."""
    smoking = [{"value": 1, "label": "never"}, {"value": 2}, {"value": 3, "label": "now\x07"}]
    asked = [{"value": "y", "label": "asked"}, {"value": "n", "label": "not asked"}]
    same = [{"value": "a", "label": "other"}, {"value": "b", "label": "other"}]
    schema = schema_of(
        {"name": "smoking", "type": "integer", "categories": smoking},
        {"name": "visit", "type": "string", "categories": asked},
        {"name": "same", "type": "string", "categories": same},
        numeric("y", 0, 2),
    )
    public = public_map(schema, target="y")
    rule = equation(public.encoders, public.target, [0.1] * len(public.columns), 0.0)
    meanings = [term.meaning for term in rule.terms]
    assert meanings[:2] == ["smoking is 2 and not never", r"smoking is now\x07 and not never"]
    assert "smoking is missing, compared with never" in meanings
    assert "visit is not asked and not asked" in meanings
    assert "same is b and not a" in meanings
    said = rule.to_dict()["terms"][0]
    assert (said["category"], said["reference"]) == ("2", "1")


OF_VALUES = schema_of(
    numeric("age", 0, 100),
    numeric("dose", 0, 100, required=True),
    {"name": "smoker", "type": "boolean"},
    listed("ward", "a", "b", "c"),
    {"name": "day", "type": "date"},
    numeric("y", 0, 100),
    missingValues=["", "NA"],
    **{"mipselect:features": [{"name": "month", "from": "day", "part": "month"}]},
)


FINE = {"age": "50", "dose": "5", "smoker": "true", "ward": "a", "day": "2020-01-31"}
MAP = public_map(OF_VALUES, target="y")
EVERYTHING = range(len(MAP.features))


def counts(model: ModelTable, *rows: dict[str, Any]) -> dict[str, dict[str, int]]:
    replaced = model.replaced()
    table = pa.Table.from_pylist([{**FINE, **row} for row in rows])
    for _ in model.batches(table, replaced):
        pass
    return {kind: found for kind, found in replaced.to_dict().items() if found}


def test_each_kind_is_counted_by_field() -> None:
    model = ModelTable.of(OF_VALUES, MAP, EVERYTHING)
    assert counts(model, {}, {"age": "NA"}, {"ward": ""}, {"smoker": None}, {"age": "100"}) == {}
    rows = [{"age": "62,5"}, {"dose": "five"}, {"dose": "?"}, {"day": "31.1.2020"}]
    assert counts(model, *rows) == {"unreadable": {"age": 1, "dose": 2, "day": 1}}
    assert counts(model, {"dose": ""}, {"dose": None}, {"age": ""}) == {"missing": {"dose": 2}}
    outside = [{"age": "100.5"}, {"age": "-1"}, {"dose": "1e999"}]
    assert counts(model, *outside) == {"outside": {"age": 2, "dose": 1}}
    # A missing category has a column, for the field does not require a value.
    unlisted = [{"smoker": "ja"}, {"ward": "z"}, {"ward": ""}, {"ward": None}]
    assert counts(model, *unlisted) == {"unlisted": {"smoker": 1, "ward": 1}}
    replaced = model.replaced()
    table = pa.Table.from_pylist([FINE | {"age": "200", "dose": "?"}] * 2 + [FINE | {"dose": "-1"}])
    list(model.batches(table, replaced))
    assert list(replaced.lines) == [
        "values that cannot be read count as missing: dose in 2 rows",
        "values outside of the range of the schema count as its nearest end: age in 2 rows, "
        "dose in 1 row",
    ]


def test_a_narrower_range_of_the_model_is_not_the_one_that_was_stated() -> None:
    age = MAP.features[0]
    assert isinstance(age, Scaled)
    narrow = replace(MAP, features=(replace(age, low=40.0, high=60.0), *MAP.features[1:]))
    model = ModelTable.of(OF_VALUES, narrow, EVERYTHING, stated=MAP)
    model = ModelTable.from_dict(model.to_dict())
    assert model.ranges["age"] == (40.0, 60.0)
    assert model.stated_ranges["age"] == (0.0, 100.0)
    assert counts(model, {"age": "30"}, {"age": "90"}) == {}
    assert counts(model, {"age": "30"}, {"age": "101"}) == {"outside": {"age": 1}}
    # A model of before does not say which range was stated.
    old = model.to_dict()
    del old["stated_ranges"]
    assert counts(ModelTable.from_dict(old), {"age": "1000"}) == {}
