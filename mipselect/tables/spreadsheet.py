"""A schema as a spreadsheet in CSV, one row a field; the way back gives an equal schema.

Programs for spreadsheets write CSV with a mark of its byte order, with `;` where decimals have a
comma, and with rows and columns of empty cells. All of it is read. In a list `f = female` is a
value with a label, `f` a bare value, and `f =` an object of a value alone. A property that its cell
would not say again exactly is left to the column `other`, as JSON.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from mipselect import disk
from mipselect.errors import InvalidInput, about
from mipselect.tables.fields import NUMBERS, PROPOSED, ROLE
from mipselect.tables.parts import SAVE_AS_UTF8
from mipselect.tables.schema import MOST_BYTES, PRIVACY_UNIT, TableSchema
from mipselect.validation import did_you_mean, listed, shown

DELIMITERS = (",", ";", "\t")
LONGEST_CELL = 32_767
"""Characters; of a longer cell programs for spreadsheets keep the beginning."""

PERSON = "person"
"""Value of the column `role`: the field is the `csvw-eo:privacyUnit` of the table."""

NOTHING = '""'
"""The empty text in a list."""

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""A number of JSON."""

DECIMAL_COMMA = re.compile(r"-?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?")
FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")
"""Beginning that a program may take for a formula, perhaps behind the mark of a text."""

TRUTH_WORDS = {"yes": True, "no": False, "true": True, "false": False}

Row = Mapping[str, str]


@dataclass(frozen=True)
class SheetColumn:
    """A column, and the property in it.

    Attributes
    ----------
    title : str
    path : tuple of str
        Place of the property in the JSON object of a field.
    holds : {"text", "end", "truth", "texts", "values"}
        A text, an end of a range, yes or no, a list of texts, or a list of what the field holds.
    """

    title: str
    path: tuple[str, ...]
    holds: Literal["text", "end", "truth", "texts", "values"] = "text"

    def cell(self, value: Any, kind: Any) -> str:
        """Return the text that stands for a value and nothing else; "" if there is none.

        `kind` is the `type` of the field, or None.
        """
        text = self._written(value)
        if not text.isprintable():
            return ""
        try:
            # As JSON, since 1 is no 1.0.
            same = json.dumps(self.read(text.strip(), kind)) == json.dumps(value)
        except InvalidInput:
            return ""
        return text if same else ""

    def _written(self, value: Any) -> str:
        match value:
            case bool():
                return "yes" if value else "no"
            case str():
                return value
            case list():
                return " | ".join(map(_entry_cell, value))
        return json.dumps(value)

    def read(self, cell: str, kind: Any) -> Any:
        """Read a text without outer blanks; raise `InvalidInput` where it stands for no value."""
        match self.holds:
            case "text":
                return cell
            case "end":
                if NUMBER.fullmatch(cell):
                    return json.loads(cell)
                if kind in NUMBERS:
                    raise InvalidInput(f"{shown(cell)} is no number; write it like -1.5")
                return cell
            case "truth":
                if cell.lower() not in TRUTH_WORDS:
                    raise InvalidInput(f"must be yes or no, got {shown(cell)}")
                return TRUTH_WORDS[cell.lower()]
        numbers = self.holds == "values" and kind in NUMBERS
        return [_entry(part, numbers, k) for k, part in enumerate(cell.split("|"), 1)]


def _entry_cell(entry: Any) -> str:
    if isinstance(entry, dict):
        return f"{_entry_cell(entry.get('value'))} = {entry.get('label', '')}".rstrip()
    return entry or NOTHING if isinstance(entry, str) else json.dumps(entry)


def _entry(part: str, numbers: bool, place: int) -> Any:
    """Read a value, or an object with `value` and `label`."""
    text, equals, label = (each.strip() for each in part.partition("="))
    if not text:
        raise InvalidInput(f"entry {place} has no value; write {NOTHING} for the empty text")
    if numbers and not NUMBER.fullmatch(text):
        raise InvalidInput(f"{shown(text)} is no number, as the field is")
    value = json.loads(text) if numbers else "" if text == NOTHING else text
    if not equals:
        return value
    return {"value": value, "label": label} if label else {"value": value}


