"""Derived features: logarithms, roots and parts of dates, each of one value of the same row.

A point in time is of the years 1 to 9999, or it is none. As for numbers, what it stands for does
not depend on how the column is stored; see `mipselect.tables.values`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.parameters import completed_by
from mipselect.tables import values
from mipselect.tables.fields import IGNORED, POINTS, ROLE, Field, outward
from mipselect.tables.values import by_kind, texts_of
from mipselect.validation import checked_name, did_you_mean, shown

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
    known = {field.name: field for field in fields}
    taken, made = set(known), []
    for j, entry in enumerate(entries):
        where = f"{FEATURES}[{j}]"
        checked_name(entry["name"], f"{where}.name")
        where = f"{where} ({entry['name']})"
        if entry["name"] in taken:
            raise InvalidInput(f"{where}: the name is that of a field or of another feature")
        taken.add(entry["name"])
        if "from" not in entry or ("transform" in entry) == ("part" in entry):
            raise InvalidInput(f"{where}: a feature has from, with one of transform and part")
        source = _source(entry["from"], known, unit, f"{where}.from")
        make = _transformed if "transform" in entry else _part_of_time
        made.append(make(entry, source, where))
    return tuple(made)


def _source(name: str, known: Mapping[str, Field], unit: str | None, where: str) -> Field:
    if name not in known:
        raise InvalidInput(
            f"{where}: the table has no field {shown(name)}{did_you_mean(name, list(known))}"
        )
    if name == unit:
        raise InvalidInput(
            f"{where}: the person column {shown(name)} says whose row it is; nothing is made of it"
        )
    if known[name].role == IGNORED:
        raise InvalidInput(f"{where}: {shown(name)} is ignored ({ROLE}); nothing is made of it")
    if known[name].role is not None:
        raise InvalidInput(f"{where}: {shown(name)} is the survey weight; nothing is made of it")
    return known[name]


def _transformed(entry: Mapping[str, Any], source: Field, where: str) -> DerivedField:
    way, ends = entry["transform"], _own_ends(entry, where)
    if not source.is_measured:
        raise InvalidInput(
            f"{where}: transform is of a number without categories; {shown(source.name)} is of "
            f"type {source.type}"
        )
    if ends is None and source.minimum is not None:
        first, last = curve(way, np.array([source.minimum, source.maximum or 0.0])).tolist()
        if first == -np.inf:
            raise InvalidInput(
                f"{where}: {way} needs a minimum {'above 0' if way == 'log' else 'of 0 or more'}; "
                f"that of {shown(source.name)} is {source.minimum:g}"
            )
        ends = None if source.maximum is None else (first, last)
    return _made(entry, source, way, ends)


def _part_of_time(entry: Mapping[str, Any], source: Field, where: str) -> DerivedField:
    part, ends = entry["part"], _own_ends(entry, where)
    if source.type not in POINTS:
        raise InvalidInput(
            f"{where}: a part is of a field of type date, datetime or time; {shown(source.name)} "
            f"is of type {source.type}"
        )
    if (part == "hour" and source.type == "date") or (part != "hour" and source.type == "time"):
        raise InvalidInput(f"{where}: a field of type {source.type} has no {part}")
    checked_format(source, f"field {source.name}")
    if part == "year":
        return _made(entry, source, part, ends, unit=part)
    if ends is not None:
        raise InvalidInput(f"{where}: {part} is one of {len(LEVELS[part])} categories")
    return _made(entry, source, part, None, type="string", categories=LEVELS[part])


def _own_ends(entry: Mapping[str, Any], where: str) -> tuple[float, float] | None:
    """Read the range that a feature states itself."""
    given = [entry[key] for key in ("minimum", "maximum") if key in entry]
    if not given:
        return None
    if len(given) < 2 or not given[0] < given[1]:
        raise InvalidInput(f"{where}: give both minimum and maximum, the smaller first")
    return float(given[0]), float(given[1])


def _made(
    entry: Mapping[str, Any],
    source: Field,
    way: str,
    ends: tuple[float, float] | None,
    **properties: Any,
) -> DerivedField:
    low, high = (None, None) if ends is None else ends
    return DerivedField(
        **{"name": entry["name"], "type": "number", **properties},
        minimum=low,
        maximum=high,
        required=source.required,
        may_be_missing=source.may_be_missing,
        missing_values=(),
        made_of=source,
        way=way,
    )


# Points in time: whole seconds since the beginning of 1970, in UTC.


def seconds(column: pa.Array, field: Field) -> NDArray[np.int64]:
    """Read the points in time of a field, `NO_POINT` where there is none, shape (rows,).

    A date is its midnight. In a field of type time they lie within one day, and in others a time
    of day alone is no point.
    """
    result = by_kind(column, lambda part: _of_one_kind(part, field), np.int64)
    if any(field.missing_values):
        codes = [_seconds_of(text, field) for text in field.missing_values]
        result = np.where(np.isin(result, codes), NO_POINT, result)
    if field.type == "time":
        result = np.where(result == NO_POINT, NO_POINT, result % DAY)
    return result


def checked_format(field: Field, where: str) -> None:
    """Raise `InvalidInput` for a format of dates that cannot be read in one way.

    Parameters
    ----------
    field : Field
        A field of type date, datetime or time.
    where : str
        Its path in the file, for messages.
    """
    if field.format == "default":
        return
    letters = re.findall("%(.)", field.format)
    needed = {"date": "Ymd", "datetime": "YmdH", "time": "H"}[field.type]
    once = len(set(letters)) == len(letters)
    if not once or set(letters) - set("YmdHMS") or not set(needed) <= set(letters):
        wanted = ", ".join(f"%{letter}" for letter in needed)
        raise InvalidInput(
            f'{where}: format must be "default" (ISO 8601) or a pattern of %Y, %m, %d, %H, %M and '
            f"%S, each at most once, with {wanted}; got {shown(field.format)}"
        )
    # A date may arrive as ISO 8601 whatever the file has, and must then stand for the same.
    sample = datetime(2001, 2, 3, 4, 5, 6).strftime(field.format)
    as_iso = _point(sample, replace(field, format="default"))
    if as_iso is not None and as_iso != datetime.strptime(sample, field.format):
        raise InvalidInput(
            f"{where}: format {shown(field.format)} can be mistaken for ISO 8601: {shown(sample)} "
            "is another date there; write the file in another way"
        )


def _of_one_kind(column: pa.Array, field: Field) -> NDArray[np.int64]:
    encoded = texts_of(column).dictionary_encode()
    # As bytes, for a text need not be UTF-8.
    cells = encoded.dictionary.view(pa.binary()).to_pylist()
    of_each = [_seconds_of(cell.decode("utf-8", "replace"), field) for cell in cells]
    places: NDArray[np.int64] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.array([*of_each, NO_POINT], dtype=np.int64)[places]


def _seconds_of(text: str, field: Field) -> int:
    point = _point(text, field)
    return NO_POINT if point is None else (point - EPOCH) // SECOND


def _point(text: str, field: Field) -> datetime | None:
    """Read a point in time of UTC: by ISO 8601, else as the field is written."""
    try:
        return _of_iso(text, field)
    except (ValueError, OverflowError):
        pass
    try:
        return None if field.format == "default" else datetime.strptime(text, field.format)
    except ValueError:
        return None


def _of_iso(text: str, field: Field) -> datetime:
    """Read ISO 8601 with its hyphens and colons; a number is no date."""
    if field.type == "time" and text[2:3] == ":":
        return datetime.combine(EPOCH, time.fromisoformat(text.rstrip("Zz")))
    if text[4:5] != "-" or text[7:8] != "-":
        raise ValueError
    point = datetime.fromisoformat(text)
    return point.astimezone(UTC).replace(tzinfo=None) if point.tzinfo else point
