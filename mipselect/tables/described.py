"""The beginning of a schema: names and types of a header, a codebook, and what rows propose.

Names, headers and codebooks are public. That a column has nothing but whole numbers tells something
of its rows, unless it is known anyway. So what comes from rows is marked, and nothing is drawn by
it before a person says that it is public.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import compute

from mipselect.errors import InvalidInput, about
from mipselect.tables.fields import BLANKS, IGNORED, MAPPED, PROPOSED, ROLE, TRUE, Field
from mipselect.tables.fields import NUMBER as A_NUMBER
from mipselect.tables.parts import TableFile
from mipselect.tables.schema import FEATURES, PRIVACY_UNIT, TableSchema
from mipselect.tables.sources import ENDINGS, STAT, open_source
from mipselect.validation import listed

# What names say.

OF_IDENTIFIERS = frozenset({"id", "ids", "identifier", "uuid", "guid"})
"""Words that begin or end the name of an identifier."""

IDENTIFIER = re.compile(
    r"(patient|person|subject|participant|respondent|case|user|record|visit|household)s?(id|nr|no)"
    r"|(patient|person|case|record|prov|provider|hospital|facility|member|account|customer|client"
    r"|employee|student|serial)(id|nr|no|nbr|num|number)"
    r"|rows?(name|nr|no|num|number)s?|index|patient|person|participant|respondent"
)
"""Names of identifiers in one word: of somebody, of an institution, and of the place of a row."""

FREE_TEXT = re.compile(
    r"(first|last|family|given|full|patient|person|free)*"
    r"(name|surname|forename|email|phone|telephone|address|comments?|remarks?|notes?)|freetext"
)
"""Names of texts that say what no list of categories does, in one word."""

GIVEN = frozenset({"categories", "constraints", "unit", ROLE})
"""Properties that somebody gave to a field that is used."""


def looks_ignored(name: str, field: Mapping[str, Any]) -> bool:
    """Return whether a field looks like an identifier or free text, by its name.

    Parameters
    ----------
    name : str
    field : mapping
        Its properties in a Table Schema.
    """
    if GIVEN & set(field) or field.get("type") == "boolean":
        return False
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name)]
    if not words:
        return False
    in_one = "".join(words)
    if {words[0], words[-1]} & OF_IDENTIFIERS or IDENTIFIER.fullmatch(in_one):
        return True
    return field.get("type", "any") in ("string", "any") and bool(FREE_TEXT.fullmatch(in_one))


def looking_like_identifiers(names: Iterable[object]) -> tuple[list[str], str]:
    """List the columns that are called so, and say that it looks, or they look, like that."""
    # As if all were numbers: free text is no identifier.
    whole = {"type": "integer"}
    alike = [name for name in names if isinstance(name, str) and looks_ignored(name, whole)]
    return alike, "looks like an identifier" if len(alike) == 1 else "look like identifiers"


# What a codebook says.


def read_codebook(path: str | Path, source: TableFile) -> TableSchema:
    """Read what somebody wrote down of a table.

    Parameters
    ----------
    path : str or Path
        A Table Schema of Frictionless (JSON); or a file of SPSS, Stata or SAS, whose header has a
        codebook.
    source : TableFile

    Raises
    ------
    InvalidInput
        Naming the file, and what is wrong in it; also where it is about another table.
    """
    path, columns = Path(path), open_source(source)[0].names
    if ENDINGS.get(path.suffix.lower()) == STAT:
        codebook = described(path).schema
    else:
        codebook = TableSchema.read(path)
    names = [field.name for field in codebook.fields]
    if not set(names) & set(columns):
        raise InvalidInput(f"{path}: describes no column of {source}; it describes {listed(names)}")
    return codebook


# What rows propose.

NONE = ("", "na", "n/a", "nan", "null", "none", ".")
"""Texts in small letters that are taken for no value while a type is looked for."""

TEXT = {"type": "string"}
COMMA, EITHER, INTEGER, NUMBER = "decimal comma", "three digits", "integer", "number"
KINDS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "true or false": ("true|false", {"type": "boolean"}),
    "yes or no": (
        "yes|no",
        {
            "type": "boolean",
            "trueValues": ["yes", "Yes", "YES"],
            "falseValues": ["no", "No", "NO"],
        },
    ),
    "y or n": ("y|n", {"type": "boolean", "trueValues": ["y", "Y"], "falseValues": ["n", "N"]}),
    "day": (r"\d{4}-\d{2}-\d{2}", {"type": "date"}),
    EITHER: (r"[+-]?[1-9]\d{0,2},\d{3}", TEXT),
    COMMA: (r"[+-]?\d+,\d+", {"type": "number", "decimalChar": ","}),
    "code": (r"[+-]?0\d+", TEXT),
    INTEGER: (r"[+-]?\d+", {"type": "integer"}),
    NUMBER: (A_NUMBER, {"type": "number"}),
}
"""Kinds of texts in any case, by the first pattern that fits, and the properties of their fields.

