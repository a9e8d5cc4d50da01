"""Codebooks of Frictionless, CSVW and DDI become fields; what is no codebook is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mipselect.errors import InvalidInput
from mipselect.tables import TableFile
from mipselect.tables.codebook_files import codebook_beside, read_codebook
from mipselect.tables.described import Described, described
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


CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "t.csv",
    "null": ["NA", "-"],
    "tableSchema": {
        "columns": [
            {
                "name": "a1",
                "titles": ["age", "Age in years"],
                "datatype": {"base": "integer", "minimum": "18", "maximum": 99.5},
                "required": True,
                "dc:description": "at the visit",
            },
            {"name": "smoking", "titles": {"en": "Smokes"}, "null": "9",
             "datatype": {"base": "boolean", "format": "1|2"}},
            {"titles": "region", "datatype": "string"},
            {"name": "y", "datatype": {"base": "decimal", "format": {"decimalChar": ","}}},
            {"name": "v", "virtual": True},
        ]
    },
}  # fmt: skip


def test_metadata_of_csvw(table: Path) -> None:
    found = begun(table, "m.json", CSVW)
    none = ["", "NA", "-"]
    assert fields(found) == {
        "age": {
            "type": "integer",
            "title": "Age in years",
            "description": "at the visit",
            "missingValues": none,
            "constraints": {"minimum": 18, "maximum": 99.5, "required": True},
        },
        "smoking": {
            "type": "boolean",
            "title": "Smokes",
            "missingValues": ["", "9"],
            "trueValues": ["1"],
            "falseValues": ["2"],
        },
        "region": {"type": "string", "missingValues": none},
        "y": {"type": "number", "missingValues": none, "decimalChar": ","},
    }
    assert found.notes == ()
    tables = {"tables": [{"url": "o.csv", "tableSchema": {"columns": []}}, CSVW]}
    assert fields(begun(table, "m.json", tables)) == fields(found)


DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5"><dataDscr>
<var ID="V1" name="age" dcml="0" intrvl="contin">
  <labl>Age
     in years</labl>
  <valrng><range min="18" max="97"/></valrng>
  <invalrng><range min="98" max="99"/><item VALUE="-1"/></invalrng>
  <sumStat type="min">19</sumStat>
  <catgry missing="Y"><catValu>98</catValu><labl>refused</labl></catgry>
  <varFormat type="numeric"/>
</var>
<var name="smoking" nature="ordinal">
  <catgry><catValu>1</catValu><labl>never</labl><catStat type="freq">17</catStat></catgry>
  <catgry><catValu>2</catValu><labl>daily</labl></catgry>
  <catgry><catValu>7</catValu><catStat type="freq">1</catStat></catgry>
  <catgry missing="Y"><catValu>9</catValu><labl>not asked</labl></catgry>
</var>
<var name="region"><varFormat type="character"/>
  <catgry><catValu>n</catValu><labl>north</labl></catgry>
  <catgry><catValu>s</catValu><labl>south</labl></catgry>
</var>
<var name="y"><labl level="variable">Days</labl><invalrng><range max="-1"/></invalrng></var>
</dataDscr></codeBook>
"""


@pytest.mark.parametrize("space", [' xmlns="ddi:codebook:2_5"', ' xmlns="other"', ""])
def test_a_codebook_of_ddi(space: str, table: Path) -> None:
    found = begun(table, "c.xml", DDI.replace(' xmlns="ddi:codebook:2_5"', space))
    assert fields(found) == {
        "age": {
            "type": "integer",
            "title": "Age in years",
            "missingValues": [
                {"value": ""},
                {"value": "98", "label": "refused"},
                {"value": "-1"},
                {"value": "99"},
            ],
        },
        "smoking": {
            "type": "integer",
            "missingValues": [{"value": ""}, {"value": "9", "label": "not asked"}],
            "categories": [{"value": 1, "label": "never"}, {"value": 2, "label": "daily"}],
            "categoriesOrdered": True,
        },
        "region": {
            "type": "string",
            "categories": [{"value": "n", "label": "north"}, {"value": "s", "label": "south"}],
        },
        "y": {"type": "string", "title": "Days"},
    }
    # Ranges of valid values are often those of the rows: they are told and not taken.
    assert "'age': the codebook says that valid values are from '18' to '97'" in found.notes[0]
    assert "'y': the codebook declares all values" in found.notes[1]
    assert "19" not in found.schema.text


