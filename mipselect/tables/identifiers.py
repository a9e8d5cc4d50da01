"""Columns that look like identifiers or free text: by their names, their codebook, or their values.

Names and codebooks are public. What is told by values is sensitive until it is confirmed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from mipselect.tables.fields import BLANKS, ROLE
from mipselect.tables.proposed_types import NONE
from mipselect.tables.sources import open_source

OF_IDENTIFIERS = frozenset({"id", "ids", "identifier", "uuid", "guid"})
"""Words that begin or end the name of an identifier."""

IN_ONE_WORD = (
    r"(patient|person|subject|participant|respondent|case|user|record|visit|household)s?(id|nr|no)"
    r"|(patient|person|case|record|prov|provider|hospital|facility|member|account|customer|client"
    r"|employee|student|serial)(id|nr|no|nbr|num|number)"
    r"|rows?(name|nr|no|num|number)s?|index"
)
"""Names of identifiers in one word, also of an institution, and of the place of a row."""

PEOPLE = frozenset({"patient", "person", "participant", "respondent"})
"""Names of a column that says who somebody is, and of no feature."""

OF_TEXT = frozenset(
    (
        *("name", "surname", "lastname", "firstname", "forename", "fullname"),
        *("email", "phone", "telephone", "address"),
        *("comment", "comments", "remark", "remarks", "note", "notes", "freetext"),
    )
)
"""Names of texts that say what no list of categories does, alone or after `BEFORE`."""

BEFORE = frozenset({"first", "last", "family", "given", "full", "patient", "person", "free"})

FORMATS = frozenset({"email", "uri", "uuid", "binary"})
"""Formats of a text in a Table Schema that identify."""

KNOWN = frozenset({"categories", "constraints", "unit", ROLE})
"""Properties that somebody gave to a field that is used."""

TEXTS = ("string", "any")
LEAST_VALUES = 20
MOST_VALUES = 100_000
"""So many different values are looked at; beyond, the column is taken to have no end of them."""


def looks_ignored(name: str, field: Mapping[str, Any], key: Collection[str]) -> bool:
    """Return whether a field looks like an identifier or free text, by public knowledge.

    Parameters
    ----------
    name : str
    field : mapping
        Its properties in a Table Schema.
    key : collection of str
        The primary key of the table.
    """
    if KNOWN & set(field) or field.get("type") == "boolean":
        return False
    if name in key and len(key) == 1:
        return True
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name)]
    if not words:
        return False
    in_one = "".join(words)
    named = in_one in PEOPLE or re.fullmatch(IN_ONE_WORD, in_one)
    if {words[0], words[-1]} & OF_IDENTIFIERS or named:
        return True
    if field.get("type", "any") not in TEXTS:
        return False
    is_text = words[-1] in OF_TEXT and set(words[:-1]) <= BEFORE
    return is_text or in_one in OF_TEXT or field.get("format") in FORMATS


def names_identities(name: str) -> bool:
    """Return whether a column is called as identifiers are, whatever its type."""
    return looks_ignored(name, {"type": "integer"}, ())


def looking_like_identifiers(names: Iterable[object]) -> tuple[list[str], str]:
    """List the columns that are called so, and say that it looks, or they look, like that."""
    alike = [name for name in names if isinstance(name, str) and names_identities(name)]
    return alike, "looks like an identifier" if len(alike) == 1 else "look like identifiers"


def without_repeats(source: Any, names: Sequence[str]) -> frozenset[str]:
    """Find the columns of texts in which no value stands twice. SENSITIVE: all rows are read.

    Parameters
    ----------
    source : path or table
        See `mipselect.tables.sources.open_source`.
    names : sequence of str
        Those that are looked at.
    """
    seen = {name: set[bytes]() for name in names}
    for part in open_source(source):
        read = [name for name in dict.fromkeys(part.names) if name in seen]
        for batch in part.read(read) if read else ():
            for name, column in zip(read, batch.columns, strict=True):
                if name in seen and _repeats(seen[name], column):
                    del seen[name]
    return frozenset(name for name, values in seen.items() if len(values) >= LEAST_VALUES)


def _repeats(seen: set[bytes], column: pa.Array) -> bool:
    """Add the values of a column, until one has stood twice; return whether one has."""
    for value in column.to_pylist():
        if len(seen) >= MOST_VALUES:
            return False
        written = "" if value is None else value
        text = written if isinstance(written, bytes) else str(written).encode("utf-8", "replace")
        text = text.strip(BLANKS.encode())
        if text.decode("utf-8", "replace").lower() in NONE:
            continue
        if text in seen:
            return True
        seen.add(text)
    return False
