"""Codebooks of Frictionless become fields; what is no codebook is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mipselect.errors import InvalidInput
from mipselect.tables import TableFile
from mipselect.tables.described import Described, described, read_codebook
from tests.support.stored_tables import as_sav, columns

TABLE = "age,smoking,region,y\n1,2,n,3\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path / "t.csv"


def begun(table: Path, name: str, content: Any) -> Described:
    path = table.with_name(name)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    source = TableFile(table)
    return described(source, read_codebook(path, source))


def fields(found: Described) -> dict[str, dict[str, Any]]:
    return {entry.pop("name"): entry for entry in found.schema.content["fields"]}


AGE = {
    "type": "integer",
    "title": "Age",
    "constraints": {"minimum": 18, "maximum": 99},
    "custom": {"kept": True},
}
SMOKING = {
    "type": "integer",
    "categories": [{"value": 1, "label": "no"}, {"value": 2, "label": "yes"}],
    "missingValues": ["-9"],
}
SCHEMA = {
    "$schema": "https://datapackage.org/profiles/2.0/tableschema.json",
    "missingValues": ["", "NA"],
    "fields": [{"name": "age", **AGE}, {"name": "smoking", **SMOKING}, {"name": "gone"}],
}


def test_a_schema_of_frictionless(table: Path) -> None:
    found = begun(table, "s.json", SCHEMA)
    assert fields(found) == {
        "age": AGE,
        "smoking": SMOKING,
        "region": {"type": "string"},
        "y": {"type": "string"},
    }
    assert found.schema.content["missingValues"] == ["", "NA"]
    assert "categories come from labels: smoking." in found.notes[0]
    assert found.notes[1] == "the codebook describes columns that are not there: gone"


def test_a_data_package(table: Path) -> None:
    other = {"name": "other", "path": "other.csv", "schema": {"fields": [{"name": "x"}]}}
    this = {"name": "this", "path": ["data/t.csv"], "schema": SCHEMA}
    package = {"resources": [other, this]}
    assert fields(begun(table, "p.json", package))["age"] == AGE
    table.with_name("s.json").write_text(json.dumps(SCHEMA))
    this["schema"] = "s.json"
    assert fields(begun(table, "p.json", package))["smoking"] == SMOKING
    for schema, message in (
        ("../s.json", "is elsewhere"),
        ("https://example.org/s.json", "is elsewhere"),
        (None, "the resource 'this' has no schema"),
    ):
        this["schema"] = schema  # type: ignore[assignment]
        with pytest.raises(InvalidInput, match=message):
            begun(table, "p.json", package)
    with pytest.raises(InvalidInput, match=r"must have one resource that is .*; it has a, b"):
        begun(table, "p.json", {"resources": [{"name": "a"}, {"name": "b"}]})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.json", "[1]", "is no Table Schema and no data package"),
        ("c.json", "{}", "is no Table Schema and no data package"),
        ("c.json", "{", "not valid JSON"),
        ("c.json", '{"fields": [{"name": "z"}]}', "describes no column"),
        ("c.json", '{"fields": [{"name": 3}]}', "fields\\[0\\].name"),
        ("c.json", '{"tableSchema": {"columns": []}}', "is no Table Schema and no data package"),
        ("c.xml", "<codeBook/>", "not valid JSON"),
    ],
)  # fmt: skip
def test_what_is_no_codebook_is_one_line(
    name: str, content: str, message: str, table: Path
) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        begun(table, name, content)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_that_is_not_there(table: Path) -> None:
    for name in ("none.sav", "none.json"):
        with pytest.raises(InvalidInput, match="no such file"):
            read_codebook(table.with_name(name), TableFile(table))


def test_the_header_of_another_file_is_a_codebook(table: Path) -> None:
    stored = as_sav(columns(), table.with_name("c.sav"))
    source = TableFile(table)
    found = fields(described(source, read_codebook(stored, source)))
    from_itself = fields(described(stored))
    assert found == {**{name: from_itself[name] for name in ("age", "smoking", "y")},
                     "region": {"type": "string"}}  # fmt: skip
