"""A schema that is begun has what is public of a table and its codebook, nothing of its rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

from mipselect.errors import InvalidInput
from mipselect.tables import SchemaEncoder, TableFile, TableSchema, check_table
from mipselect.tables.described import (
    Described,
    confirmed,
    described,
    proposed_types,
    read_codebook,
)
from mipselect.tables.moments import Moments
from mipselect.tables.public_map import TableQuestion
from tests.support.fields import listed
from tests.support.mapped_tables import map_table, public_map
from tests.support.stored_tables import CODES, as_dta, as_sav, as_xpt, columns

LABELLED = [{"value": k, "label": word} for k, word in CODES.items()]


REFUSED = [{"value": ""}, {"value": "-9", "label": "refused"}, {"value": "-8"}]


def begun(source: Any) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in TableSchema.skeleton(source).content["fields"]}


def test_what_is_begun_maps_the_codes_and_not_their_labels(tmp_path: Path) -> None:
    stored = as_sav(columns(), tmp_path / "t.sav")
    content = TableSchema.skeleton(stored).content
    content["fields"][0]["constraints"] = {"minimum": 18, "maximum": 90}
    content["fields"][1]["constraints"] = {"minimum": -2, "maximum": 2}
    content["fields"][2]["categories"] = ["f", "m", "é"]
    content["fields"][4]["constraints"] = {"minimum": -5, "maximum": 5}
    table = map_table(stored, TableSchema.of(content), target="y")
    codes = columns()["smoking"]
    places = {1: -1.0, 2: 0.0, 3: 1.0}
    smoking = [c.name for c in table.public.columns].index("smoking")
    assert table.X[:, smoking].tolist() == [places.get(code, 0.0) for code in codes]
    assert table.X[:, smoking + 1].tolist() == [float(code in (None, -9, -8)) for code in codes]


def test_texts_with_labels_and_codes_of_no_value(tmp_path: Path) -> None:
    cells = pd.DataFrame({"s": ["a", "b", "x", ""], "y": [0.0, 1, 2, 3]})
    labels = {"a": "Aachen", "b": "Bonn", "x": "unknown"}
    options: dict[str, Any] = {
        "variable_value_labels": {"s": labels},
        "missing_ranges": {"s": ["x"]},
    }
    pyreadstat.write_sav(cells, tmp_path / "t.sav", **options)
    kept = [{"value": value, "label": labels[value]} for value in "ab"]
    none = [{"value": ""}, {"value": "x", "label": "unknown"}]
    assert begun(tmp_path / "t.sav")["s"] == listed("s", *kept, missingValues=none)


def test_rows_do_not_change_what_is_begun(tmp_path: Path) -> None:
    one, other = columns(), columns()
    for name, odd in (("age", 7.25), ("dose", -1e9), ("smoking", 99), ("y", None)):
        other[name][5] = odd
    for write, ending in ((as_sav, ".sav"), (as_dta, ".dta"), (as_xpt, ".xpt")):
        a = described(write(one, tmp_path / f"a{ending}"))
        b = described(write(other, tmp_path / f"b{ending}"))
        assert (a.schema.text, a.notes) == (b.schema.text, b.notes)


def test_categories_of_a_frame_may_come_from_its_rows_and_are_not_taken() -> None:
    frame = pd.DataFrame({"stage": pd.Series(["II", "I"], dtype="category"), "y": [0.0, 1.0]})
    for source in (frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy()):
        assert list(begun(source).values()) == [
            {"name": "stage", "type": "string"},
            {"name": "y", "type": "number"},
        ]


CSV = "n,k,t,s,z,e,m\n1.5,7,true,a,007,,1\n,NA,False,b, 8 ,NA,true\n-2e3,-9,,7,12,nan,\n"
TYPES = {
    **{"n": "number", "k": "integer", "t": "boolean"},
    **dict.fromkeys(("s", "z", "e", "m"), "string"),
}


def proposed(path: Path) -> TableSchema:
    path.write_text(CSV)
    return described(path, proposed=proposed_types(path)).schema


def test_types_are_proposed_and_marked(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    schema = proposed(path)
    assert proposed_types(path) == {name: {"type": kind} for name, kind in TYPES.items()}
    assert {field.name: field.type for field in schema.fields} == TYPES
    keys = {"name", "type", "mipselect:typeProposed"}
    assert all(set(entry) == keys for entry in schema.content["fields"])
    with pytest.raises(InvalidInput, match="has types of its own"):
        proposed_types(pa.table({"a": [1]}))


def test_types_of_cells(tmp_path: Path) -> None:
    cells = {
        "n": ([1, 2.5], "number"), "k": ([1, 2], "integer"), "t": ([True, False], "boolean"),
        "s": (["a", 1], "string"), "m": ([1, "2"], "integer"), "x": ([1, True], "string"),
    }  # fmt: skip
    frame = pd.DataFrame({name: found for name, (found, _) in cells.items()})
    frame.astype(object).to_excel(tmp_path / "t.xlsx", index=False)
    found = proposed_types(tmp_path / "t.xlsx")
    assert [said["type"] for said in found.values()] == [kind for _, kind in cells.values()]


TEXT = {"type": "string"}
COMMA = {"type": "number", "decimalChar": ","}
YES = {
    "type": "boolean", "trueValues": ["yes", "Yes", "YES"], "falseValues": ["no", "No", "NO"],
}  # fmt: skip


CELLS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "smoker": (["yes", "No", "", "YES"], YES),
    "died": (
        ["y", "N", "n", "NA"],
        {"type": "boolean", "trueValues": ["y", "Y"], "falseValues": ["n", "N"]},
    ),
    "mixed": (["yes", "n", "", "no"], TEXT),
    "code": (["yes", "1", "no", "0"], TEXT),
    "day": (["2020-01-31", "", "1999-12-01", "2024-02-29"], {"type": "date"}),
    "no day": (["2020-02-31", "2020-01-31", "", ""], TEXT),
    "moment": (["2020-01-31 07:30", "2020-01-31", "", ""], TEXT),
    "European day": (["31.01.2020", "", "01.12.1999", ""], TEXT),
    "two ways": (["31.01.2020", "2020-01-31", "", ""], TEXT),
    "height": (["1,80", "2", "-0,5", ""], COMMA),
    "weight": (["0,650", "1,060", "12,345", "2"], COMMA),
    "either": (["1,060", "12,345", "2", ""], TEXT),
    "only either": (["1,060", "12,345", "2,000", ""], TEXT),
    "both": (["1,80", "1.80", "", ""], TEXT),
    "other digits": (["\u0661,\u0662", "", "", ""], TEXT),
}
"""Cells of columns of a CSV file, and what is proposed for them."""


def test_booleans_days_and_decimal_commas_are_proposed_and_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame({name: cells for name, (cells, _) in CELLS.items()}).to_csv(path, index=False)
    types = proposed_types(path)
    assert types == {name: properties for name, (_, properties) in CELLS.items()}
    schema = confirmed(described(path, proposed=types).schema)
    counted = {field.name: field.kinds for field in check_table(path, schema).fields}
    for name, (cells, properties) in CELLS.items():
        if properties != TEXT and name != "died":  # What stands for no value is not proposed.
            assert counted[name]["fine"] == sum(cell != "" for cell in cells), name
            assert counted[name]["missing"] == cells.count(""), name


def test_nothing_uses_types_that_nobody_confirmed(tmp_path: Path) -> None:
    content = proposed(tmp_path / "t.csv").content
    for entry in content["fields"]:
        if entry["type"] in ("integer", "number"):
            entry["constraints"] = {"minimum": 0, "maximum": 9}
        elif entry["type"] == "string":
            entry["categories"] = ["a", "b"]
    schema, table = TableSchema.of(content), tmp_path / "t.csv"
    uses = (
        lambda s: map_table(table, s, target="n"),
        lambda s: Moments.of(table, s, target="n"),
        lambda s: public_map(s, target="n"),
        lambda s: TableQuestion(s, "n").without_ranges,
        lambda s: SchemaEncoder(s).fit(pd.read_csv(table)),
    )
    for use in uses:
        with pytest.raises(InvalidInput, match=r"the types of n, k, t, s.*schema confirm"):
            use(schema)
        use(confirmed(schema))
    assert not any(field.type_proposed for field in confirmed(schema).fields)
    left = {key: v for key, v in content["fields"][0].items() if key != "mipselect:typeProposed"}
    assert confirmed(schema).content["fields"][0] == left


TEXTS = "age,smoking,region,y\n1,2,n,3\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TEXTS)
    return tmp_path / "t.csv"


def with_codebook(table: Path, name: str, content: Any) -> Described:
    path = table.with_name(name)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    source = TableFile(table)
    return described(source, read_codebook(path, source))


def fields_of(found: Described) -> dict[str, dict[str, Any]]:
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
FRICTIONLESS = {
    "$schema": "https://datapackage.org/profiles/2.0/tableschema.json",
    "missingValues": ["", "NA"],
    "fields": [{"name": "age", **AGE}, {"name": "smoking", **SMOKING}, {"name": "gone"}],
}


def test_a_schema_of_frictionless(table: Path) -> None:
    found = with_codebook(table, "s.json", FRICTIONLESS)
    assert fields_of(found) == {
        "age": AGE,
        "smoking": SMOKING,
        "region": {"type": "string"},
        "y": {"type": "string"},
    }
    assert found.schema.content["missingValues"] == ["", "NA"]
    assert "categories come from labels: smoking." in found.notes[0]
    assert found.notes[1] == "the codebook describes columns that are not there: gone"


def test_what_is_no_codebook_is_one_line(table: Path) -> None:
    for name in ("none.sav", "none.json"):
        with pytest.raises(InvalidInput, match="no such file"):
            read_codebook(table.with_name(name), TableFile(table))
    for content, message in NO_CODEBOOKS:
        with pytest.raises(InvalidInput, match=message) as caught:
            with_codebook(table, "c.json", content)
        assert "c.json" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_header_of_another_file_is_a_codebook(table: Path) -> None:
    stored = as_sav(columns(), table.with_name("c.sav"))
    source = TableFile(table)
    found = fields_of(described(source, read_codebook(stored, source)))
    from_itself = fields_of(described(stored))
    assert found == {**{name: from_itself[name] for name in ("age", "smoking", "y")},
                     "region": {"type": "string"}}  # fmt: skip


@pytest.mark.parametrize("ending", [".sav", ".zsav"])
def test_spss_has_a_codebook_stata_labels_and_sas_names(ending: str, tmp_path: Path) -> None:
    age = {"name": "age", "title": "Age in years"}
    smoking = {"name": "smoking", "type": "integer", "categories": LABELLED}
    assert begun(as_sav(columns(), tmp_path / f"t{ending}")) == {
        "age": {**age, "type": "integer", "missingValues": REFUSED},
        "dose": {"name": "dose", "type": "number"},
        "sex": {"name": "sex", "type": "string", "title": "Sex"},
        "smoking": {**smoking, "missingValues": REFUSED, "categoriesOrdered": True},
        "y": {"name": "y", "type": "number"},
    }
    found = described(as_dta(columns(), tmp_path / "t.dta"))
    fields = {entry["name"]: entry for entry in found.schema.content["fields"]}
    # One label only is no list of values.
    assert (fields["smoking"], fields["age"]) == (smoking, {**age, "type": "number"})
    assert "categories come from labels: smoking." in found.notes[0]
    assert begun(as_xpt(columns(), tmp_path / "t.xpt"))["age"]["title"] == "Age in years"


NO_CODEBOOKS = [
    ("[1]", "a table schema is a JSON object"),
    *((text, "the file lacks fields") for text in ("{}", '{"tableSchema": {"columns": []}}')),
    ('{"resources": []}', "this is a data package; write the schema of one of its resources"),
    ("{", "not valid JSON"),
    ("<codeBook/>", "not valid JSON"),
    ('{"fields": [{"name": "z"}]}', "describes no column"),
    ('{"fields": [{"name": 3}]}', "fields\\[0\\].name"),
]