BOMB = """<?xml version="1.0"?>
<!DOCTYPE codeBook [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>
<codeBook><var name="age"><labl>&b;</labl></var></codeBook>
"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE codeBook SYSTEM "file:///etc/passwd"><codeBook><var name="age"/></codeBook>
"""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.xml", BOMB, "a document type with entities is not read"),
        ("c.xml", OUTSIDE, "a document type with entities is not read"),
        ("c.xml", "<codeBook>", "not valid XML"),
        ("c.xml", "<html/>", "has no variables; is it a codebook of DDI?"),
        ("c.xml", "<c><var/></c>", "a variable has no name"),
        ("c.xml", '<c><var name="a"/><var name="a"/></c>', "two variables are called 'a'"),
        ("c.xml", '<c><var name="z"/></c>', "describes no column of .*it describes z"),
        ("c.json", "[1]", "is none of a Table Schema or a data package"),
        ("c.json", "{}", "is none of a Table Schema or a data package"),
        ("c.json", "{", "not valid JSON"),
        ("c.json", '{"fields": [{"name": "z"}]}', "describes no column"),
        ("c.json", '{"fields": [{"name": 3}]}', "fields\\[0\\].name"),
        ("c.json", '{"tableSchema": {"columns": 1}}', "must be a list of columns"),
        ("c.json", '{"tableSchema": {"columns": [{}]}}', "has neither a name nor titles"),
        (
            "c.json",
            '{"tableSchema": {"columns": [{"name": "age", "datatype":'
            ' {"base": "int", "minimum": "1_0"}}]}}',
            "minimum must be a number, got '1_0'",
        ),
        ("c.json", '{"tables": [{"tableSchema": {}}, {"tableSchema": {}}]}', "as one table"),
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
    for name in ("none.xml", "none.json"):
        with pytest.raises(InvalidInput, match="no such file"):
            read_codebook(table.with_name(name), TableFile(table))


def test_the_header_of_another_file_is_a_codebook(table: Path) -> None:
    stored = as_sav(columns(), table.with_name("c.sav"))
    source = TableFile(table)
    found = fields(described(source, read_codebook(stored, source)))
    from_itself = fields(described(stored))
    assert found == {**{name: from_itself[name] for name in ("age", "smoking", "y")},
                     "region": {"type": "string"}}  # fmt: skip


def test_codebooks_beside_the_table(table: Path) -> None:
    source = TableFile(table)

    def beside() -> Described:
        return described(source, codebook_beside(source))

    assert beside().schema.content["missingValues"] == [""]
    package = table.with_name("datapackage.json")
    package.write_text(
        json.dumps({"resources": [{"name": "a", "path": "o.csv", "schema": SCHEMA}]})
    )
    assert beside().schema.fields[0].type == "string"
    package.write_text(
        json.dumps({"resources": [{"name": "a", "path": "t.csv", "schema": SCHEMA}]})
    )
    assert fields(beside())["age"] == AGE
    package.write_text("{")
    assert "a codebook beside the table is not used" in beside().notes[0]
    package.unlink()
    for name in ("t.csv-metadata.json", "csv-metadata.json"):
        table.with_name(name).write_text(json.dumps(CSVW))
        assert fields(beside())["y"]["decimalChar"] == ","
        table.with_name(name).unlink()
    table.with_name("csv-metadata.json").write_text(json.dumps({**CSVW, "url": "o.csv"}))
    assert beside().schema.fields[0].type == "string"
