"""The beginning of a schema: what is public in the header of a table, and in its codebook."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mipselect.errors import InvalidInput, about
from mipselect.tables.codebooks import NO_CODEBOOK, Codebook
from mipselect.tables.derived import FEATURES
from mipselect.tables.fields import IGNORED, MAPPED, PROPOSED, ROLE
from mipselect.tables.identifiers import looks_ignored
from mipselect.tables.parts import Part
from mipselect.tables.schema import PRIVACY_UNIT, TableSchema
from mipselect.tables.sources import open_source
from mipselect.validation import listed

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
OF_WEIGHTS = (
    "is {} the weight of a survey, how many people a row stands for? Then give it "
    '"mipselect:role": "weight" and a maximum; without the role it is a feature'
)
WEIGHTS = re.compile(
    r"[pfd]?(weights?|wgt)|(survey|sample|sampling|design|person|final|post)[ _.-]?(weights?|wgt)",
    re.IGNORECASE,
)
"""Names of weights of surveys; one may be that of a body."""


@dataclass(frozen=True)
class Described:
    """A schema that was begun, and what a person should know of it.

    Attributes
    ----------
    schema : TableSchema
    notes : tuple of str
    has_types : bool
        False of CSV and Excel, which store none.
    """

    schema: TableSchema
    notes: tuple[str, ...]
    has_types: bool


def described(
    source: Any,
    codebook: Codebook = NO_CODEBOOK,
    types: Mapping[str, Mapping[str, Any]] | None = None,
    unlike: Collection[str] = (),
) -> Described:
    """Begin a schema of the first part of a table; no value is looked at.

    Parameters
    ----------
    source : path or table
        See `mipselect.tables.sources.open_source`.
    codebook : Codebook
        What it says of a field takes the place of what the header says.
    types : mapping of str to mapping, optional
        Types that were proposed from the data, by field, with the texts of a boolean; they are
        marked as that.
    unlike : collection of str
        Fields that the data propose to ignore, for no value stands twice; marked too.

    Raises
    ------
    InvalidInput
        If the names of the columns make no schema, or the codebook is of another table.
    """
    part = open_source(source)[0]
    if codebook.fields and not set(codebook.fields) & set(part.names):
        raise InvalidInput(
            f"{codebook.label}: describes no column of {part.label}; it describes "
            f"{listed(list(codebook.fields))}"
        )
    fields = []
    for name, said in zip(part.names, part.fields, strict=True):
        told, proposed = codebook.fields.get(name, {}), (types or {}).get(name)
        marked = {} if proposed is None or "type" in told else {**proposed, PROPOSED: True}
        fields.append({"name": name, **said, **marked, **told})
    ignored = _ignored(fields, codebook.table)
    for field in fields:
        if field["name"] in ignored or (field.get(PROPOSED) and field["name"] in unlike):
            field[ROLE] = IGNORED
    with about(codebook.label or f"{part.label}: its columns make no schema"):
        schema = TableSchema.of({**codebook.table, "fields": fields})
    notes = [*part.notes, *codebook.notes, *_notes(schema, part, codebook)]
    if schema.ignored:
        notes.append(IDENTIFYING.format(listed(list(schema.ignored))))
        notes += [] if schema.privacy_unit else [SEVERAL_ROWS]
    return Described(schema, tuple(notes), part.has_types)


def _ignored(fields: Sequence[Mapping[str, Any]], table: Mapping[str, Any]) -> frozenset[str]:
    """Find the fields that look like identifiers or free text by public knowledge."""
    key = table.get("primaryKey", ())
    keys = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, list) else ()
    made = table.get(FEATURES, ())
    used = {table.get(PRIVACY_UNIT), *(each.get("from") for each in made)}
    return frozenset(
        field["name"]
        for field in fields
        if field["name"] not in used and looks_ignored(field["name"], field, keys)
    )


def _notes(schema: TableSchema, part: Part, codebook: Codebook) -> Iterator[str]:
    labelled = [
        entry["name"]
        for entry in schema.content["fields"]
        if entry["type"] in MAPPED
        and any(isinstance(c, Mapping) and "label" in c for c in entry.get("categories", ()))
    ]
    if labelled:
        yield CHECK.format(listed(labelled))
    absent = [name for name in codebook.fields if name not in part.names]
    weights = [f.name for f in schema.fields if f.role is None and WEIGHTS.fullmatch(f.name)]
    if weights:
        yield OF_WEIGHTS.format(listed(weights))
    if absent:
        yield f"the codebook describes columns that are not there: {listed(absent)}"
