"""`TableSchema`: the public description of a table, a file in the Frictionless standard.

Derived features are logarithms, roots and parts of dates, each of one value of the same row. A
point in time is of the years 1 to 9999, or it is none. As for numbers, what it stands for does not
depend on how the column is stored; see `mipselect.tables.values`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect import disk, validation
from mipselect.errors import InvalidInput, about
from mipselect.parameters import completed_by
from mipselect.tables import values
from mipselect.tables.fields import (
    IGNORED,
    POINTS,
    PROPOSED,
    ROLE,
    Field,
    field_of,
    outward,
    values_of,
)
from mipselect.tables.values import by_kind, texts_of
from mipselect.validation import LAST_INTEGER, listed, shown

FEATURES = "mipselect:features"

NO_POINT = np.iinfo(np.int64).min
"""Stands for no value, and for one that is no point in time."""

DAY = 86_400
EPOCH = datetime(1970, 1, 1)
SECOND = timedelta(seconds=1)

LEVELS: Mapping[str, tuple[str, ...]] = {
    "month": (
        *("January", "February", "March", "April", "May", "June", "July"),
        *("August", "September", "October", "November", "December"),
    ),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "hour": tuple(map(str, range(24))),
}
"""The parts of a date or a time that are categories; a year is a number."""


CURVES = {"log": (np.log, np.exp), "sqrt": (np.sqrt, np.square)}
"""Functions that do not fall, of numbers from 0 on, with their inverses."""


def curve(way: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a logarithm or a root: minus infinity below the domain, and NaN of NaN."""
    with np.errstate(all="ignore"):
        found: NDArray[np.float64] = CURVES[way][0](np.maximum(numbers, 0.0))
    return np.where(numbers < 0.0, -np.inf, found)


