"""Schemas: what is right is kept as it is, what is wrong is one line with its place."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from mipselect.errors import InvalidInput, MipselectError
from mipselect.tables import TableSchema
from tests.support.fields import Entry, numeric, schema_of
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


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(HOSPITAL))
    at: Any = content
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return content


def test_what_is_read_is_written_again(tmp_path: Path) -> None:
    """With properties of the standard, of others, and of nobody who is known here."""
    content = changed(["csvw-eo:privacyUnit"], "age") | OF_A_TABLE
    content["fields"][0] |= OF_A_FIELD
    content["fields"][0]["constraints"] |= OF_CONSTRAINTS
    path, again = tmp_path / "schema.json", tmp_path / "again.json"
    path.write_text("\ufeff" + json.dumps(content), encoding="utf-8")
    schema = TableSchema.read(path)
    schema.write(again)
    assert json.loads(again.read_text()) == schema.content == content
    assert "Jé" in again.read_text()
    assert TableSchema.read(again) == schema
    assert hash(schema) == hash(TableSchema.read(path))
    names = ", ".join(field["name"] for field in content["fields"])
    assert repr(schema) == f"<TableSchema: {names}; people by age>"


def test_fields() -> None:
    schema = TableSchema.of({**HOSPITAL, "csvw-eo:privacyUnit": "icd"})
    age, sex, systolic, smoker, nyha, _, dose, _ = schema.fields
    assert (age.minimum, age.maximum, age.required) == (18.0, 100.0, False)
    assert sex.categories == ("f", "m")
    assert not sex.ordered
    assert systolic.required
    assert smoker.categories is None
    assert (smoker.true_values, smoker.false_values) == (("yes",), ("no",))
    assert nyha.categories == (1.0, 2.0, 3.0, 4.0)
    assert nyha.ordered
    assert nyha.missing_values == ("9",)
    assert age.missing_values == ("", "NA", "-99")
    assert dose.number("1.234,5") == 1234.5
    assert dose.number("1,2,3") is None
    assert schema.privacy_unit == "icd"


def test_an_enum_is_as_good_as_categories() -> None:
    field = {"name": "a", "type": "string", "constraints": {"enum": ["x", "y"]}}
    assert schema_of(field).fields[0].categories == ("x", "y")
    field["categories"] = ["x"]
    assert schema_of(field).fields[0].categories == ("x",)


FIRST: list[Any] = ["fields", 0]
WRONG: list[tuple[list[Any], Any, str]] = [
    (["fields"], [], "fields must not be empty"),
    (["fields"], {"a": 1}, "fields must be of type array"),
    ([*FIRST, "type"], "float", r"fields\[0\].type must be one of string, number.*got 'float'"),
    ([*FIRST, "name"], "", r"fields\[0\].name must not be empty"),
    ([*FIRST, "name"], "a\nb", r"fields\[0\].name must be one printable line"),
    ([*FIRST, "name"], "x" * 201, r"fields\[0\].name must have at most 200 letters"),
    ([*FIRST, "name"], "sex", r"fields\[1\].name: field names must differ; fields\[0\] is 'sex'"),
    ([*FIRST], {"type": "any"}, r"fields\[0\] lacks name"),
    ([*FIRST], "age", r"fields\[0\] must be of type object, got 'age'"),
    ([*FIRST, "constraints", "minimum"], "18", r"constraints.minimum must be of type number"),
    ([*FIRST, "constraints", "minimum"], 1e30, r"constraints.minimum must be ≤ 1e\+25"),
    ([*FIRST, "constraints", "minimum"], 100, r"fields\[0\].*minimum must be below maximum"),
    ([*FIRST, "constraints", "required"], "yes", "required must be of type boolean"),
    ([*FIRST, "categories"], ["18"], r"categories\[0\] must be a number as the field is"),
    ([*FIRST, "categories"], [1, 2, 1], r"categories\[2\] is listed twice: 1.0"),
    ([*FIRST, "categories"], [2**60], r"categories\[0\] is beyond 2⁵³"),
    ([*FIRST, "categories"], [-99], "-99.0 is a category and one of the missingValues"),
    ([*FIRST, "categories"], [], "categories must not be empty"),
    ([*FIRST, "categories"], [{"label": "a"}], r"categories\[0\] must be a value, or"),
    ([*FIRST, "bareNumber"], False, "bareNumber must be True"),
    ([*FIRST, "groupChar"], ".", "decimalChar and groupChar must differ"),
    ([*FIRST, "decimalChar"], "e", "decimalChar must be one of ., ,"),
    (["fields", 1, "categories"], ["f", 1], r"fields\[1\].*categories\[1\] must be a text"),
    (["fields", 1, "categories"], ["f", "NA"], "'NA' is a category and one of the missing"),
    (["fields", 3, "falseValues"], ["yes"], "'yes' stands in trueValues and in falseValues"),
    (
        ["missingValues"],
        [1],
        r'missingValues\[0\] must be a value, or.*in quotes, as texts are: "1"',
    ),
    (["csvw-eo:privacyUnit"], "who", "csvw-eo:privacyUnit: the schema has no field 'who'"),
    (["csvw-eo:maxContributions"], 0, "csvw-eo:maxContributions must be ≥ 1"),
]


@pytest.mark.parametrize(("path", "value", "message"), WRONG)
def test_what_is_wrong_is_named(tmp_path: Path, path: list[Any], value: Any, message: str) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(changed(path, value)))
    with pytest.raises(InvalidInput, match=message) as caught:
        TableSchema.read(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


NEARLY = {
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


@pytest.mark.parametrize("place", NEARLY)
def test_a_name_that_is_nearly_known(place: str) -> None:
    path = [int(step) if step.isdigit() else step for step in re.findall(r"\w+", place)]
    for wrong, meant in NEARLY[place]:
        with pytest.raises(InvalidInput) as error:
            TableSchema.of(changed([*path, wrong], "icd"))
        assert str(error.value) == f"{place}{wrong} is no property here; did you mean {meant}?"
    with pytest.raises(InvalidInput, match="known here: mipselect:role, mipselect:typeProposed"):
        TableSchema.of(changed(["fields", 2, "mipselect:weight"], True))


W: Entry = {
    "name": "w",
    "type": "number",
    "mipselect:role": "weight",
    "constraints": {"maximum": 4},
}
WEIGHTS: list[tuple[list[Entry], str]] = [
    ([{**W, "constraints": {}}], r"fields\[7\] \(field w\): .*constraints.maximum above 0"),
    ([{**W, "constraints": {"maximum": 0}}], "above 0: .* got 0"),
    ([{**W, "constraints": {"maximum": -2}}], "above 0"),
    ([{**W, "constraints": {"minimum": -1, "maximum": 2}}], "minimum of a weight must be 0"),
    ([{**W, "constraints": {"maximum": 1e-30}}], "constraints.maximum of the weight"),
    ([{**W, "type": "string"}], "type number or integer, without categories; got type string"),
    ([{**W, "type": "boolean"}], "got type boolean"),
    ([{**W, "categories": [1, 2]}], "with categories"),
    ([W, {**W, "name": "v"}], r"fields\[8\].mipselect:role: one field may be the weight"),
    ([{**W, "mipselect:role": "wait"}], "role"),
    ([{**W, "name": "who"}], "says whose row it is and cannot be the weight"),
    ([{"name": "who", "mipselect:role": "ignored"}], r"'who' is ignored .* cannot say whose row"),
    *(([{"name": "who", "type": "integer", "constraints": {"minimum": low, "maximum": high}}],
       r"'who' has numbers from 2\^53.*\"string\"")
      for low, high in ((0, 2**53), (-(2**60), 7), (0, 1e19))),
]  # fmt: skip
ROOT = {"name": "f", "from": "n", "transform": "sqrt"}
FEATURES: list[tuple[Entry, str]] = [
    ({"name": "a", "from": "n", "transform": "sqrt"}, "name is that of a field"),
    ({"name": "f", "from": "x", "transform": "sqrt"}, r"\.from: the table has no field 'x'"),
    ({"name": "f", "from": "n", "transform": "log"},
     r"mipselect:features\[0\] \(f\): log needs a minimum above 0; that of 'n' is 0"),
    ({"name": "f", "from": "n"}, "with one of transform and part"),
    ({"name": "f", "from": "d", "transform": "log", "part": "year"}, "one of transform and part"),
    ({"name": "f", "transform": "log"}, "a feature has from"),
    ({"name": "f", "from": "n", "transform": "cube"}, "must be one of log, sqrt"),
    ({"name": "f", "from": "n", "transfrom": "log"}, "has 'transfrom'"),
    ({"from": "n", "transform": "log"}, "lacks name"),
    ({"name": "f", "from": "c", "transform": "log"}, "of a number without categories"),
    ({"name": "f", "from": "d", "transform": "log"}, "'d' is of type date"),
    ({"name": "f", "from": "who", "transform": "log"}, "'who' is the person column"),
    ({**ROOT, "minimum": 1}, "both minimum and maximum"),
    ({**ROOT, "minimum": 2, "maximum": 1}, "smaller first"),
    ({"name": "f", "from": "n", "knots": [5]}, "has 'knots'"),
    ({"name": "f", "from": "n", "part": "month"}, "of type date or datetime; 'n'"),
    ({"name": "f", "from": "d", "part": "hour"}, "a field of type date has no hour"),
    ({"name": "f", "from": "t", "part": "hour"}, "of type date or datetime; 't'"),
    ({"name": "f", "from": "d", "part": "month", "minimum": 1, "maximum": 2}, "12 categories"),
    ({"name": "f", "from": "odd", "part": "year"}, "a part is of dates in ISO 8601"),
    ({"name": "f", "from": "size", "transform": "log"}, "'size' is ignored .*; nothing is made of"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "features", "words"),
    [
        *((fields, [], words) for fields, words in WEIGHTS),
        *(([], [entry], words) for entry, words in FEATURES),
        (
            [],
            [{"name": "f", "from": "n", "transform": "sqrt"}] * 2,
            r"features\[1\] \(f\): the name",
        ),
    ],
)
def test_a_field_or_feature_that_cannot_be_is_one_clear_line(
    fields: list[Entry], features: list[Entry], words: str
) -> None:
    known = [
        *(numeric("n", 0, 10), numeric("a", 0, 10), {**numeric("c", 0, 10), "categories": [1, 2]}),
        *({"name": "d", "type": "date"}, {"name": "t", "type": "time"}),
        {"name": "odd", "type": "date", "format": "%d.%m.%Y"},
        {**numeric("size", 0, 9), "mipselect:role": "ignored"},
    ]
    who = (
        []
        if any(field["name"] == "who" for field in fields)
        else [{"name": "who", "type": "string"}]
    )
    made = {"mipselect:features": features, "csvw-eo:privacyUnit": "who"}
    with pytest.raises(InvalidInput, match=words) as refused:
        schema_of(*known, *fields, *who, **made)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[]", "a table schema is a JSON object"),
        ("{}", "the file lacks fields"),
        ('{"resources": []}', "a data package"),
        ("[" * 100_000, "nested too deeply"),
        ('{"fields": NaN}', "NaN is no number of JSON"),
        ('{"fields": [], "fields": []}', "'fields' stands twice"),
        ('{"fields": [{"name": "a", "type": "integer", "categories": [1e999]}]}', "beyond 2⁵³"),
    ],
)
def test_what_is_no_schema(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "schema.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        TableSchema.read(file)
    with pytest.raises(InvalidInput, match="no such file"):
        TableSchema.read(tmp_path / "none.json")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    schema = TableSchema.of(HOSPITAL)
    with pytest.raises(MipselectError, match="could not be written"):
        schema.write(tmp_path / "no folder" / "schema.json")
    path = tmp_path / "schema.json"
    path.mkdir()
    with pytest.raises(MipselectError, match="could not be written"):
        schema.write(path)
    assert os.listdir(tmp_path) == ["schema.json"]


def test_gaps_say_what_a_person_must_fill_in() -> None:
    fields = [
        {"name": "a", "type": "integer"},
        {"name": "b", "type": "number", "constraints": {"maximum": 3}},
        {"name": "c", "type": "string"},
        {"name": "d", "type": "boolean"},
        {"name": "e", "type": "datetime"},
        {"name": "f", "type": "integer", "categories": [1]},
        {"name": "g"},
    ]
    gaps = [field.gap for field in TableSchema.of({"fields": fields}).fields]
    assert gaps[0] == "constraints.minimum and constraints.maximum, or categories"
    assert gaps[1] == "constraints.minimum, or categories"
    assert gaps[2] == "categories"
    assert gaps[3] == gaps[5] == ""
    assert "type datetime is used through mipselect:features" in gaps[4]
    assert gaps[6].startswith("type (integer, number, boolean or string)")


def test_example_files_are_of_the_standard(repository: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    files = sorted((repository / "docs" / "tables").glob("*.schema.json"))
    assert len(files) == 2
    (on_the_page,) = re.findall(
        r"```json\n(.*?)```", (repository / "docs" / "tables.md").read_text(), re.DOTALL
    )
    texts = [on_the_page, *(path.read_text() for path in files)]
    contents = [HOSPITAL, *map(json.loads, texts)]
    for content in contents:
        assert list(frictionless.Schema.metadata_validate(content)) == []
        assert TableSchema.of(content).fields
