"""Metadata of CSV on the Web (CSVW) as properties of the fields of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.tables.codebooks import Codebook
from mipselect.validation import listed, plain_digits, shown

INTEGERS = (
    *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"),
    *("nonPositiveInteger", "negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort"),
    "unsignedByte",
)
TYPES = {
    **dict.fromkeys(INTEGERS, "integer"),
    **dict.fromkeys(("number", "decimal", "double", "float"), "number"),
    **{"boolean": "boolean", "date": "date", "time": "time", "gYear": "year"},
    **dict.fromkeys(("dateTime", "datetime", "dateTimeStamp"), "datetime"),
    **dict.fromkeys(("duration", "dayTimeDuration", "yearMonthDuration"), "duration"),
}
"""Types of a Table Schema; all others are texts."""

BOUNDS = {
    "minimum": ("minimum", "minInclusive"),
    "maximum": ("maximum", "maxInclusive"),
}


def csvw_tables(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the tables that a file describes, each with what it inherits; none if it is no CSVW."""
    tables = content.get("tables", [content] if "tableSchema" in content else [])
    if not isinstance(tables, list):
        return []
    group = {key: content[key] for key in ("null", "tableSchema") if key in content}
    found = [{**group, **each} for each in tables if isinstance(each, Mapping)]
    return [each for each in found if isinstance(each.get("tableSchema"), Mapping)]


def csvw_codebook(
    tables: Sequence[Mapping[str, Any]], label: str, file: str, names: Sequence[str]
) -> Codebook:
    """Read what is said of the columns of a file; of the only table, whatever it is called.

    Parameters
    ----------
    tables : sequence of mapping
        See `csvw_tables`.
    label : str
    file : str
        The name of the file of the table.
    names : sequence of str
        Names of its columns.

    Raises
    ------
    InvalidInput
        Naming what is wrong.
    """
    of_file = [t for t in tables if PurePosixPath(str(t.get("url", ""))).name == file]
    chosen = of_file or list(tables)
    if len(chosen) != 1:
        known = [str(table.get("url", "?")) for table in tables]
        raise InvalidInput(f"must describe {shown(file)} as one table; it has {listed(known)}")
    table = chosen[0]
    schema = table["tableSchema"]
    columns = schema.get("columns")
    if not isinstance(columns, list) or not all(isinstance(c, Mapping) for c in columns):
        raise InvalidInput("tableSchema.columns must be a list of columns")
    inherited = {
        key: outer[key]
        for outer in (table, schema)
        for key in ("null", "datatype", "required")
        if key in outer
    }
    fields: dict[str, dict[str, Any]] = {}
    for k, column in enumerate(columns):
        if column.get("virtual") is True:
            continue
        name, title = _name(column, names, f"tableSchema.columns[{k}]")
        fields[name] = _field({**inherited, **column}, title)
    return Codebook(label, fields)


def _name(column: Mapping[str, Any], names: Sequence[str], where: str) -> tuple[str, str]:
    """Find the name that the column has in the table, and another title."""
    titles = list(_texts(column.get("titles")))
    called = [*titles, *_texts(column.get("name"))]
    if not called:
        raise InvalidInput(f"{where} has neither a name nor titles")
    name = next((text for text in called if text in names), called[0])
    other = (text for text in titles if text != name)
    return name, next(other, "")


def _texts(value: Any) -> Iterable[str]:
    """Yield the texts of a title: one, a list, or those of a language."""
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, list | Mapping):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _field(column: Mapping[str, Any], title: str) -> dict[str, Any]:
    """Read the properties of a field."""
    datatype = column.get("datatype", "string")
    said = datatype if isinstance(datatype, Mapping) else {"base": datatype}
    kind = TYPES.get(str(said.get("base", "string")), "string")
    field: dict[str, Any] = {"type": kind}
    words = next(iter(_texts(column.get("dc:title"))), title)
    if words:
        field["title"] = words
    about = (column.get(key) for key in ("dc:description", "rdfs:comment", "schema:description"))
    description = next((text for value in about for text in _texts(value)), "")
    if description:
        field["description"] = description
    if "null" in column:
        field["missingValues"] = list(dict.fromkeys(["", *_texts(column["null"])]))
    constraints = _constraints(said, column) if kind in ("integer", "number") else {}
    if column.get("required") is True:
        constraints["required"] = True
    if constraints:
        field["constraints"] = constraints
    return field | _format(said.get("format"), kind)


def _constraints(said: Mapping[str, Any], column: Mapping[str, Any]) -> dict[str, Any]:
    """Read the ends of a range of numbers."""
    found: dict[str, Any] = {}
    for name, keys in BOUNDS.items():
        ends = [source[key] for source in (said, column) for key in keys if key in source]
        if ends:
            try:
                end = float(plain_digits(str(ends[0])))
            except (TypeError, ValueError):
                raise InvalidInput(f"{keys[0]} must be a number, got {shown(ends[0])}") from None
            found[name] = int(end) if end.is_integer() else end
    return found


def _format(written: Any, kind: str) -> dict[str, Any]:
    """Read how truth values and numbers are written."""
    if kind == "boolean" and isinstance(written, str) and written.count("|") == 1:
        true, false = written.split("|")
        return {"trueValues": [true], "falseValues": [false]} if true and false else {}
    if kind in ("integer", "number") and isinstance(written, Mapping):
        known = ("decimalChar", "groupChar")
        return {key: written[key] for key in known if isinstance(written.get(key), str)}
    return {}