COLUMNS = (
    SheetColumn("name", ("name",)),
    SheetColumn("title", ("title",)),
    SheetColumn("type", ("type",)),
    SheetColumn("minimum", ("constraints", "minimum"), "end"),
    SheetColumn("maximum", ("constraints", "maximum"), "end"),
    SheetColumn("categories", ("categories",), "values"),
    SheetColumn("ordered", ("categoriesOrdered",), "truth"),
    SheetColumn("missing values", ("missingValues",), "texts"),
    SheetColumn("required", ("constraints", "required"), "truth"),
    SheetColumn("unit", ("unit",)),
    SheetColumn("role", (ROLE,)),
    SheetColumn("decimal", ("decimalChar",)),
    SheetColumn("group characters", ("groupChar",)),
    SheetColumn("proposed", (PROPOSED,), "truth"),
)
"""Columns in the order of the spreadsheet; `other` comes after them."""

OTHER = "other"
"""Column of everything else, as JSON."""

OF_TABLE = tuple(column for column in COLUMNS if column.path == ("missingValues",))
"""Columns that a table has too, in the row without a name."""

TITLES = (*(column.title for column in COLUMNS), OTHER)
ENDS = tuple(column.title for column in COLUMNS if column.holds == "end")

BARE = ("type", "name", "title", "unit")
PLACES = {
    **{column.path[-1]: column.title for column in COLUMNS if column.title not in BARE},
    **{f".{title}": title for title in BARE},
}
"""Words of a message about a field, and the columns that they are about."""


def spreadsheet_of(schema: TableSchema, delimiter: str = ",") -> bytes:
    """Return a schema as CSV: UTF-8 with its mark, lines that end in CR LF.

    Parameters
    ----------
    schema : TableSchema
    delimiter : {",", ";", tab}
        With ";" minima and maxima of numbers have a decimal comma.

    Raises
    ------
    InvalidInput
        Where a cell would be longer than spreadsheets hold, or a name has blanks at its ends.
    """
    content = schema.content
    fields, person = content.pop("fields"), content.pop(PRIVACY_UNIT, None)
    rows = [_cells_of(content, OF_TABLE)] if content else []
    for field in fields:
        role = {"role": PERSON} if field["name"] == person else {}
        rows.append(_cells_of(field) | role)
        if not rows[-1]["name"]:
            raise InvalidInput(f"field {shown(field['name'])}: a cell keeps no blanks at its ends")
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(TITLES)
    for row in rows:
        for title, cell in row.items():
            if len(cell) > LONGEST_CELL:
                raise InvalidInput(
                    f"field {shown(row['name'])}: its {title} are a cell of {len(cell):,} "
                    f"characters; spreadsheets hold {LONGEST_CELL:,}"
                )
        cells = {title: _shielded(cell) for title, cell in row.items()}
        if delimiter == ";" and row["type"] in NUMBERS:
            cells |= {end: cells[end].replace(".", ",") for end in ENDS}
        writer.writerow(cells.values())
    return text.getvalue().encode("utf-8-sig")


def read_spreadsheet(path: Path) -> TableSchema:
    """Read a schema from CSV; the header tells what separates the cells.

    Raises
    ------
    InvalidInput
        Naming the line and the column.
    """
    text = disk.small_text(path, MOST_BYTES, SAVE_AS_UTF8)
    table: dict[str, Any] | None = None
    fields: list[dict[str, Any]] = []
    lines, persons = [], []
    with about(str(path)):
        for number, row in _rows(text):
            with about(f"line {number}"):
                if "name" in row:
                    is_person = row.get("role") == PERSON
                    cells = {key: row[key] for key in row if key != "role" or not is_person}
                    fields.append(_content_of(cells))
                    lines.append(number)
                    persons += [fields[-1]["name"]] if is_person else []
                elif table is None:
                    table = _table(row)
                else:
                    raise InvalidInput("column name: a second row without a name")
                if len(persons) > 1:
                    raise InvalidInput(f"column role: {shown(persons[0])} is the person already")
        content = {**(table or {}), **({PRIVACY_UNIT: persons[0]} if persons else {})}
        try:
            return TableSchema.of({**content, "fields": fields})
        except InvalidInput as error:
            raise InvalidInput(_placed(str(error), fields, lines)) from error


def _rows(text: str) -> Iterator[tuple[int, Row]]:
    """Yield each row that is not empty, with its line and the cells that are not blank."""
    delimiter, titles = _header(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 1
    try:
        for cells in reader:
            if number > 1:
                row = _row(titles, cells, number, decimal_comma=delimiter == ";")
                if row:
                    yield number, row
            number = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"line {number}: no row of CSV: {error}") from error