With three digits behind a comma a number may have thousands: that is a decimal comma beside other
ones only. A number that begins with 0 is a code, for as a number 007 would be 7.
"""


def proposed_types(source: Any) -> dict[str, dict[str, Any]]:
    """Propose a type for every column of a table without types, as properties of its field.

    It is integer, number, boolean, date or string. A boolean of yes and no, or of y and n, has its
    texts too, and a number its decimal comma. All rows are read. The result is SENSITIVE: it is
    computed from them without any privacy.

    Parameters
    ----------
    source : path or table
        See `mipselect.tables.sources.open_source`.

    Raises
    ------
    InvalidInput
        If the table has types of its own.
    """
    parts = open_source(source)
    if any(part.has_types for part in parts):
        raise InvalidInput(
            f"{parts[0].label}: has types of its own; they are proposed for CSV and Excel only"
        )
    kinds: dict[str, set[str]] = {name: set() for name in parts[0].names}
    for part in parts:
        # Of two columns with one name a file has no type; the schema will be refused.
        names = list(dict.fromkeys(name for name in part.names if name in kinds))
        for batch in part.read(names):
            for name, column in zip(names, batch.columns, strict=True):
                is_union = pa.types.is_union(column.type)
                found = (column if is_union else compute.unique(column)).to_pylist()
                kinds[name].update(map(_kind, found))
    return {name: _properties(found) for name, found in kinds.items()}


def confirmed(schema: TableSchema) -> TableSchema:
    """Return the same without the marks of types that were proposed from the data."""
    content = schema.content
    for entry in content["fields"]:
        entry.pop(PROPOSED, None)
    return TableSchema.of(content)


def type_in_words(field: Field) -> str:
    """Write name, type and role, with the texts of a boolean where they are not true and false."""
    texts = f" ({field.true_values[0]} or {field.false_values[0]})"
    others = texts if field.type == "boolean" and field.true_values != TRUE else ""
    role = "" if field.role is None else f", {field.role}"
    return f"{field.name} {field.type}{others}{role}"


def _text(value: bytes | None) -> str:
    return bytes(value or b"").decode("utf-8", "surrogateescape").strip(BLANKS)


def _kind(value: float | bytes | None) -> str:
    """Return the kind of one value; "" for no value."""
    if isinstance(value, float):
        return INTEGER if value.is_integer() else NUMBER
    text = _text(value).lower()
    if text in NONE:
        return ""
    for kind, (pattern, properties) in KINDS.items():
        if re.fullmatch(pattern, text, re.ASCII):
            return kind if properties["type"] != "date" or _is_day(text) else "text"
    return "text"


def _is_day(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _properties(kinds: set[str]) -> dict[str, Any]:
    """Return the properties of a field with values of these kinds; most together are texts."""
    found = kinds - {""}
    if found == {INTEGER, NUMBER}:
        found = {NUMBER}
    elif COMMA in found and found <= {INTEGER, COMMA, EITHER}:
        found = {COMMA}
    kind = found.pop() if len(found) == 1 else "text"
    return dict(KINDS[kind][1] if kind in KINDS else TEXT)


# All of it together.

CHECK = (
    "categories come from labels: {}. Check each: a field is no category where only some of its "
    "values have labels, such as codes of no value (write these into missingValues) or the top of "
    "a scale (take the categories out and write a range)"
)
IDENTIFYING = (
    "some fields look like identifiers or free text, and begin with mipselect:role "
    '"ignored": {}. Take the role out of one that is a feature'
)
SEVERAL_ROWS = (
    "may a person have several rows? Then name the field that says whose row it is in "
    "csvw-eo:privacyUnit, beside fields, and take its role out. Without it the guarantee is for "
    "one row of a person, and not for the person"
)


class Described(NamedTuple):
    """A schema that was begun, and what a person should know of it."""

    schema: TableSchema
    notes: tuple[str, ...]
    typeless: bool
    """True of CSV and Excel, which store no types, as long as nobody says any."""


def described(
    source: Any,
    codebook: TableSchema | None = None,
    proposed: Mapping[str, Mapping[str, Any]] | None = None,
) -> Described:
    """Begin a schema of the first part of a table; no value is looked at.

    Parameters
    ----------
    source : path or table
        See `mipselect.tables.sources.open_source`.
    codebook : TableSchema, optional
        What it says of a field takes the place of what the header says.
    proposed : mapping of str to mapping, optional
        See `proposed_types`; they are marked as that. Nothing is taken from them where the codebook
        says the type.

    Raises
    ------
    InvalidInput
        If the names of the columns make no schema.
    """
    part = open_source(source)[0]
    table = {"missingValues": [""], **({} if codebook is None else codebook.content)}
    table.pop("$schema", None)
    known = {entry["name"]: entry for entry in table.pop("fields", ())}
    used = {table.get(PRIVACY_UNIT), *(each.get("from") for each in table.get(FEATURES, ()))}
    fields = []
    for name, said in zip(part.names, part.fields, strict=True):
        told, of_rows = known.get(name, {}), (proposed or {}).get(name)
        marked = {} if of_rows is None or "type" in told else {**of_rows, PROPOSED: True}
        fields.append({"name": name, **said, **marked, **told})
    for entry in fields:
        if entry["name"] not in used and looks_ignored(entry["name"], entry):
            entry[ROLE] = IGNORED
    with about(f"{part.label}: its columns make no schema"):
        schema = TableSchema.of({**table, "fields": fields})
    notes = list(_notes(schema, [name for name in known if name not in part.names]))
    if schema.ignored:
        notes.append(IDENTIFYING.format(listed(list(schema.ignored))))
        notes += [] if schema.privacy_unit else [SEVERAL_ROWS]
    typeless = not part.has_types and all(field.type == "string" for field in schema.fields)
    return Described(schema, tuple(notes), typeless)


def _notes(schema: TableSchema, absent: Sequence[str]) -> Iterator[str]:
    labelled = [
        entry["name"]
        for entry in schema.content["fields"]
        if entry["type"] in MAPPED
        and any(isinstance(c, Mapping) and "label" in c for c in entry.get("categories", ()))
    ]
    if labelled:
        yield CHECK.format(listed(labelled))
    if absent:
        yield f"the codebook describes columns that are not there: {listed(absent)}"
