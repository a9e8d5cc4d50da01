"""Codebooks of the Data Documentation Initiative (DDI Codebook, XML) as properties of fields.

Only the label of a value counts: how often it was seen, and which values were, is data. For the
same reason a range of valid values is told and not taken: many programs write there which values
were seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from mipselect.disk import small_content
from mipselect.errors import InvalidInput
from mipselect.tables.codebooks import Codebook
from mipselect.tables.stat_codebook import missing_codes, properties
from mipselect.tables.stat_types import StatType
from mipselect.validation import plain_digits, shown

MOST_BYTES = 1 << 26
RANGE = (
    "{}: the codebook says that valid values are from {} to {}; write them into constraints if "
    "they are known from the design, and not if they are those of the rows"
)


def ddi_codebook(path: Path, names: Sequence[str]) -> Codebook:
    """Read the variables of a codebook, of DDI Codebook 1.2 to 2.5.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Names of the columns of the table, whose ranges are told.

    Raises
    ------
    InvalidInput
        Naming the file; also for a document type or entities, which nothing here needs.
    """
    root = _parsed(path)
    fields: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    for variable in (each for each in root.iter() if each.tag.rpartition(" ")[2] == "var"):
        name = (variable.get("name") or "").strip()
        if not name:
            raise InvalidInput(f"{path}: a variable has no name")
        if name in fields:
            raise InvalidInput(f"{path}: two variables are called {shown(name)}")
        fields[name], said = _field(variable, name)
        notes += said if name in names else []
    if not fields:
        raise InvalidInput(f"{path}: has no variables; is it a codebook of DDI?")
    return Codebook(str(path), fields, notes=tuple(notes))


def _parsed(path: Path) -> Element:
    def refuse(*_: Any) -> NoReturn:
        raise InvalidInput(
            f"{path}: a document type with entities is not read; remove what begins with <!DOCTYPE"
        )

    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(small_content(path, MOST_BYTES), True)
    except expat.ExpatError as error:
        raise InvalidInput(f"{path}: not valid XML: {error}") from error
    return builder.close()


def _inside(element: Element, name: str) -> Iterator[Element]:
    """Yield the elements of this name directly inside another."""
    return (each for each in element if each.tag.rpartition(" ")[2] == name)


def _text(element: Element, name: str) -> str:
    """Return the text of the first element of a name, with single blanks."""
    first = next(_inside(element, name), None)
    return "" if first is None else " ".join("".join(first.itertext()).split())


def _field(variable: Element, name: str) -> tuple[dict[str, Any], list[str]]:
    """Read the properties of a field, and write sentences about its ranges."""
    categories = list(_inside(variable, "catgry"))
    values = {_text(each, "catValu"): _text(each, "labl") for each in categories}
    kind = _kind(variable, list(values))
    is_text = kind is not None and kind.is_text
    none = [_text(each, "catValu") for each in categories if each.get("missing", "N") == "Y"]
    ranges = [_ends(text, text, is_text) for text in none]
    for invalid in _inside(variable, "invalrng"):
        for item in _inside(invalid, "item"):
            ranges.append(_ends(item.get("VALUE"), item.get("VALUE"), is_text))
        for span in _inside(invalid, "range"):
            ranges.append(_ends(span.get("min"), span.get("max"), is_text))
    missing = missing_codes([ends for ends in ranges if ends is not None], str.strip)
    labels = {
        code: label
        for text, label in values.items()
        if label and (code := text if is_text else _number(text)) is not None
    }
    ordered = variable.get("nature") == "ordinal"
    known = kind or StatType("number")
    found = properties(known, _text(variable, "labl"), labels, missing, ordered=ordered)
    if kind is not None:
        found.setdefault("type", kind.kind)
    notes = [
        f"{shown(name)}: the codebook declares all values from {low:g} to {high:g} to be none, "
        "which are too many to list; write those that occur by design into missingValues"
        for low, high in missing.ranges
    ]
    for valid in _inside(variable, "valrng"):
        for span in _inside(valid, "range"):
            ends = span.get("min"), span.get("max")
            notes += [RANGE.format(shown(name), *map(shown, ends))] if all(ends) else []
    return found, notes


def _kind(variable: Element, values: Sequence[str]) -> StatType | None:
    """Choose texts or numbers by the format, or without one by the codes of the categories."""
    form = next(_inside(variable, "varFormat"), None)
    said = "" if form is None else form.get("type", "")
    if said == "character" or (not said and any(_number(text) is None for text in values)):
        return StatType("string")
    if said != "numeric":
        return StatType("number") if values else None
    return StatType("integer" if variable.get("dcml") == "0" else "number")


def _ends(low: str | None, high: str | None, is_text: bool) -> dict[str, Any] | None:
    """Read a range as `missing_codes` takes it; where an end is missing it is the largest float."""
    if is_text:
        return {"lo": low, "hi": high} if low and high else None
    numbers = (_number(low or "-1.7e308"), _number(high or "1.7e308"))
    return None if None in numbers else {"lo": numbers[0], "hi": numbers[1]}


def _number(text: str) -> float | None:
    try:
        number = float(plain_digits(text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