def _header(text: str) -> tuple[str, list[str]]:
    """Return what separates the cells, and the titles of columns; "" for an empty one."""
    headers = {}
    for delimiter in DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        headers[delimiter] = [title.strip().lower() for title in next(reader, [])]
    delimiter, titles = max(headers.items(), key=lambda item: len(set(item[1]) & set(TITLES)))
    for title in titles:
        if title and title not in TITLES:
            raise InvalidInput(
                f"line 1: {shown(title)} is no column of a schema; these are: {listed(TITLES)}"
                f"{did_you_mean(title, TITLES)}"
            )
        if title and titles.count(title) > 1:
            raise InvalidInput(f"line 1: column {title} stands twice")
    if "name" not in titles:
        raise InvalidInput("line 1: there is no column name")
    return delimiter, titles


def _row(titles: Sequence[str], cells: Sequence[str], number: int, *, decimal_comma: bool) -> Row:
    row: dict[str, str] = {}
    for title, cell in zip_longest(titles, cells, fillvalue=""):
        cell = _unshielded(cell).strip()
        if not cell:
            continue
        if not title:
            raise InvalidInput(f"line {number}: {shown(cell)} stands in a column without a title")
        row[title] = cell
    if decimal_comma and row.get("type") in NUMBERS:
        ends = {end: row[end] for end in ENDS if DECIMAL_COMMA.fullmatch(row.get(end, ""))}
        row |= {end: cell.replace(",", ".") for end, cell in ends.items()}
    return row


def _placed(message: str, fields: Sequence[Mapping[str, Any]], lines: Sequence[int]) -> str:
    """Name the line and the column of a message about a field, which begins with its path."""
    found = re.match(r"fields\[([0-9]+)\]([\w.:]*)(.*)", message)
    if not found:
        return message
    place = int(found[1])
    rest = found[3].replace(f"(field {fields[place]['name']})", "")
    column = next(
        (title for part in (found[2], rest) for word, title in PLACES.items() if word in part),
        OTHER,
    )
    return f"line {lines[place]}: column {column}: {message}"


def _table(row: Row) -> dict[str, Any]:
    known = (OTHER, *(column.title for column in OF_TABLE))
    for title in row:
        if title not in known:
            raise InvalidInput(
                f"column {title}: a row without a name is about the table; it can have "
                f"{listed(known)}"
            )
    content = _content_of(row)
    for key in ("fields", PRIVACY_UNIT):
        if key in content:
            raise InvalidInput(f"column {OTHER}: {key} is made of the other rows; leave it out")
    return content


def _cells_of(
    content: Mapping[str, Any], columns: Sequence[SheetColumn] = COLUMNS
) -> dict[str, str]:
    """Return the cells of a JSON object by the titles of all columns; some of them may be used."""
    rest: dict[str, Any] = json.loads(json.dumps(content))
    cells = dict.fromkeys(TITLES, "")
    for column in columns:
        *above, key = column.path
        at = rest.get(above[0]) if above else rest
        if isinstance(at, dict) and key in at:
            cells[column.title] = column.cell(at[key], content.get("type"))
            if cells[column.title]:
                del at[key]
                if above and not at:
                    del rest[above[0]]
    text = json.dumps(rest, ensure_ascii=False)
    if rest:
        cells[OTHER] = text if text.isprintable() else json.dumps(rest)
    return cells


def _content_of(cells: Row) -> dict[str, Any]:
    """Return the JSON object of the cells of a row; raise `InvalidInput`, naming the column."""
    with about(f"column {OTHER}"):
        content: Any = disk.parsed(cells[OTHER], "the cell") if OTHER in cells else {}
        if not isinstance(content, dict):
            raise InvalidInput(f"must be a JSON object, got {shown(cells[OTHER])}")
    kind = cells.get("type", content.get("type"))
    for column in COLUMNS:
        if column.title not in cells:
            continue
        *above, key = column.path
        with about(f"column {column.title}"):
            at = content.setdefault(above[0], {}) if above else content
            if not isinstance(at, dict) or key in at:
                raise InvalidInput(f"{'.'.join(column.path)} stands in the column {OTHER} too")
            at[key] = column.read(cells[column.title], kind)
    return content


def _shielded(cell: str) -> str:
    """Mark a text that a program could run as a formula by an apostrophe; a number stays."""
    is_formula = FORMULA.match(cell) and not NUMBER.fullmatch(cell.replace(",", "."))
    return f"'{cell}" if is_formula else cell


def _unshielded(cell: str) -> str:
    """Take the apostrophe of `_shielded` away."""
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell) else cell