@completed_by(Field)
@dataclass(frozen=True, kw_only=True)
class DerivedField(Field):
    """A feature that is made of one field of the same row; everything in it is public.

    Attributes
    ----------
    made_of : Field
    way : str
        "log", "sqrt", "year", "month", "weekday" or "hour". A range is one of the values that are
        made.

    References
    ----------
    docs/mathematics/public-map.md, for the length of a row.

    Examples
    --------
    >>> from mipselect.tables import TableSchema
    >>> income = {"name": "income", "type": "number", "constraints": {"minimum": 1, "maximum": 9}}
    >>> log = {"name": "log income", "from": "income", "transform": "log"}
    >>> schema = TableSchema.of({"fields": [income], "mipselect:features": [log]})
    >>> schema.derived[0].source.name, schema.derived[0].minimum
    ('income', 0.0)
    """

    made_of: Field
    way: str

    @property
    def source(self) -> Field:
        """The field of the table that its values are made of."""
        return self.made_of

    def column(self, stored: pa.Array) -> pa.Array:
        """Return numbers, NaN where missing, or the names of categories, null where missing.

        A logarithm or a root is minus infinity below its domain.
        """
        if self.way in CURVES:
            return pa.array(curve(self.way, values.numbers(stored, self.made_of)))
        points = seconds(stored, self.made_of)
        absent = points == NO_POINT
        found = self._part(np.where(absent, 0, points))
        if self.way == "year":
            return pa.array(np.where(absent, np.nan, found))
        places = pa.array(found.astype(np.int32), mask=absent)
        return pa.DictionaryArray.from_arrays(places, pa.array(LEVELS[self.way]))

    def _part(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Compute a part of points in time, as a year or a place among its levels."""
        days = points // DAY
        if self.way == "hour":
            return points % DAY // 3600
        if self.way == "weekday":
            return (days + 3) % 7  # The first of January 1970 was a Thursday.
        months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        return 1970 + months // 12 if self.way == "year" else months % 12

    def whole_ends(self, low: float, high: float) -> tuple[float, float]:
        """Extend a range of years, or a curve of whole numbers, to whole ones."""
        if self.way == "year":
            return outward(low, high)
        if self.way not in CURVES or not self.made_of.counts_whole:
            return low, high
        with np.errstate(all="ignore"):
            numbers = CURVES[self.way][1](np.array([low, high])).tolist()
        first, last = curve(self.way, np.array(outward(*numbers))).tolist()
        return (
            min(low, first) if np.isfinite(first) else low,
            max(high, last) if np.isfinite(last) else high,
        )

    @property
    def gap(self) -> str:
        """Words that a person has to write before the feature can be used; "" if nothing."""
        if self.categories is not None or self.minimum is not None:
            return ""
        own = "minimum and maximum of its own"
        return own if self.way == "year" else f"a range of {self.made_of.name}, or {own}"


def derived_fields(
    entries: Sequence[Mapping[str, Any]], fields: Sequence[Field], unit: str | None
) -> tuple[DerivedField, ...]:
    """Make the derived features of a schema, whose shapes are known to be right.

    Parameters
    ----------
    entries : sequence of mapping
        `mipselect:features` of the schema.
    fields : sequence of Field
        Those of the table.
    unit : str or None
        The field that says whose row it is; nothing is made of it.

    Raises
    ------
    InvalidInput
        With the path to what is wrong, and what would be right.
    """
    known, uses = {field.name: field for field in fields}, uses_of(fields, unit)
    made: dict[str, DerivedField] = {}
    for j, entry in enumerate(entries):
        name = validation.checked_name(entry["name"], f"{FEATURES}[{j}].name")
        where = f"{FEATURES}[{j}] ({name})"
        if name in known or name in made:
            raise InvalidInput(f"{where}: the name is that of a field or of another feature")
        if "from" not in entry or ("transform" in entry) == ("part" in entry):
            raise InvalidInput(f"{where}: a feature has from, with one of transform and part")
        source = known.get(entry["from"])
        if source is None:
            raise InvalidInput(
                f"{where}.from: the table has no field {shown(entry['from'])}"
                f"{validation.did_you_mean(entry['from'], list(known))}"
            )
        if source.name in uses:
            raise InvalidInput(
                f"{where}.from: {shown(source.name)} is {uses[source.name]}; nothing is made of it"
            )
        made[name] = _derived(entry, source, where)
    return tuple(made.values())


def _derived(entry: Mapping[str, Any], source: Field, where: str) -> DerivedField:
    """Make a feature; `where` is its path in the file, for messages."""
    given = [float(entry[key]) for key in ("minimum", "maximum") if key in entry]
    if given and not (len(given) == 2 and given[0] < given[1]):
        raise InvalidInput(f"{where}: give both minimum and maximum, the smaller first")
    way, listed_as = entry.get("transform") or entry["part"], None
    if "transform" in entry:
        if not source.is_measured:
            raise InvalidInput(
                f"{where}: transform is of a number without categories; {shown(source.name)} is "
                f"of type {source.type}"
            )
        if not given and source.minimum is not None:
            first, last = curve(way, np.array([source.minimum, source.maximum or 0.0])).tolist()
            if first == -np.inf:
                least = "above 0" if way == "log" else "of 0 or more"
                raise InvalidInput(
                    f"{where}: {way} needs a minimum {least}; that of {shown(source.name)} is "
                    f"{source.minimum:g}"
                )
            given = [] if source.maximum is None else [first, last]
    else:
        if source.type not in POINTS:
            raise InvalidInput(
                f"{where}: a part is of a field of type date or datetime; "
                f"{shown(source.name)} is of type {source.type}"
            )
        if source.type == "date" and way == "hour":
            raise InvalidInput(f"{where}: a field of type date has no hour")
        if source.format != "default":
            raise InvalidInput(
                f"{where}: a part is of dates in ISO 8601, as 2020-01-31; {shown(source.name)} has "
                f"the format {shown(source.format)}: write them so, and take the format out"
            )
        listed_as = LEVELS.get(way)
        if listed_as and given:
            raise InvalidInput(f"{where}: {way} is one of {len(listed_as)} categories")
    low, high = given or (None, None)
    return DerivedField(
        name=entry["name"],
        type="string" if listed_as else "number",
        categories=listed_as,
        minimum=low,
        maximum=high,
        unit="year" if way == "year" else None,
        required=source.required,
        may_be_missing=source.may_be_missing,
        missing_values=(),
        made_of=source,
        way=way,
    )


# Points in time: whole seconds since the beginning of 1970, in UTC.


def seconds(column: pa.Array, field: Field) -> NDArray[np.int64]:
    """Read the points in time of a field, `NO_POINT` where there is none, shape (rows,).

    A date is its midnight. A time of day alone is no point.
    """
    result = by_kind(column, _of_one_kind, np.int64)
    if any(field.missing_values):
        codes = [_seconds_of(text) for text in field.missing_values]
        result = np.where(np.isin(result, codes), NO_POINT, result)
    return result


def _of_one_kind(column: pa.Array) -> NDArray[np.int64]:
    encoded = texts_of(column).dictionary_encode()
    # As bytes, for a text need not be UTF-8.
    cells = encoded.dictionary.view(pa.binary()).to_pylist()
    of_each = [_seconds_of(cell.decode("utf-8", "replace")) for cell in cells]
    places: NDArray[np.int64] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.array([*of_each, NO_POINT], dtype=np.int64)[places]


def _seconds_of(text: str) -> int:
    try:
        return (_of_iso(text) - EPOCH) // SECOND
    except (ValueError, OverflowError):
        return NO_POINT


def _of_iso(text: str) -> datetime:
    """Read ISO 8601 with its hyphens and colons; a number is no date."""
    if text[4:5] != "-" or text[7:8] != "-":
        raise ValueError
    point = datetime.fromisoformat(text)
    return point.astimezone(UTC).replace(tzinfo=None) if point.tzinfo else point


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
        content = disk.read_json(path, MOST_BYTES)
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
        for fault in disk.faults(content, "mipselect.tables", "table_schema.json"):
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

    @property
    def titles(self) -> dict[str, dict[str, str]]:
        """Titles and units, as far as they are texts, of the fields that have any."""
        found = {}
        for entry in self.content["fields"]:
            told = {key: entry[key] for key in ("title", "unit") if isinstance(entry.get(key), str)}
            if told:
                found[entry["name"]] = told
        return found

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

    def refuse_used(self, names: Collection[str], what: str) -> None:
        """Raise `InvalidInput` for a field that is no feature; `what` is what it would be."""
        for name, use in uses_of(self.fields, self.privacy_unit).items():
            if name in names:
                raise InvalidInput(f"{what}: {shown(name)} is {use} and cannot be used otherwise")

    @property
    def weight(self) -> Field | None:
        """The field that is the survey weight of a row, or None."""
        return next((field for field in self.fields if field.role == WEIGHT), None)

    @property
    def gaps(self) -> dict[str, str]:
        """What is to fill in of each field, and of what is made of them, by name."""
        apart = {*self.only_read, self.privacy_unit}
        return {one.name: one.gap for one in self.features if one.gap and one.name not in apart}

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


def uses_of(fields: Sequence[Field], unit: str | None) -> dict[str, str]:
    """Say what fields are for that are no features, by their names."""
    roles = {IGNORED: f"ignored by the schema ({ROLE})", WEIGHT: f"the survey weight ({ROLE})"}
    uses = {field.name: roles[field.role] for field in fields if field.role is not None}
    return uses if unit is None else uses | {unit: f"the person column ({PRIVACY_UNIT})"}


def _check_weight(fields: Sequence[Field], unit: str | None) -> None:
    """Raise `InvalidInput` unless there is no weight, or one that can be used."""
    found = [(f"fields[{j}]", field) for j, field in enumerate(fields) if field.role == WEIGHT]
    if len(found) > 1:
        (first, one), (second, other) = found[:2]
        raise InvalidInput(
            f"{second}.{ROLE}: one field may be the weight, and {first} ({shown(one.name)}) is it "
            f"too, besides {shown(other.name)}"
        )
    for at, field in found:
        where, high = f"{at} (field {field.name})", field.maximum
        if not field.is_measured:
            raise InvalidInput(
                f"{where}: a weight is of type number or integer, without categories; got type "
                f"{field.type}{' with categories' if field.categories is not None else ''}"
            )
        if field.name == unit:
            raise InvalidInput(f"{where}: says whose row it is and cannot be the weight")
        if high is None or high <= 0.0:
            raise InvalidInput(
                f"{where}: a weight needs a public constraints.maximum above 0: the most that one "
                f"row may count; got {'none' if high is None else shown(high)}"
            )
        validation.checked_scale(high, f"{where}: constraints.maximum of the weight")
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
    hint = validation.did_you_mean(name, names)
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
