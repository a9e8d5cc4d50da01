"""Derived features: logarithms, roots and parts of dates, each of one value of the same row.

A point in time is of the years 1 to 9999, or it is none. As for numbers, what it stands for does
not depend on how the column is stored; see `mipselect.tables.values`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from mipselect.errors import InvalidInput
from mipselect.parameters import completed_by
from mipselect.tables import values
from mipselect.tables.fields import IGNORED, POINTS, ROLE, Field, outward
from mipselect.tables.values import by_kind, texts_of, whole_numbers
from mipselect.validation import checked_name, did_you_mean, shown

FEATURES = "mipselect:features"

NO_POINT = np.iinfo(np.int64).min
"""Stands for no value, and for one that is no point in time."""

DAY = 86_400
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The first of January of the year 1 and the last of December of 9999, in days from 1970."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_PARTS = ("Y", "m", "d", "H", "M", "S")
_DATE = r"(?P<Y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
_TIME = r"(?P<H>[0-9]{2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,][0-9]+)?)?"
_ZONE = r"(?P<zone>[Zz]|(?P<sign>[+-])(?P<zh>[0-9]{2}):?(?P<zm>[0-9]{2}))?"
ISO_DATE = f"^{_DATE}(?:[Tt ]{_TIME}{_ZONE})?$"
ISO_TIME = f"^{_TIME}[Zz]?$"
_DIGITS = {"Y": "[0-9]{4}"}

LEVELS: Mapping[str, tuple[str, ...]] = {
    "month": (
        *("January", "February", "March", "April", "May", "June", "July"),
        *("August", "September", "October", "November", "December"),
    ),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "hour": tuple(map(str, range(24))),
}
"""The parts of a date or a time that are categories; a year is a number."""


@dataclass(frozen=True)
class Curve:
    """A logarithm or a root: a function that does not fall, of numbers from 0 on.

    Attributes
    ----------
    of : callable
        From an array to an array.
    inverse : callable
        Back from its values to the numbers.
    closed : bool
        Whether 0 is in the domain.
    """

    of: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    closed: bool

    def __call__(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values: minus infinity below the domain, and NaN stays NaN."""
        with np.errstate(all="ignore"):
            result = np.where(self.holds(numbers), self.of(numbers), -np.inf)
        return np.where(np.isnan(numbers), np.nan, result)

    def holds(self, number: Any) -> Any:
        """Return True for numbers in the domain."""
        return number >= 0.0 if self.closed else number > 0.0

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """Return what a range of numbers becomes."""
        first, last = self(np.array([low, high])).tolist()
        return first, last


CURVES: Mapping[str, Curve] = {
    "log": Curve(np.log, np.exp, closed=False),
    "sqrt": Curve(np.sqrt, np.square, closed=True),
}


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
            return pa.array(CURVES[self.way](values.numbers(stored, self.made_of)))
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
        curve = CURVES[self.way]
        with np.errstate(all="ignore"):
            numbers = curve.inverse(np.array([low, high])).tolist()
        first, last = curve.ends(*outward(*numbers))
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
    curve = CURVES[way]
    if not source.is_measured:
        raise InvalidInput(
            f"{where}: transform is of a number without categories; {shown(source.name)} is of "
            f"type {source.type}"
        )
    if ends is None and source.minimum is not None and not curve.holds(source.minimum):
        domain = "of 0 or more" if curve.closed else "above 0"
        raise InvalidInput(
            f"{where}: {way} needs a minimum {domain}; that of {shown(source.name)} is "
            f"{source.minimum:g}"
        )
    if ends is None and source.minimum is not None and source.maximum is not None:
        ends = curve.ends(source.minimum, source.maximum)
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
        codes = _of_texts(pa.array(field.missing_values, pa.string()), field)
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
    if (
        set(letters) - set(_PARTS)
        or len(set(letters)) < len(letters)
        or not set(needed) <= set(letters)
    ):
        wanted = ", ".join(f"%{letter}" for letter in needed)
        raise InvalidInput(
            f'{where}: format must be "default" (ISO 8601) or a pattern of %Y, %m, %d, %H, %M and '
            f"%S, each at most once, with {wanted}; got {shown(field.format)}"
        )
    # A date may arrive as ISO 8601 whatever the file has, and must then stand for the same.
    sample = field.format
    for letter, text in zip(_PARTS, ("2001", "02", "03", "04", "05", "06"), strict=True):
        sample = sample.replace(f"%{letter}", text)
    texts = pa.array([sample])
    read, as_iso = _matched(texts, _pattern(field.format)), _of_iso(texts, field)
    if as_iso[0] != NO_POINT and read[0] != as_iso[0]:
        raise InvalidInput(
            f"{where}: format {shown(field.format)} can be mistaken for ISO 8601: {shown(sample)} "
            "is another date there; write the file in another way"
        )


