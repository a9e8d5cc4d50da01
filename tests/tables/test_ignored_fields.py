"""Fields with the role "ignored": they change nothing, but the table must have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import Instance
from mipselect.errors import InvalidInput
from mipselect.tables import SchemaEncoder, TableSchema, check_table
from mipselect.tables.described import (
    described,
    looks_ignored,
)
from mipselect.tables.moments import Moments
from tests.support.mapped_tables import map_table, public_map

LIMITS = {"minimum": 0, "maximum": 9}
FIELDS: list[dict[str, Any]] = [
    {"name": "a", "type": "number", "constraints": LIMITS},
    {"name": "b", "type": "string", "categories": ["x", "z"]},
    {"name": "y", "type": "number", "constraints": LIMITS},
]
IGNORED: list[dict[str, Any]] = [
    {"name": "who", "type": "string", "mipselect:role": "ignored"},
    {"name": "when", "type": "date", "mipselect:role": "ignored"},
    {"name": "kind", "mipselect:role": "ignored"},
    {"name": "size", "type": "number", "constraints": LIMITS, "mipselect:role": "ignored"},
]
WITHOUT = TableSchema.of({"fields": FIELDS})
WITH = TableSchema.of({"fields": [IGNORED[0], *FIELDS, *IGNORED[1:]]})
RNG = np.random.default_rng(3)
TABLE = pa.table(
    {
        "a": RNG.uniform(-1, 10, 60),
        "b": RNG.choice(["x", "z", "?"], 60).tolist(),
        "y": RNG.uniform(0, 9, 60),
        "who": [f"p{k}" for k in range(60)],
        "when": ["2020-01-01"] * 60,
        "kind": [None] * 60,
        "size": RNG.uniform(0, 9, 60),
    }
)


def test_the_map_is_that_of_a_schema_without_them() -> None:
    one, other = (map_table(TABLE, schema, target="y") for schema in (WITH, WITHOUT))
    assert np.array_equal(one.X, other.X)
    assert np.array_equal(one.y, other.y)
    assert (one.public.columns, one.feature_names) == (other.public.columns, other.feature_names)
    assert WITH.ignored == ("who", "when", "kind", "size")
    assert public_map(WITH, target="y").names == public_map(WITHOUT, target="y").names
    never = map_table(TABLE, WITH, target="y", never=["who", "b"])
    assert never.feature_names == ("a",)
    assert SchemaEncoder(WITH, target="y").fit(TABLE).get_feature_names_out().tolist() == [
        "a", "a=missing", "b=z", "b=missing",
    ]  # fmt: skip


USES: dict[str, Callable[[pa.Table, TableSchema], Any]] = {
    "map": lambda table, schema: map_table(table, schema, target="y"),
    "instance": lambda table, schema: Instance.from_table(
        table, schema, target="y", support_size=1
    ),
    "moments": lambda table, schema: Moments.of(table, schema=schema, target="y"),
    "check": lambda table, schema: check_table(table, schema, target="y"),
}


@pytest.mark.parametrize("use", USES)
def test_no_value_of_them_is_read(use: str) -> None:
    strange = pa.table(
        {name: TABLE[name] if name in "aby" else pa.array([{"k": [1]}] * 60) for name in
         TABLE.column_names}
    )  # fmt: skip
    assert USES[use](strange, WITH) is not None
    assert USES[use](TABLE.select(["a", "b", "y"]), WITH) is not None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"target": "size"}, "target: 'size' is ignored by the schema (mipselect:role)"),
        ({"target": "y", "always": ["who"]}, "always: 'who' is ignored by the schema"),
        ({"target": "y", "ranges": {"size": (0, 1)}}, "ranges: 'size' is ignored by the schema"),
    ],
)
def test_what_they_cannot_be(asked: dict[str, Any], message: str) -> None:
    uses = [map_table, *([] if "always" in asked else [check_table])]
    for use in uses:
        with pytest.raises(InvalidInput) as caught:
            use(TABLE, WITH, **asked)
        assert message in str(caught.value)


def test_they_are_no_person_and_nothing_is_made_of_them() -> None:
    content = WITH.content
    with pytest.raises(InvalidInput, match=r"field 'who' is ignored .* cannot say whose row"):
        TableSchema.of({**content, "csvw-eo:privacyUnit": "who"})
    made = [{"name": "log", "from": "size", "transform": "log"}]
    with pytest.raises(InvalidInput, match=r"'size' is ignored .*; nothing is made of it"):
        TableSchema.of({**content, "mipselect:features": made})


OF_TEXTS = ("name", "last_name", "Email", "comments", "patientname")
OF_IDENTIFIERS = (
    *("id", "ID", "patient_id", "PatientID", "patientid", "id visit", "uuid", "provnum"),
    *("Provider_Number", "rownames", "row.names", "row_number", "patient_nbr", "index"),
    *("respondent", "Patient"),
)
OF_FEATURES = (
    *("age", "paid", "covid", "steroid", "hospital_name", "ideal", "sex", "ward", "", "7"),
    *("num_visits", "visit_number", "body_index", "provnumber_of_beds", "rows", "arrow"),
    *("patients", "person years", "subject", "free text notes"),
)


@pytest.mark.parametrize("name", [*OF_TEXTS, *OF_IDENTIFIERS, *OF_FEATURES])
def test_names_of_identifiers_of_texts_and_of_features(name: str) -> None:
    assert looks_ignored(name, {"type": "string"}, ()) == (name not in OF_FEATURES)
    assert looks_ignored(name, {"type": "integer"}, ()) == (name in OF_IDENTIFIERS)
    for known in ({"categories": ["x"]}, {"constraints": {"minimum": 0}}, {"unit": "mm"}):
        assert not looks_ignored(name, {"type": "string", **known}, ())


@pytest.mark.parametrize(
    ("name", "asked"),
    [("weight", True), ("pweight", True), ("survey_weight", True), ("Final Weight", True),
     ("wgt", True), ("weighted_sum", False), ("birth_weight", False)],
)  # fmt: skip
def test_a_weight_is_asked_for(name: str, asked: bool) -> None:
    for role in ({}, {"mipselect:role": "ignored"}):
        codebook = TableSchema.of({"fields": [{"name": name, "type": "number", **role}]})
        notes = described(pa.table({name: [1.0], "b": [2.0]}), codebook).notes
        assert any(f"is {name} the weight of a survey" in note for note in notes) == (
            asked and not role
        )


def test_a_key_and_a_format_of_a_codebook_are_public() -> None:
    assert looks_ignored("nr", {"type": "integer"}, ("nr",))
    assert not looks_ignored("nr", {"type": "integer"}, ("nr", "year"))
    assert looks_ignored("x", {"type": "string", "format": "uuid"}, ())
    fields = {"fields": [{"name": "who"}, {"name": "b"}]}
    found = described(TABLE, TableSchema.of({"primaryKey": "who", **fields}))
    assert found.schema.ignored == ("who",)
    (note, question) = found.notes
    assert 'mipselect:role "ignored": who.' in note
    assert question.startswith("may a person have several rows? Then name the field")
    assert "csvw-eo:privacyUnit" in question
    assert described(TABLE).schema.ignored == ()
    keys = {"primaryKey": "who", "csvw-eo:privacyUnit": "who"}
    person = described(TABLE, TableSchema.of({**keys, **fields}))
    assert (person.schema.ignored, person.notes) == ((), ())
