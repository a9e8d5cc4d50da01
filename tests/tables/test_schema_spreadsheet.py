"""A schema as a spreadsheet: every schema comes back as it was, and a mistake has its cell."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from mipselect.tables.spreadsheet import read_spreadsheet, spreadsheet_of
from tests.support.fields import schema_of
from tests.support.one_row_at_a_time import HOSPITAL

HEADER = (
    "name,title,type,minimum,maximum,categories,ordered,missing values,required,unit,role,"
    "decimal,group characters,proposed,other"
)
DAY = {"name": "day", "type": "year"}
ODD_TEXTS = (
    *("", " ", "|", "=", "a = b", "a | b", '"', '"a"', '""', "'", "'=1", "=1+1", "+1", "-1", "@x"),
    *("\t", "\r\n", "\ufeff", "1", "1.0", "1e5", "yes", "null", ";", ",", "\u00a0", "＝1", "-1,5"),
    *("x\x00\r\ny\ud83d",),
)
TEXTS = [text for text in ODD_TEXTS if text.strip() and text.isprintable()]
NUMBERS = [0, -0.0, 1.0, 1, 1e16, 1e-7, 2**53, -1.5]
VALUES = [*ODD_TEXTS, *NUMBERS, None, True, [1], {"a": 1}]
LABELLED = [{"value": "f", "label": "female"}, {"value": "m"}, "x", {"value": "z", "colour": 3}]
FIELDS: list[dict[str, Any]] = [
    *({"title": value} for value in VALUES),
    *({"type": "year", "constraints": {"minimum": value}} for value in VALUES),
    *({"type": "any", "missingValues": ["?", text]} for text in ODD_TEXTS if text != "?"),
    *({"type": "any", "categories": [value]} for value in (*ODD_TEXTS, *NUMBERS)),
    *({"type": "string", "categories": [text, {"value": "?", "label": text}]} for text in TEXTS),
    *({"unit": text} for text in TEXTS),
    *(
        {"type": kind, "categories": [1, 1e-7, 2**53, -1.5]}
        for kind in ("integer", "number", "year")
    ),
    {"type": "number", "constraints": {"minimum": -1.5, "maximum": 1e25}},
    {"type": "string", "categories": LABELLED, "categoriesOrdered": True},
    {"type": "string", "constraints": {"enum": ["a"], "required": False, "pattern": "a|b"}},
    {"decimalChar": ",", "groupChar": "\u00a0", "mipselect:typeProposed": True},
    {"missingValues": [], "trueValues": ["=ja"], "rdfs:label": {"de": "x"}},
    {"type": "number", "mipselect:role": "weight", "constraints": {"minimum": 0, "maximum": 8.5}},
]


def exactly(content: Any) -> str:
    """JSON that tells 1 from 1.0, whatever the order of the keys."""
    return json.dumps(content, sort_keys=True)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=repr)
def test_every_schema_comes_back(delimiter: str, tmp_path: Path) -> None:
    contents: list[dict[str, Any]] = [
        {"fields": [{"name": f"=a{k}", **field}]} for k, field in enumerate(FIELDS)
    ]
    contents += [{"fields": [DAY], "title": value, "missingValues": ["", "?"]} for value in VALUES]
    contents += [{"fields": [{"name": name}]} for name in TEXTS]
    contents += [HOSPITAL, {**HOSPITAL, "csvw-eo:privacyUnit": "icd"}]
    for content in contents:
        schema = TableSchema.of(content)
        written = spreadsheet_of(schema, delimiter)
        text = written.decode("utf-8-sig")
        assert text.replace("\r\n", "").replace(delimiter, "").isprintable()
        (tmp_path / "schema.csv").write_bytes(written)
        again = read_spreadsheet(tmp_path / "schema.csv")
        assert exactly(again.content) == exactly(content)
        assert again.fields == schema.fields


def cells_of(content: dict[str, Any], delimiter: str = ",") -> list[dict[str, str]]:
    text = spreadsheet_of(TableSchema.of(content), delimiter).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))


def test_a_hospital_is_readable() -> None:
    table, age, sex, systolic, _, nyha, *_ = cells_of(
        {**HOSPITAL, "csvw-eo:privacyUnit": "age", "mipselect:features": []}
    )
    assert ",".join(table) == HEADER
    assert (table["name"], table["missing values"]) == ("", '"" | NA | -99')
    assert json.loads(table["other"]) == {"mipselect:features": []}
    assert (age["type"], age["minimum"], age["maximum"], age["role"]) == (
        *("integer", "18", "100", "person"),
    )
    (day,) = cells_of({"fields": [{**DAY, "constraints": {"minimum": "2020", "maximum": 2021}}]})
    assert (day["maximum"], json.loads(day["other"])) == (
        *("2021", {"constraints": {"minimum": "2020"}}),
    )
    assert sex["categories"] == "f = | m ="
    assert (systolic["required"], systolic["other"]) == ("yes", "")
    assert (nyha["categories"], nyha["ordered"]) == ("1 | 2 | 3 | 4", "yes")


def test_no_cell_is_a_formula_and_numbers_stay_numbers() -> None:
    field = {
        "name": "=HYPERLINK(1)",
        "title": "@SUM(1)",
        "unit": "'+1",
        "type": "number",
        "constraints": {"minimum": -1.5, "maximum": 1e25},
        "categories": [{"value": -9, "label": "refused"}, -8],
        "missingValues": ["-99"],
    }
    schema = schema_of(field)
    text = spreadsheet_of(schema).decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert (row["minimum"], row["missing values"]) == ("-1.5", "-99")
    assert row["name"] == "'=HYPERLINK(1)"
    assert row["title"] == "'@SUM(1)"
    assert row["unit"] == "''+1"
    assert row["categories"] == "'-9 = refused | -8"
    (row,) = cells_of({"fields": [field]}, ";")
    assert (row["minimum"], row["maximum"]) == ("-1,5", "1e+25")


def read(tmp_path: Path, text: str | bytes) -> dict[str, Any]:
    path = tmp_path / "in.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_spreadsheet(path).content


def test_what_programs_for_spreadsheets_write_is_read(tmp_path: Path) -> None:
    rows = (
        "Name;TYPE;minimum;maximum;categories;;required;\r\n"
        'a;number;-1,5;"2,5";;;Yes;\r\n'
        ";;;;;;;\r\n"
        'b;string;;;"ja=yes| nein = no";;;;\r\n'
        "-c;any;;;;;;\r\n-d;any;;;;;;;;\r\n"
    )
    content = read(tmp_path, "\ufeff".encode() + rows.encode())
    a, b, c, d = content["fields"]
    assert a["constraints"] == {"minimum": -1.5, "maximum": 2.5, "required": True}
    labelled = {"ja": "yes", "nein": "no"}
    assert b["categories"] == [{"value": v, "label": label} for v, label in labelled.items()]
    assert (c["name"], d["name"]) == ("-c", "-d")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no column name"),
        ("title,type\na,b\n", "line 1: there is no column name"),
        ("name,minimun\n", "line 1: 'minimun' is no column of a schema.*did you mean 'minimum'"),
        ("name,type,Type\n", "line 1: column type stands twice"),
        ("name\n", "fields must not be empty"),
        ("name,type\na,number,3\n", "line 2: '3' stands in a column without a title"),
        ("name,type,minimum\na,number,x\n", "line 2: column minimum: 'x' is no number"),
        ("name,type,minimum\na,number,\"1,5\"\n", "line 2: column minimum: '1,5' is no number"),
        ("name,ordered\na,perhaps\n", "line 2: column ordered: must be yes or no, got 'perhaps'"),
        ("name,type\n\na,float\n", "line 3: column type: fields.0..type must be one of"),
        ("name,type\na,any\na,any\n", "line 3: column name: fields.1..name: field names must"),
        ("name,type,minimum,maximum\na,number,3,3\n", "line 2: column minimum: .*below maximum"),
        ("name,type,categories\na,string,x|x\n", "line 2: column categories: .*listed twice"),
        ("name,type,categories\na,integer,1|b\n", "line 2: column categories: 'b' is no number"),
        ("name,type,categories\na,string,x||y\n", "line 2: column categories: entry 2 has no"),
        ("name,decimal\ncategories,5\n", "line 2: column decimal: fields.0..decimalChar must"),
        ("name,type\na,categories\n", "line 2: column type: fields.0..type must be one of"),
        ("name,decimal\na,--\n", "line 2: column decimal: fields.0..decimalChar"),
        ('name,other\na,[1]\n', "line 2: column other: must be a JSON object"),
        ('name,other\na,"{"\n', "line 2: column other: the cell: not valid JSON"),
        ('name,title,other\na,b,"{""title"": 1}"\n', "column title: title stands in the column"),
        ('name,minimum,other\na,1,"{""constraints"": 1}"\n', "column minimum: constraints.minimum"),
        ("name,role\na,person\nb,person\n", "line 3: column role: 'a' is the person already"),
        ("name,type\n,any\n", "line 2: column type: a row without a name is about the table"),
        ('name,other\n,"{""fields"": []}"\n', "line 2: column other: fields is made of"),
        ("name,other\n,{}\n,{}\n", "line 3: column name: a second row without a name"),
        ('name,type\n"a,any\n', "line 2: no row of CSV"),
        ('name,type\n"a"b,any\n', "line 2: no row of CSV"),
        (b"name,title\na,\xe9\n", 'line 2 is not UTF-8; save the file as UTF-8.* "CSV UTF-8" '),
        ('name,title\n"a\nb",x\nc,\n', "line 2: column name: fields.0..name must be one printable"),
        ('name,title,type\na,"x\ny",any\nb,,float\n', "line 4: column type: fields.1..type"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_line_and_column(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'in.csv'}: ")
    assert str(caught.value).isprintable()


def test_a_cell_that_would_be_cut_off_is_refused() -> None:
    codes = [f"code {k}" for k in range(5000)]
    schema = schema_of({"name": "icd", "type": "string", "categories": codes})
    with pytest.raises(InvalidInput, match="field 'icd': its categories are a cell of 5"):
        spreadsheet_of(schema)
    with pytest.raises(InvalidInput, match="field ' a': a cell keeps no blanks"):
        spreadsheet_of(schema_of({"name": " a"}))