def _of_one_kind(column: pa.Array, field: Field) -> NDArray[np.int64]:
    types, kind = pa.types, column.type
    if types.is_time(kind) and field.type != "time":
        return np.full(len(column), NO_POINT)
    if types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind):
        whole = column.cast(whole_numbers(kind)).fill_null(0)
        found: NDArray[np.int64] = whole.to_numpy(zero_copy_only=False).astype(np.int64)
        if types.is_date(kind):
            found = found // (1 if types.is_date32(kind) else DAY * 1000) * DAY
        else:
            found = found // _PER_SECOND[kind.unit]
        known = column.is_valid().to_numpy(zero_copy_only=False) & _is_known(found)
        return np.where(known, found, NO_POINT)
    encoded = texts_of(column).dictionary_encode()
    of_each: NDArray[np.int64] = np.append(_of_texts(encoded.dictionary, field), NO_POINT)
    places: NDArray[np.int64] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return of_each[places]


def _is_known(points: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which points in time are of the years 1 to 9999."""
    return (points >= FIRST_DAY * DAY) & (points < (LAST_DAY + 1) * DAY)


def _of_iso(texts: pa.Array, field: Field) -> NDArray[np.int64]:
    """Read dates of ISO 8601, and times where the field has times."""
    found = _matched(texts, ISO_DATE)
    if field.type == "time":
        found = np.where(found == NO_POINT, _matched(texts, ISO_TIME), found)
    return found


def _of_texts(texts: pa.Array, field: Field) -> NDArray[np.int64]:
    found = _of_iso(texts, field)
    if field.format != "default":
        read = _matched(texts, _pattern(field.format))
        found = np.where(read == NO_POINT, found, read)
    return found


@cache
def _pattern(written: str) -> str:
    """Write the regular expression of a format such as "%d.%m.%Y"."""
    parts = re.split("(%.)", written)
    read = [
        f"(?P<{part[1]}>{_DIGITS.get(part[1], '[0-9]{1,2}')})"
        if part.startswith("%")
        else "".join(f"\\x{{{ord(letter):x}}}" for letter in part)
        for part in parts
    ]
    return f"^{''.join(read)}$"


def _matched(texts: pa.Array, pattern: str) -> NDArray[np.int64]:
    """Read the points in time of texts that match a pattern with the parts Y, m, d, H, M and S."""
    found = compute.extract_regex(texts, pattern=pattern)
    matches = found.is_valid().to_numpy(zero_copy_only=False)
    names = {found.type.field(k).name: k for k in range(found.type.num_fields)}

    def part(name: str, otherwise: int) -> NDArray[np.int64]:
        if name not in names:
            return np.full(len(texts), otherwise)
        digits = found.field(names[name])
        there = compute.and_kleene(found.is_valid(), compute.not_equal(digits, ""))
        digits = compute.if_else(there, digits, None)
        numbers: NDArray[np.int64] = (
            digits.cast(pa.int64()).fill_null(otherwise).to_numpy(zero_copy_only=False)
        )
        return numbers

    year, month, day = part("Y", 1970), part("m", 1), part("d", 1)
    hour, minute, second = part("H", 0), part("M", 0), part("S", 0)
    right = matches & (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    right &= (hour <= 23) & (minute <= 59) & (second <= 59)
    days = _first_days((year - 1970) * 12 + month - 1) + day - 1
    right &= days < _first_days((year - 1970) * 12 + month)
    point = days * DAY + (hour * 60 + minute) * 60 + second
    ahead_hour, ahead_minute = part("zh", 0), part("zm", 0)
    right &= (ahead_hour <= 23) & (ahead_minute <= 59)
    ahead = (ahead_hour * 60 + ahead_minute) * 60
    if "sign" in names:
        minus = compute.equal(found.field(names["sign"]), "-").fill_null(False)
        ahead = np.where(minus.to_numpy(zero_copy_only=False), -ahead, ahead)
    point -= ahead
    return np.where(right & _is_known(point), point, NO_POINT)


def _first_days(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first days of months, both from 1970."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
