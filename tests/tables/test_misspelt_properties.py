"""Properties of a schema that are nearly known ones: refused; all others are kept and ignored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from tests.support.one_row_at_a_time import HOSPITAL

OF_A_TABLE = {
    "$schema": "https://datapackage.org/profiles/2.0/tableschema.json", "name": "stays",
    "title": "Stays", "description": "All stays", "profile": "x", "fieldsMatch": "superset",
    "primaryKey": "icd", "uniqueKeys": [["icd"]], "foreignKeys": [],
    "csvw-eo:maxContributions": 3, "dc:publisher": "a hospital", "notes": "none",
}  # fmt: skip
OF_A_FIELD = {
    "title": "Age", "description": "In years", "example": 3, "examples": [3], "rdfType": "x:Age",
    "itemType": "string", "delimiter": ",", "bareNumber": True, "unit": "years",
    "titles": "Age", "datatype": "integer", "propertyUrl": "x:age", "units": "years",
    "dc:format": "digits", "dcterms:type": "number", "rdfs:label": "Alter", "prov:role": "x",
    "informat": "2.", "measure": "scale", "role": "input", "csvw-eo:privacyId": False,
    "note": "self-reported", "label": "Alter", "width": 8,
}  # fmt: skip
OF_CONSTRAINTS = {
    "unique": False, "minLength": 1, "maxLength": 3, "pattern": ".*", "jsonSchema": {},
    "exclusiveMinimum": 17, "exclusiveMaximum": 101, "x:note": "",
}  # fmt: skip


def hospital() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(HOSPITAL))
    return content


def test_properties_of_the_standard_and_of_others_are_kept() -> None:
    content = hospital()
    content |= OF_A_TABLE
    content["fields"][0] |= OF_A_FIELD
    content["fields"][0]["constraints"] |= OF_CONSTRAINTS
    schema = TableSchema.of(content)
    assert schema.content == content
    assert schema.fields[0].minimum == 18.0


WRONG = {
    "": [
        ("csvw-eo:privacyunit", "csvw-eo:privacyUnit"),
        ("csvw:privacyUnit", "csvw-eo:privacyUnit"), ("privacy_unit", "csvw-eo:privacyUnit"),
        ("csvw-eo:privacyUnits", "csvw-eo:privacyUnit"),
        ("maxContribution", "csvw-eo:maxContributions"), ("missingvalues", "missingValues"),
        ("mipselect:feature", "mipselect:features"),
    ],
    "fields[1].": [
        ("Type", "type"), ("fromat", "format"), ("constraint", "constraints"),
        ("catgeories", "categories"), ("categories_ordered", "categoriesOrdered"),
        ("missingValue", "missingValues"), ("trueValue", "trueValues"),
        ("false_values", "falseValues"), ("decimalchar", "decimalChar"),
        ("groupchar", "groupChar"), ("mipselect:Role", "mipselect:role"),
        ("minimum", "constraints.minimum of a field"),
        ("maximun", "constraints.maximum of a field"),
        ("requird", "constraints.required of a field"),
        ("csvw-eo:privacyUnit", "csvw-eo:privacyUnit of the table, beside fields"),
    ],
    "fields[0].constraints.": [
        ("minimun", "minimum"), ("Maximum", "maximum"), ("requird", "required"), ("enums", "enum"),
        ("categories", "categories of the field, beside constraints"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("place", "wrong", "meant"),
    [(place, *pair) for place, pairs in WRONG.items() for pair in pairs],
)
def test_a_name_that_is_nearly_known(place: str, wrong: str, meant: str) -> None:
    content = hospital()
    objects = {
        "": content,
        "fields[1].": content["fields"][1],
        "fields[0].constraints.": content["fields"][0]["constraints"],
    }
    objects[place][wrong] = "icd"
    with pytest.raises(InvalidInput) as error:
        TableSchema.of(content)
    assert str(error.value) == f"{place}{wrong} is no property here; did you mean {meant}?"


def test_a_property_of_our_own_that_is_none_is_refused_with_those_that_are() -> None:
    content = hospital()
    content["fields"][2]["mipselect:weight"] = True
    with pytest.raises(InvalidInput, match="known here: mipselect:role, mipselect:typeProposed"):
        TableSchema.of(content)
