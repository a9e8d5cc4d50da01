"""`TableSchema`: the public description of a table, a file in the Frictionless standard."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any

from mipselect import disk
from mipselect.errors import InvalidInput, about
from mipselect.json_objects import faults, read_json
from mipselect.tables.derived import FEATURES, DerivedField, derived_fields
from mipselect.tables.fields import (
    IGNORED,
    NUMBERS,
    POINTS,
    PROPOSED,
    ROLE,
    Field,
    field_of,
    values_of,
)
from mipselect.validation import LAST_INTEGER, checked_scale, did_you_mean, listed, shown

MOST_BYTES = 1 << 24
"""A schema file is written by people; more is something else."""

PRIVACY_UNIT = "csvw-eo:privacyUnit"

OF_CSVW_EO = (PRIVACY_UNIT, "csvw-eo:maxContributions")

USED_OF_TABLES = (*OF_CSVW_EO, FEATURES, "missingValues")
USED_OF_FIELDS = (
    *("type", "format", "constraints", "categories", "categoriesOrdered", "missingValues"),
    *("trueValues", "falseValues", "decimalChar", "groupChar", ROLE, PROPOSED),
)
USED_OF_CONSTRAINTS = ("minimum", "maximum", "required", "enum")
"""Properties that change what a field becomes; only these are looked for in a misspelt name."""

OUR_OWN = "mipselect:"
WEIGHT = "weight"
"""The role of the survey weight: how much a row counts, with a public maximum."""


@dataclass(frozen=True)
class TableSchema:
    """Public description of a table: its fields, their ranges and categories.

    Attributes
    ----------
    fields : tuple of Field
        In the order of the file; their names differ.
    privacy_unit : str or None
        The field that says whose row it is (`csvw-eo:privacyUnit`).
    text : str
        The whole file as JSON, with the properties that are not used here.
    derived : tuple of DerivedField
        The features that are made of fields (`mipselect:features`), in the order of the file.

    Notes
    -----
    Ranges and categories must be public knowledge: from a codebook, or from the design of the
    study. Taken from the data they void the guarantee of every release.

    References
    ----------
    Frictionless Table Schema, version 2 (datapackage.org); CSVW-EO for the privacy unit.

    Examples
    --------
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of(
    ...     {
    ...         "missingValues": ["", "NA"],
    ...         "fields": [
    ...             {"name": "age", "type": "number", "constraints": {"minimum": 0, "maximum": 99}},
    ...             {"name": "sex", "type": "string", "categories": ["f", "m"]},
    ...         ],
    ...     }
    ... )
    >>> [field.name for field in schema.fields]
    ['age', 'sex']
    >>> schema
    <TableSchema: age, sex>
    """

    fields: tuple[Field, ...]
    privacy_unit: str | None
    text: str
    derived: tuple[DerivedField, ...] = ()

    def __repr__(self) -> str:
        """Name the fields: an estimator that has a schema is shown with it."""
        unit = "" if self.privacy_unit is None else f"; people by {self.privacy_unit}"
        return f"<TableSchema: {listed([field.name for field in self.fields])}{unit}>"

    @property
    def features(self) -> tuple[Field, ...]:
        """All that may be features: the fields, then what is made of them."""
        return (*self.fields, *self.derived)

    @property
    def only_read(self) -> frozenset[str]:
        """The fields of dates and times that derived features are made of."""
        sources = {field.source.name for field in self.derived}
        return frozenset(f.name for f in self.fields if f.type in POINTS and f.name in sources)

    @classmethod
    def read(cls, path: str | Path) -> TableSchema:
        """Read a schema file.

        Raises
        ------
        InvalidInput
            Naming the file, the place in it, and what would be right.
        """
        path = Path(path)
        content = read_json(path, MOST_BYTES)
        with about(str(path)):
            return cls.of(content)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> TableSchema:
        """Make a schema of a JSON object; raise `InvalidInput` with the path into it."""
        if not isinstance(content, Mapping):
            raise InvalidInput("a table schema is a JSON object with fields")
        if "fields" not in content and "resources" in content:
            raise InvalidInput(
                "this is a data package; write the schema of one of its resources to a file"
            )
        for fault in faults(content, "mipselect.tables", "table_schema.json"):
            raise InvalidInput(fault)
        _refuse_misspelt(content)
        missing = values_of(content.get("missingValues", [""]))
        fields = tuple(
            field_of(entry, missing, f"fields[{j}]") for j, entry in enumerate(content["fields"])
        )
        first: dict[str, int] = {}
        for j, field in enumerate(fields):
            if first.setdefault(field.name, j) != j:
                raise InvalidInput(
                    f"fields[{j}].name: field names must differ; fields[{first[field.name]}] is "
                    f"{shown(field.name)} too"
                )
        unit = content.get(PRIVACY_UNIT)
        if unit is not None and unit not in first:
            raise InvalidInput(f"{PRIVACY_UNIT}: {unknown_name(unit, first)}")
        if unit is not None:
            _require_identities(fields[first[unit]])
        _check_weight(fields, unit)
        derived = derived_fields(content.get(FEATURES, []), fields, unit)
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        return cls(fields, unit, text, derived)

    @classmethod
    def of_numbers(cls, ranges: Mapping[str, tuple[float, float] | None]) -> TableSchema:
        """Return the schema of fields that are always there, numbers with these ranges.

        Parameters
        ----------
        ranges : mapping of str to (float, float) or None
            Public ranges by field, in the units of the fields; None where nobody knows one.
        """
        return cls.of(
            {
                "fields": [
                    {
                        "name": name,
                        "type": "number",
                        "constraints": {
                            **({} if ends is None else {"minimum": ends[0], "maximum": ends[1]}),
                            "required": True,
                        },
                    }
                    for name, ends in ranges.items()
                ]
            }
        )

    @classmethod
    def skeleton(cls, source: Any) -> TableSchema:
        """Begin a schema: what the header of a table says of its columns, and nothing else.

        These are names and stored types; of SPSS, Stata and SAS also labels, which become titles
        and categories, and codes of no value. No value of the table is looked at: whatever else
        there is to say a person writes, from public knowledge. Files of CSV and Excel have no
        types; their fields are texts.

        Parameters
        ----------
        source : path or table
            See `mipselect.tables.sources.open_source`.
        """
        from mipselect.tables.described import described

        return described(source).schema

    def write(self, path: str | Path) -> None:
        """Write the file, whole or not at all, with all that `read` found in it."""
        disk.save(Path(path), self.text.encode())

    @property
    def content(self) -> dict[str, Any]:
        """A new copy of the JSON object."""
        content: dict[str, Any] = json.loads(self.text)
        return content

    @property
    def ignored(self) -> tuple[str, ...]:
        """The fields that are never features; nothing is read of them, and they may be lacking."""
        return tuple(field.name for field in self.fields if field.role == IGNORED)

    def refuse_ignored(self, names: Collection[str], what: str) -> None:
        """Raise `InvalidInput` for a field that is ignored; `what` is what it would be."""
        for name in self.ignored:
            if name in names:
                raise InvalidInput(
                    f"{what}: {shown(name)} is ignored by the schema ({ROLE}); take the role out "
                    "of the schema to use it"
                )

    @property
    def weight(self) -> Field | None:
        """The field that is the survey weight of a row, or None."""
        return next((field for field in self.fields if field.role == WEIGHT), None)

    @property
    def weight_name(self) -> str | None:
        """The name of that field."""
        return None if self.weight is None else self.weight.name

    def field(self, name: str, what: str) -> Field:
        """Return a field or derived feature by its name; `what` is how a message calls it."""
        for field in self.features:
            if field.name == name:
                return field
        raise InvalidInput(f"{what}: {unknown_name(name, [field.name for field in self.features])}")


def _check_weight(fields: Sequence[Field], unit: str | None) -> None:
    """Raise `InvalidInput` unless there is no weight, or one that can be used."""
    found = [(j, field) for j, field in enumerate(fields) if field.role == WEIGHT]
    if len(found) > 1:
        (first, one), (second, other) = found[:2]
        raise InvalidInput(
            f"fields[{second}].{ROLE}: one field may be the weight, and fields[{first}] "
            f"({shown(one.name)}) is it too, besides {shown(other.name)}"
        )
    for j, field in found:
        where = f"fields[{j}] (field {field.name})"
        if field.type not in NUMBERS or field.categories is not None:
            raise InvalidInput(
                f"{where}: a weight is of type number or integer, without categories; got type "
                f"{field.type}{' with categories' if field.categories is not None else ''}"
            )
        if field.name == unit:
            raise InvalidInput(f"{where}: says whose row it is and cannot be the weight")
        if field.maximum is None or field.maximum <= 0.0:
            raise InvalidInput(
                f"{where}: a weight needs a public constraints.maximum above 0: the most that one "
                f"row may count; got {'none' if field.maximum is None else shown(field.maximum)}"
            )
        checked_scale(field.maximum, f"{where}: constraints.maximum of the weight")
        if field.minimum is not None and field.minimum < 0.0:
            raise InvalidInput(
                f"{where}: constraints.minimum of a weight must be 0 or more, got "
                f"{shown(field.minimum)}"
            )


def unit_of(schema: TableSchema) -> Field | None:
    """Return the field that says whose row it is; None if one row is one person."""
    name = schema.privacy_unit
    return None if name is None else schema.field(name, "privacy unit")


def unknown_name(name: object, known: Iterable[str]) -> str:
    """Say that there is no such field, and which there are."""
    names = list(known)
    hint = did_you_mean(name, names)
    return f"the schema has no field {shown(name)}; its fields: {listed(names)}{hint}"


def _require_identities(field: Field) -> None:
    """Refuse numbers which a float does not tell apart, and a field that is ignored."""
    ends = [end for end in (field.minimum, field.maximum) if end is not None]
    if field.is_number and any(abs(end) >= LAST_INTEGER for end in ends):
        raise InvalidInput(
            f"{PRIVACY_UNIT}: field {shown(field.name)} has numbers from 2^53 = "
            f"{LAST_INTEGER:,} on, which are not told apart where they are stored as floats: give "
            'it the type "string" and keep its values as texts'
        )
    if field.role == IGNORED:
        raise InvalidInput(
            f"{PRIVACY_UNIT}: field {shown(field.name)} is ignored ({ROLE}) and cannot say whose "
            "row it is; take one of both out"
        )


def _refuse_misspelt(content: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for a property that is nearly a known one, or at a wrong place.

    A property that nobody knows is kept and ignored, as the standard asks. So a misspelt minimum,
    or a misspelt person column, would change a result, or what it protects, in silence.
    """
    elsewhere = {name: f"constraints.{name} of a field" for name in USED_OF_CONSTRAINTS}
    elsewhere |= {name: f"{name} of the table, beside fields" for name in (*OF_CSVW_EO, FEATURES)}
    of_a_field = {name: f"{name} of the field, beside constraints" for name in USED_OF_FIELDS}
    objects: list[tuple[str, Mapping[str, Any], Sequence[str], Mapping[str, str]]]
    objects = [("", content, USED_OF_TABLES, {})]
    for j, field in enumerate(content["fields"]):
        at, constraints = f"fields[{j}].", field.get("constraints", {})
        objects.append((at, field, USED_OF_FIELDS, elsewhere))
        objects.append((f"{at}constraints.", constraints, USED_OF_CONSTRAINTS, of_a_field))
    for at, named, used, others in objects:
        for name in named:
            near = [one for one in (*used, *others) if _is_near(name, one)]
            if name not in used and near:
                (meant,) = get_close_matches(name, near, n=1, cutoff=0.0)
                raise InvalidInput(
                    f"{at}{name} is no property here; did you mean {others.get(meant, meant)}?"
                )
            if name not in used and name.startswith(OUR_OWN):
                ours = ", ".join(sorted(one for one in used if one.startswith(OUR_OWN)))
                raise InvalidInput(
                    f"{at}{name}: there is no such property; known here: {ours or 'none'}"
                )


def _is_near(name: str, known: str) -> bool:
    """Return whether a name has the letters of a known one, but for case, signs and one or two.

    One letter may differ where the known name has six or less. The prefix of a known name may be
    lacking, or be another one, where the rest has ten letters or more.
    """
    _, prefixed, rest = known.rpartition(":")
    own = name.rpartition(":")[2]
    if prefixed and len(rest) >= 10 and _differ(own, rest):
        return True
    # A word with the prefix of another vocabulary, such as dc:format, is not ours.
    return bool(prefixed) == (":" in name) and _differ(name, known)


def _differ(name: str, known: str) -> bool:
    """Return whether two words differ by so few letters that one is the other."""
    one, other = (re.sub(r"[^a-z0-9]", "", word.casefold()) for word in (name, known))
    most = 1 if len(other) <= 6 else 2
    if abs(len(one) - len(other)) > most:
        return False
    steps = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    letters = sum(max(b - a, d - c) for tag, a, b, c, d in steps if tag != "equal")
    return letters <= most or sorted(one) == sorted(other)
