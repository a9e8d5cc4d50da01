"""A field that is the survey weight: what a schema may say of it, and what a value becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect import Instance
from mipselect.errors import InvalidInput
from mipselect.tables import SchemaEncoder, TableSchema
from mipselect.tables.public_map import TableQuestion
from tests.support.mapped_tables import map_table, public_map

UNIT = {"minimum": -1, "maximum": 1}
W: dict[str, Any] = {
    "name": "w",
    "type": "number",
    "mipselect:role": "weight",
    "constraints": {"maximum": 4},
}
A, Y = ({"name": name, "type": "number", "constraints": UNIT} for name in ("a", "y"))


def schema(*weights: dict[str, Any], **more: Any) -> TableSchema:
    return TableSchema.of({"fields": [A, *weights, Y], **more})


VALUES = {
    "0": 0.0,
    "4": 1.0,
    "1": 0.25,
    " 3 ": 0.75,
    "4.0000001": 1.0,
    "1e999": 1.0,
    "inf": 1.0,
    "1e300": 1.0,
    "-1": 0.0,
    "-inf": 0.0,
    "-1e-300": 0.0,
    "5e-324": 0.0,
    "1e-300": 2.5e-301,
    "": 0.0,
    "nan": 0.0,
    "much": 0.0,
    "NA": 0.0,
    "true": 0.25,
}
"""What the texts of a weight of at most 4 count."""


def test_values_one_by_one() -> None:
    rows = pa.table({"a": [0.0] * len(VALUES), "w": list(VALUES), "y": [0.5] * len(VALUES)})
    table = map_table(rows, schema(W), target="y")
    np.testing.assert_array_equal(table.weights, list(VALUES.values()))
    assert table.column_names == ("a", "a=missing")
    assert table.public.weight_name == "w"
    for text, share in VALUES.items():
        alone = pa.table({"a": [0.0], "w": [text], "y": [0.5]})
        assert map_table(alone, schema(W), target="y").weights.tolist() == [share]


def test_its_missing_values_and_its_decimal_comma() -> None:
    german = {**W, "missingValues": ["-9", "3,5"], "decimalChar": ","}
    rows = pa.table({"a": [0.0] * 4, "w": ["1,5", "-9", "3,5", "2"], "y": [0.0] * 4})
    found = map_table(rows, schema(german), target="y").weights
    assert found.tolist() == [0.375, 0.0, 0.0, 0.5]


def test_nothing_else_of_a_row_and_no_other_row_depends_on_a_weight() -> None:
    texts = list(VALUES)
    base = pa.table({"a": [0.1] * len(texts), "w": texts, "y": [0.5] * len(texts)})
    before = map_table(base, schema(W), target="y")
    for k in range(len(texts)):
        for odd in (None, "1e999", "x", "2"):
            changed = base.set_column(1, "w", pa.array([*texts[:k], odd, *texts[k + 1 :]]))
            after = map_table(changed, schema(W), target="y")
            assert (before.X == after.X).all()
            assert (before.y == after.y).all()
            others = np.arange(len(texts)) != k
            assert (before.weights[others] == after.weights[others]).all()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("first", [0.25, 0.0, 0.5]), ("last", [0.75, 1.0, 0.5]), ("mean", [0.5, 1.0, 0.5])],
)
def test_a_rule_of_people_takes_a_weight_as_a_number(rule: str, expected: list[float]) -> None:
    """The mean is over the rows where there is a weight, clipped before."""
    person = {"name": "who", "type": "string"}
    known = TableSchema.of({"csvw-eo:privacyUnit": "who", "fields": [person, A, W, Y]})
    rows = pa.table(
        {
            "who": ["p", "q", "p", "r", "q"],
            "a": [0.1, 0.2, 0.3, 0.4, 0.5],
            "w": ["1", "NA", "3", "2", "9"],
            "y": [0.0] * 5,
        }
    )
    found = map_table(rows, known, target="y", unit_rule=rule)
    in_order = [0, 2, 1] if rule == "last" else [0, 1, 2]
    assert found.weights.tolist() == [expected[k] for k in in_order]
    assert len(found.X) == 3


def test_an_encoder_and_a_model_leave_it_out() -> None:
    encoder = SchemaEncoder(schema(W), target="y")
    assert encoder.get_feature_names_out().tolist() == ["a", "a=missing"]
    frame = pd.DataFrame({"a": [0.5]})
    assert encoder.transform(frame).tolist() == [[0.5, 0.0]]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([{**W, "constraints": {}}], r"fields\[1\] \(field w\): .*constraints.maximum above 0"),
        ([{**W, "constraints": {"maximum": 0}}], "above 0: .* got 0"),
        ([{**W, "constraints": {"maximum": -2}}], "above 0"),
        ([{**W, "constraints": {"minimum": -1, "maximum": 2}}], "minimum of a weight must be 0"),
        ([{**W, "constraints": {"maximum": 1e-30}}], "constraints.maximum of the weight"),
        ([{**W, "type": "string"}], "type number or integer, without categories; got type string"),
        ([{**W, "type": "boolean"}], "got type boolean"),
        ([{**W, "categories": [1, 2]}], "with categories"),
        ([W, {**W, "name": "v"}], r"fields\[2\].mipselect:role: one field may be the weight"),
        ([{**W, "mipselect:role": "wait"}], "role"),
    ],
)
def test_schemas_that_are_refused(weights: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        schema(*weights)


def test_a_weight_names_nobody() -> None:
    with pytest.raises(InvalidInput, match="says whose row it is and cannot be the weight"):
        schema(W, **{"csvw-eo:privacyUnit": "w"})


@pytest.mark.parametrize(
    "question", [{"target": "w"}, {"target": "y", "always": ["w"]}, {"target": "y", "never": ["w"]}]
)
def test_a_weight_is_nothing_else(question: dict[str, Any]) -> None:
    asked = TableQuestion(schema(W), **question)
    for made in (lambda: asked.public, lambda: asked.without_ranges):
        with pytest.raises(InvalidInput, match="'w' is the survey weight"):
            made()


def test_a_range_of_the_question_is_no_maximum() -> None:
    with pytest.raises(InvalidInput, match="ranges: fields that are not used: w"):
        public_map(schema(W), target="y", ranges={"w": (0, 9)})


def test_a_minimum_changes_nothing() -> None:
    """A weight below its minimum counts as it is, and one that is missing 0."""
    above = {**W, "constraints": {"minimum": 1, "maximum": 4}}
    rows = pa.table({"a": [0.0] * 3, "w": [0.5, None, 8.0], "y": [0.0] * 3})
    assert map_table(rows, schema(above), target="y").weights.tolist() == [0.125, 0.0, 1.0]


def test_doors_that_make_no_use_of_a_weight_refuse_it() -> None:
    rows = pa.table({"a": [0.0, 0.5], "w": [1.0, 2.0], "y": [0.0, 0.5]})
    with pytest.raises(InvalidInput, match="score 'blocks', which is the default then"):
        Instance.from_table(rows, schema(W), target="y", support_size=1, score="block-r2")
