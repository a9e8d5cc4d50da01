"""Schema files: what is right is kept as it is, what is wrong is one line with its place."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from mipselect.errors import InvalidInput, MipselectError
from mipselect.tables import TableSchema
from tests.support.one_row_at_a_time import HOSPITAL


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(HOSPITAL))
    at: Any = content
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return content


def test_what_is_read_is_written_again(tmp_path: Path) -> None:
    content = changed(["fields", 0, "rdfs:label"], "Alter in Jahren")
    content["$schema"] = "https://datapackage.org/profiles/2.0/tableschema.json"
    content["csvw-eo:maxContributions"] = 3
    path = tmp_path / "schema.json"
    path.write_text("\ufeff" + json.dumps(content), encoding="utf-8")
    schema = TableSchema.read(path)
    schema.write(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == content
    assert "Jé" in (tmp_path / "again.json").read_text()
    assert TableSchema.read(tmp_path / "again.json") == schema
    assert hash(schema) == hash(TableSchema.read(path))


def test_a_schema_is_shown_by_the_names_of_its_fields() -> None:
    content = changed(["csvw-eo:privacyUnit"], HOSPITAL["fields"][0]["name"])
    names = [field["name"] for field in content["fields"]]
    assert (
        repr(TableSchema.of(content)) == f"<TableSchema: {', '.join(names)}; people by {names[0]}>"
    )


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
    assert TableSchema.of({"fields": [field]}).fields[0].categories == ("x", "y")
    field["categories"] = ["x"]
    assert TableSchema.of({"fields": [field]}).fields[0].categories == ("x",)


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
    ([*FIRST, "bareNumber"], False, "bareNumber must be true"),
    ([*FIRST, "groupChar"], ".", "decimalChar and groupChar must differ"),
    ([*FIRST, "decimalChar"], "e", "must be no part of a number"),
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
