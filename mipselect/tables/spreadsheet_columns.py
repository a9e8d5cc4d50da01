"""Columns of a schema as a spreadsheet: a property of a field is the text of a cell, and back.

A property that its cell would not say again exactly is left to the column `other`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mipselect.errors import InvalidInput, about
from mipselect.json_objects import parsed
from mipselect.tables.fields import NUMBERS, PROPOSED, ROLE
from mipselect.tables.spreadsheet_lists import (
    NUMBER,
    entries_of_cell,
    listed_cell,
    text_cell,
    text_of_cell,
)
from mipselect.validation import shown

PERSON = "person"
"""Value of the column `role`: the field is the `csvw-eo:privacyUnit` of the table."""

TRUTH_WORDS = {"yes": True, "no": False, "true": True, "false": False}
FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")
"""Beginning that a program may take for a formula, perhaps behind the mark of a text."""

Kind = Any
"""The `type` of a field, or None."""


@dataclass(frozen=True)
class SheetColumn:
    """A column, and the property in it.

    Attributes
    ----------
    title : str
    path : tuple of str
        Place of the property in the JSON object of a field.
    write : callable
        From a value and the type of the field to a text; None where no text stands for the value.
    read : callable
        From a text that is not empty and the type of the field to a value; raises `InvalidInput`.
    """

    title: str
    path: tuple[str, ...]
    write: Callable[[Any, Kind], str | None]
    read: Callable[[str, Kind], Any]

    def cell(self, value: Any, kind: Kind) -> str:
        """Return the text that stands for a value and nothing else; "" if there is none."""
        text = self.write(value, kind)
        if not text:
            return ""
        try:
            again = self.read(text, kind)
        except InvalidInput:
            return ""
        return text if again == value else ""


def shielded(cell: str) -> str:
    """Mark a text that a program could run as a formula by an apostrophe; a number stays."""
    is_formula = FORMULA.match(cell) and not NUMBER.fullmatch(cell.replace(",", "."))
    return f"'{cell}" if is_formula else cell


def unshielded(cell: str) -> str:
    """Take the apostrophe of `shielded` away."""
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell) else cell


def _text(value: Any, kind: Kind) -> str | None:
    return text_cell(value) if isinstance(value, str) else None


def _text_of(cell: str, kind: Kind) -> str:
    return text_of_cell(cell)


def _end(value: Any, kind: Kind) -> str | None:
    if isinstance(value, str):
        return json.dumps(value) if NUMBER.fullmatch(value) else text_cell(value)
    return json.dumps(value)


def _end_of(cell: str, kind: Kind) -> Any:
    if NUMBER.fullmatch(cell.strip()):
        return json.loads(cell)
    if kind in NUMBERS:
        raise InvalidInput(f"{shown(cell)} is no number; write it like -1.5")
    return text_of_cell(cell)


def _truth(value: Any, kind: Kind) -> str | None:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else None


def _truth_of(text: str, kind: Kind) -> bool:
    try:
        return TRUTH_WORDS[text.strip().lower()]
    except KeyError:
        raise InvalidInput(f"must be yes or no, got {shown(text)}") from None


COLUMNS = (
    SheetColumn("name", ("name",), _text, _text_of),
    SheetColumn("title", ("title",), _text, _text_of),
    SheetColumn("type", ("type",), _text, _text_of),
    SheetColumn("minimum", ("constraints", "minimum"), _end, _end_of),
    SheetColumn("maximum", ("constraints", "maximum"), _end, _end_of),
    SheetColumn(
        "categories",
        ("categories",),
        lambda value, kind: listed_cell(value, numbers=kind in NUMBERS),
        lambda text, kind: entries_of_cell(text, numbers=kind in NUMBERS),
    ),
    SheetColumn("ordered", ("categoriesOrdered",), _truth, _truth_of),
    SheetColumn(
        "missing values",
        ("missingValues",),
        lambda value, kind: listed_cell(value, numbers=False),
        lambda text, kind: entries_of_cell(text, numbers=False),
    ),
    SheetColumn("required", ("constraints", "required"), _truth, _truth_of),
    SheetColumn("unit", ("unit",), _text, _text_of),
    SheetColumn("role", (ROLE,), _text, _text_of),
    SheetColumn("decimal", ("decimalChar",), _text, _text_of),
    SheetColumn("group characters", ("groupChar",), _text, _text_of),
    SheetColumn("proposed", (PROPOSED,), _truth, _truth_of),
)
"""Columns in the order of the spreadsheet; `other` comes after them."""

OTHER = "other"
"""Column of everything else, as JSON."""

OF_TABLE = tuple(column for column in COLUMNS if column.path == ("missingValues",))
"""Columns that a table has too, in the row without a name."""

TITLES = (*(column.title for column in COLUMNS), OTHER)


def cells_of(
    content: Mapping[str, Any], columns: Sequence[SheetColumn] = COLUMNS
) -> dict[str, str]:
    """Return the cells of a JSON object by the titles of all columns; some of them may be used."""
    rest: dict[str, Any] = json.loads(json.dumps(content))
    kind = content.get("type")
    kind = kind if isinstance(kind, str) else None
    cells = dict.fromkeys(TITLES, "")
    for column in columns:
        *above, key = column.path
        at = rest.get(above[0]) if above else rest
        if isinstance(at, dict) and key in at:
            cells[column.title] = column.cell(at[key], kind)
            if cells[column.title]:
                del at[key]
                if above and not at:
                    del rest[above[0]]
    text = json.dumps(rest, ensure_ascii=False)
    if rest:
        cells[OTHER] = text if text.isprintable() else json.dumps(rest)
    return cells


def content_of_cells(
    cells: Mapping[str, str], columns: Sequence[SheetColumn] = COLUMNS
) -> dict[str, Any]:
    """Return the JSON object of some cells, without blank ones, by the titles of columns.

    Raises
    ------
    InvalidInput
        Naming the column.
    """
    with about(f"column {OTHER}"):
        content: dict[str, Any] = _other(cells.get(OTHER, ""))
    kind = text_of_cell(cells["type"]) if "type" in cells else content.get("type")
    for column in columns:
        if column.title not in cells:
            continue
        *above, key = column.path
        with about(f"column {column.title}"):
            at = content.setdefault(above[0], {}) if above else content
            if not isinstance(at, dict) or key in at:
                raise InvalidInput(f"{'.'.join(column.path)} stands in the column {OTHER} too")
            at[key] = column.read(cells[column.title], kind)
    return content


def _other(cell: str) -> dict[str, Any]:
    content = parsed(cell, "the cell") if cell else {}
    if not isinstance(content, dict):
        raise InvalidInput(f"must be a JSON object, got {shown(cell)}")
    return content
