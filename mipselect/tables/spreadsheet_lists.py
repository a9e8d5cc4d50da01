"""Texts, and lists of values, in one cell of a spreadsheet: `f = female | m = male`.

A text is written plainly, or as a JSON string where it is empty, has blanks at its ends, begins
with a quotation mark, or has a character that would be read as something else. `f = female` is a
value with a label, `f` a bare value, and `f =` an object of a value alone.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.validation import shown

SEPARATOR = "|"
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""A number of JSON."""

JSON = json.JSONDecoder()


def text_cell(text: str, special: str = "") -> str:
    """Write a text, plainly unless it would not be read as it is; `special` must not be in it."""
    plain = text and text == text.strip() and text[0] != '"' and text.isprintable()
    if plain and not any(character in text for character in special):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def text_of_cell(cell: str) -> str:
    """Read a text; what is no JSON string as a whole is the text itself."""
    cell = cell.strip()
    if cell[:1] == '"':
        try:
            return str(json.loads(cell))
        except ValueError:
            pass
    return cell


def listed_cell(entries: Any, *, numbers: bool) -> str | None:
    """Write a list of values, or objects with `value` and `label`, as the text of a cell.

    Parameters
    ----------
    entries : object
        A JSON value.
    numbers : bool
        Whether a plain number stands for itself, not for its text.

    Returns
    -------
    str or None
        None where the cell would not say the same again.
    """
    if not isinstance(entries, list) or not entries:
        return None
    written = [_entry_cell(entry, numbers) for entry in entries]
    return None if None in written else f" {SEPARATOR} ".join(map(str, written))


def entries_of_cell(text: str, *, numbers: bool) -> list[Any]:
    """Read the text of a cell.

    Raises
    ------
    InvalidInput
        Saying which entry is wrong, and what would be right.
    """
    entries: list[Any] = []
    at = 0
    while True:
        value, at = _token(text, at, f"={SEPARATOR}")
        entry: Any = _value(value, numbers, len(entries))
        if text[at : at + 1] == "=":
            label, at = _token(text, at + 1, SEPARATOR)
            entry = {"value": entry} | ({"label": text_of_cell(label)} if label else {})
        entries.append(entry)
        if at == len(text):
            return entries
        at += 1


def _entry_cell(entry: Any, numbers: bool) -> str | None:
    if not isinstance(entry, dict):
        return _value_cell(entry, numbers)
    value = _value_cell(entry["value"], numbers)
    if value is None:
        return None
    label = text_cell(entry["label"], SEPARATOR) if "label" in entry else ""
    return f"{value} = {label}".rstrip()


def _value_cell(value: Any, numbers: bool) -> str | None:
    if isinstance(value, str):
        return json.dumps(value) if numbers else text_cell(value, f"={SEPARATOR}")
    plain = json.dumps(value)
    return plain if numbers and NUMBER.fullmatch(plain) else None


def _token(text: str, at: int, ends: str) -> tuple[str, int]:
    """Return a value or a label as it is written, and the place of what ends it."""
    while text[at : at + 1].isspace():
        at += 1
    begin = quoted = at
    if text[at : at + 1] == '"':
        try:
            _, quoted = JSON.raw_decode(text, at)
        except ValueError:
            raise InvalidInput(
                f"{shown(text[begin:])} begins with a quotation mark and is no JSON string"
            ) from None
    at = next((j for j in range(quoted, len(text)) if text[j] in ends), len(text))
    if quoted > begin and text[quoted:at].strip():
        raise InvalidInput(f"{shown(text[begin:at])} goes on after its closing quotation mark")
    return text[begin:at].strip(), at


def _value(token: str, numbers: bool, place: int) -> str | float:
    if not token:
        raise InvalidInput(f'entry {place + 1} has no value; write "" for the empty text')
    if not numbers or token[0] == '"':
        return text_of_cell(token)
    if not NUMBER.fullmatch(token):
        raise InvalidInput(f"{shown(token)} is no number, as the field is")
    number: float = json.loads(token)
    return number
