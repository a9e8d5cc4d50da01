"""A schema as a spreadsheet in CSV, one row a field; the way back gives an equal schema.

Programs for spreadsheets write CSV with a mark of its byte order, with `;` where decimals have a
comma, and with rows and columns of empty cells. All of it is read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from mipselect import disk
from mipselect.errors import InvalidInput, about
from mipselect.tables.csv_rows import SAVE_AS_UTF8
from mipselect.tables.fields import NUMBERS
from mipselect.tables.schema import MOST_BYTES, PRIVACY_UNIT, TableSchema
from mipselect.tables.spreadsheet_columns import (
    COLUMNS,
    OF_TABLE,
    OTHER,
    PERSON,
    TITLES,
    cells_of,
    content_of_cells,
    shielded,
    unshielded,
)
from mipselect.validation import did_you_mean, listed, shown

DELIMITERS = (",", ";", "\t")
LONGEST_CELL = 32_767
"""Characters; of a longer cell programs for spreadsheets keep the beginning."""

ENDS = ("minimum", "maximum")
DECIMAL_COMMA = re.compile(r"-?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?")

BARE = ("type", "name", "title", "unit")
PLACES = {
    **{column.path[-1]: column.title for column in COLUMNS if column.title not in BARE},
    **{f".{title}": title for title in BARE},
}
"""Words of a message about a field, and the columns that they are about."""

Row = Mapping[str, str]


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
        Where a cell would be longer than spreadsheets hold.
    """
    content = schema.content
    fields, person = content.pop("fields"), content.pop(PRIVACY_UNIT, None)
    rows = [cells_of(content, OF_TABLE)] if content else []
    for field in fields:
        role = {"role": PERSON} if field["name"] == person else {}
        rows.append(cells_of(field) | role)
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
        cells = {title: shielded(cell) for title, cell in row.items()}
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
    with about(str(path)):
        table: dict[str, Any] | None = None
        fields, lines, persons = [], [], []
        for number, row in _rows(text):
            with about(f"line {number}"):
                if "name" in row:
                    is_person = row.get("role") == PERSON
                    cells = {key: row[key] for key in row if key != "role" or not is_person}
                    fields.append(content_of_cells(cells))
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


def _table(row: Row) -> dict[str, Any]:
    known = (OTHER, *(column.title for column in OF_TABLE))
    for title in row:
        if title not in known:
            raise InvalidInput(
                f"column {title}: a row without a name is about the table; it can have "
                f"{listed(known)}"
            )
    content = content_of_cells(row, OF_TABLE)
    for key in ("fields", PRIVACY_UNIT):
        if key in content:
            raise InvalidInput(f"column {OTHER}: {key} is made of the other rows; leave it out")
    return content


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
        cell = unshielded(cell).strip()
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
