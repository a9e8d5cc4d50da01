"""Values that a prediction replaces by others are counted, by kind and field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from mipselect.tables import ModelTable, TableSchema
from mipselect.tables.encoders import Scaled
from tests.support.fields import listed
from tests.support.mapped_tables import public_map

NUMBER = {"type": "number", "constraints": {"minimum": 0, "maximum": 100}}
SCHEMA = TableSchema.of(
    {
        "missingValues": ["", "NA"],
        "fields": [
            {"name": "age", **NUMBER},
            {"name": "dose", "type": "number", "constraints": {**NUMBER["constraints"],  # type: ignore[dict-item]
                                                               "required": True}},
            {"name": "smoker", "type": "boolean"},
            listed("ward", "a", "b", "c"),
            {"name": "day", "type": "date"},
            {"name": "y", **NUMBER},
        ],
        "mipselect:features": [{"name": "month", "from": "day", "part": "month"}],
    }
)  # fmt: skip
FINE = {"age": "50", "dose": "5", "smoker": "true", "ward": "a", "day": "2020-01-31"}
PUBLIC = public_map(SCHEMA, target="y")
EVERYTHING = range(len(PUBLIC.features))


def counts(model: ModelTable, *rows: dict[str, Any]) -> dict[str, dict[str, int]]:
    replaced = model.replaced()
    table = pa.Table.from_pylist([{**FINE, **row} for row in rows])
    for _ in model.batches(table, replaced):
        pass
    return {kind: found for kind, found in replaced.to_dict().items() if found}


def test_each_kind_is_counted_by_field() -> None:
    model = ModelTable.of(SCHEMA, PUBLIC, EVERYTHING)
    assert counts(model, {}, {"age": "NA"}, {"ward": ""}, {"smoker": None}, {"age": "100"}) == {}
    rows = [{"age": "62,5"}, {"dose": "five"}, {"dose": "?"}, {"day": "31.1.2020"}]
    assert counts(model, *rows) == {"unreadable": {"age": 1, "dose": 2, "day": 1}}
    assert counts(model, {"dose": ""}, {"dose": None}, {"age": ""}) == {"missing": {"dose": 2}}
    outside = [{"age": "100.5"}, {"age": "-1"}, {"dose": "1e999"}]
    assert counts(model, *outside) == {"outside": {"age": 2, "dose": 1}}
    # A missing category has a column, for the field does not require a value.
    unlisted = [{"smoker": "ja"}, {"ward": "z"}, {"ward": ""}, {"ward": None}]
    assert counts(model, *unlisted) == {"unlisted": {"smoker": 1, "ward": 1}}


def test_a_narrower_range_of_the_model_is_not_the_one_that_was_stated() -> None:
    age = PUBLIC.features[0]
    assert isinstance(age, Scaled)
    narrow = replace(PUBLIC, features=(replace(age, low=40.0, high=60.0), *PUBLIC.features[1:]))
    model = ModelTable.of(SCHEMA, narrow, EVERYTHING, stated=PUBLIC)
    model = ModelTable.from_dict(model.to_dict())
    assert model.ranges["age"] == (40.0, 60.0)
    assert model.stated_ranges["age"] == (0.0, 100.0)
    assert counts(model, {"age": "30"}, {"age": "90"}) == {}
    assert counts(model, {"age": "30"}, {"age": "101"}) == {"outside": {"age": 1}}
    # A model of before does not say which range was stated.
    old = model.to_dict()
    del old["stated_ranges"]
    assert counts(ModelTable.from_dict(old), {"age": "1000"}) == {}


def test_a_line_has_the_fields_with_their_rows() -> None:
    model = ModelTable.of(SCHEMA, PUBLIC, EVERYTHING)
    replaced = model.replaced()
    table = pa.Table.from_pylist([FINE | {"age": "200", "dose": "?"}] * 2 + [FINE | {"dose": "-1"}])
    list(model.batches(table, replaced))
    assert list(replaced.lines) == [
        "values that cannot be read count as missing: dose in 2 rows",
        "values outside of the range of the schema count as its nearest end: age in 2 rows, "
        "dose in 1 row",
    ]
