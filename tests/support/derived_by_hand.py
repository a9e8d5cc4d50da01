"""Derived features by hand: one row of texts at a time, from docs/how-to/transformations.md."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any

BLANKS = " \t\r\n\v\f"
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
NEVER = datetime.datetime(1900, 1, 1)

CLINIC: dict[str, Any] = {
    "missingValues": ["", "NA", "-99", "1900-01-01"],
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}},
        {
            "name": "income",
            "type": "number",
            "unit": "CHF",
            "constraints": {"minimum": 100, "maximum": 1e5, "required": True},
        },
        {"name": "visits", "type": "integer", "constraints": {"minimum": 0, "maximum": 50}},
        {"name": "smoker", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
        {"name": "stage", "type": "integer", "categories": [1, 2, 4], "categoriesOrdered": True},
        {"name": "icd", "type": "string", "categories": ["E", "I", "missing"]},
        {"name": "admitted", "type": "datetime"},
        {"name": "born", "type": "date"},
        {"name": "at", "type": "datetime", "constraints": {"required": True}},
        {"name": "stay", "type": "number", "constraints": {"minimum": 0, "maximum": 60}},
    ],
    "mipselect:features": [
        {"name": "log income", "from": "income", "transform": "log"},
        {"name": "root of visits", "from": "visits", "transform": "sqrt"},
        {"name": "root of age", "from": "age", "transform": "sqrt", "minimum": 4, "maximum": 10},
        {"name": "admission year", "from": "admitted", "part": "year", "minimum": 2000,
         "maximum": 2020},
        {"name": "month of birth", "from": "born", "part": "month"},
        {"name": "weekday", "from": "admitted", "part": "weekday"},
        {"name": "hour", "from": "admitted", "part": "hour"},
        {"name": "time of day", "from": "at", "part": "hour"},
    ],
}  # fmt: skip
"""Every kind of derived feature, of every kind of field."""

LEVELS = {"month": 12, "weekday": 7, "hour": 24}
NAMES = [field["name"] for field in CLINIC["fields"]]
FIELDS = {field["name"]: field for field in CLINIC["fields"]}
CLINIC_ROWS = [
    ["18", "100", "0", "yes", "f", "1", "E", "2010-06-30", "2003-02-01", "2001-01-01T07:30", "1"],
    ["100", "1e5", "50", "no", "m", "4", "missing", "2019-12-31 23:59", "1999-12-31",
     "2001-01-01 9:00", "2"],
    ["50", "5e3", "7", "yes", "m", "2", "I", "2012-02-29 12:00", "2000-02-29",
     "2001-01-01T00:00:01", "3"],
    ["NA", "NA", "NA", "NA", "NA", "NA", "NA", "NA", "NA", "NA", "NA"],
    ["30", "NA", "3", "yes", "m", "2", "I", "2012-02-29", "2000-01-01", "2001-01-01T12:00", "6"],
    ["65", "0", "-5", "maybe", "x", "3", "J", "2011-02-29", "1999-11-31", "2001-01-01T24:00", "4"],
    ["70.5", "1e999", "x", "no", "f", "4", "E", "2016-01-01T00:30+01:00", "1999-03-04",
     "07:30", "5"],
]  # fmt: skip
CLINIC_HOSTILE = [
    *("", "-99", "1900-01-01", "nan", "inf", "-1e999", "-0.0", "1e-320", "9999-12-31T23:59-00:01"),
    *("0001-01-01T00:00+00:01", "10000-01-01", "-0001-01-01", "2020-13-01", "2020-06-31", "x"),
    *("2020-01-31T24:00", "2020-01-31T23:60", "2020-01-31T12:30:59.999999999+14:00", "20200131"),
    *("12:30Z", "12:30:60", "1.1.0001", "01.01.2020", "32.1.2020", "2020-01-01T12", "\0", "é"),
    *("2020-01-31T12:30+99:00", "0000-01-01", "true", "4", "-1", "1e25", "٣", "2020-01-31 12:30"),
    "1",
]


def derived_row(entry: Mapping[str, Any], row: Mapping[str, str]) -> list[float]:
    """The columns of a derived feature of one row, `=missing` last."""
    source = FIELDS[entry["from"]]
    required = source.get("constraints", {}).get("required", False)
    text = row[source["name"]]
    if "transform" in entry:
        columns = _transformed(entry, source, number(text))
    else:
        columns = _part(entry, moment(text))
    if columns is None:
        columns = [0.0] * LEVELS.get(entry.get("part", ""), 1)
        return columns if required else [*columns, 1.0]
    return columns if required else [*columns, 0.0]


def number(text: str) -> float | None:
    text = text.strip(BLANKS)
    if text in CLINIC["missingValues"] or text == "-99.0":
        return None
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return -math.inf if text.startswith("-") else math.inf
    found = float(text) if re.fullmatch(NUMBER, text) else None
    return None if found == -99.0 else found


def moment(text: str) -> datetime.datetime | None:
    text = text.strip(BLANKS)
    if text in CLINIC["missingValues"]:
        return None
    found = re.fullmatch(
        r"(\d{4})-(\d\d)-(\d\d)"
        r"([ Tt](\d\d)(?::(\d\d)(:(\d\d)([.,]\d+)?)?)?([zZ]|([+-])(\d\d):?(\d\d))?)?",
        text,
        re.ASCII,
    )
    if found is None:
        return None
    year, month, day = map(int, found.group(1, 2, 3))
    hour, minute, second = (int(part or 0) for part in found.group(5, 6, 8))
    sign = -1 if found[11] == "-" else 1
    ahead_hour, ahead_minute = int(found[12] or 0), int(found[13] or 0)
    if max(ahead_hour - 23, ahead_minute - 59) > 0:
        return None
    try:
        local = datetime.datetime(year, month, day, hour, minute, second)
        found_at = local - sign * datetime.timedelta(hours=ahead_hour, minutes=ahead_minute)
    except (ValueError, OverflowError):
        return None
    return None if found_at == NEVER else found_at


def within(low: float, high: float, value: float) -> float:
    value = min(max(value, low), high)
    return (2 * value - low - high) / (high - low)


def _range(field: Mapping[str, Any]) -> tuple[float, float]:
    return field["constraints"]["minimum"], field["constraints"]["maximum"]


def _transformed(
    entry: Mapping[str, Any], source: Mapping[str, Any], value: float | None
) -> list[float] | None:
    if value is None:
        return None
    function = {"log": math.log, "sqrt": math.sqrt}[entry["transform"]]
    if "minimum" in entry:
        low, high = entry["minimum"], entry["maximum"]
    else:
        low, high = map(function, _range(source))
    try:
        result = function(value)
    except ValueError:
        result = -math.inf
    return [within(low, high, result)]


def _part(entry: Mapping[str, Any], at: datetime.datetime | None) -> list[float] | None:
    if at is None:
        return None
    if entry["part"] == "year":
        return [within(entry["minimum"], entry["maximum"], at.year)]
    place = {"month": at.month - 1, "weekday": at.weekday(), "hour": at.hour}[entry["part"]]
    return [float(k == place) for k in range(LEVELS[entry["part"]])]
