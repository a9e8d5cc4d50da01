"""One column of a batch as points in time: whole seconds since the beginning of 1970, in UTC.

A value is of the years 1 to 9999, or it is no point in time. As for numbers, what it stands for
does not depend on how the column is stored; see `mipselect.tables.values`.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from mipselect.errors import InvalidInput
from mipselect.tables.fields import Field
from mipselect.tables.values import by_kind, texts_of, whole_numbers
from mipselect.validation import shown

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
