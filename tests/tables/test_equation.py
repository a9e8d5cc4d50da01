"""Models in the units of a table: words of coefficients, values that a prediction replaces."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect.errors import InvalidInput
from mipselect.tables import ModelTable, TableSchema
from mipselect.tables.encoders import equation, in_digits
from mipselect.tables.mapping import mapped_batches
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
        mapped_batches(
            pa.RecordBatchReader.from_batches(kinds, rows()),
            model_of(SCHEMA, "stay", [0, 1]).public,
        )


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
    assert len(lines) == 2 + sum(not term.aside for term in rule.terms)
    # What is stored says it too.
    again = ModelTable.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.equation(np.ones(len(again.column_names)), 0.0).left_out == rule.left_out
    assert [term["aside"] for term in rule.to_dict()["terms"]] == [t.aside for t in rule.terms]


def test_a_target_of_ordered_categories_says_that_it_is_a_number() -> None:
    pain = {"name": "pain", "type": "integer", "categories": [3, 1, 2], "categoriesOrdered": True}
    schema = schema_of(numeric("dose", 0, 1), pain)
    rule = model_of(schema, "pain").equation([0.5, 0.0], 0.0)
    assert rule.places == ("3", "1", "2")
    assert rule.lines[:2] == ["pain from 0 (3) to 2 (2) = the sum of:", "  0.5  intercept"]
    assert rule.to_dict()["target_categories"] == ["3", "1", "2"]
    rule = model_of(schema, "dose").equation([0.5, 0.0], 0.0)
    assert (rule.places, rule.aim, rule.to_dict()["target_categories"]) == ((), "dose", None)
    # A rule without terms of missing values counts none.
    bare = TableSchema.of_numbers({"dose": (0.0, 1.0), "y": (0.0, 1.0)})
    rule = model_of(bare, "y").equation([1.0], 0.0)
    assert (rule.left_out, len(rule.lines)) == ("", 2 + len(rule.terms))


def test_odds_are_multiplied_by_the_exponential_of_a_coefficient() -> None:
    model = model_of(schema_of(numeric("dose", 0, 10), listed("ill", "no", "yes")), "ill")
    rule = model.equation([5.0, 0.0], 0.0)
    assert [in_digits(ratio, 3) for ratio in (1.0, 1.0004, 0.9999957, 2.7182)] == [
        *("1", "1.0004", "0.999996", "2.72")
    ]
    assert rule.lines[2] == "  +1  odds × 2.72  per unit of dose"
    stored = rule.to_dict()
    assert stored["log_odds"] is True
    assert [term["odds_ratio"] for term in stored["terms"]] == [math.e, 1.0]
    plain = equation(model.public.encoders, model.public.target, [5.0, 0.0], 0.0)
    assert plain.lines[0] == "score of ill=yes = the sum of:"
    assert "odds_ratio" not in plain.to_dict()["terms"][0]
    huge = model.equation([1e9, 0.0], 0.0)
    assert huge.to_dict()["terms"][0]["odds_ratio"] is None
    assert huge.lines[2] == "  +2e+08  per unit of dose"
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
