"""`mipselect:features`: the declarations of derived features, checked against the fields."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.tables.dates import checked_format
from mipselect.tables.derivations import (
    COUNTS,
    CURVES,
    DAYS_OF_A_MONTH,
    LEVELS,
    Crossed,
    DerivedField,
    Ends,
    Knotted,
    PartOfTime,
    Transformed,
)
from mipselect.tables.fields import IGNORED, POINTS, ROLE, Field
from mipselect.validation import checked_name, did_you_mean, listed, shown

FEATURES = "mipselect:features"
WAYS = ("transform", "part", "knots")
MOST_PRODUCTS = 1_000
"""Columns of one feature that are still worth something."""

BEGINNING = datetime.date(1970, 1, 1)


def derived_fields(
    entries: Sequence[Mapping[str, Any]], fields: Sequence[Field], unit: str | None
) -> tuple[DerivedField, ...]:
    """Make the derived features of a schema, whose shapes are known to be right.

    Parameters
    ----------
    entries : sequence of mapping
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
        made.append(_derived(entry, known, unit, where))
    return tuple(made)


def _derived(
    entry: Mapping[str, Any], known: Mapping[str, Field], unit: str | None, where: str
) -> DerivedField:
    if "product" in entry:
        _require_nothing_but(entry, ("product", "ranges"), where)
        return _crossed(entry, known, unit, where)
    ways = [way for way in WAYS if way in entry]
    if "from" not in entry or len(ways) != 1:
        raise InvalidInput(
            f"{where}: a feature has from, with one of {listed(WAYS)}; or product with two fields"
        )
    source = _source(entry["from"], known, unit, f"{where}.from")
    if ways == ["part"]:
        _require_nothing_but(entry, ("from", "part", "since", "minimum", "maximum"), where)
        return _part(entry, source, where)
    if not source.is_measured:
        raise InvalidInput(
            f"{where}: {ways[0]} is of a number without categories; {shown(source.name)} is of "
            f"type {source.type}"
        )
    _require_nothing_but(entry, ("from", *ways, "minimum", "maximum"), where)
    return _transformed(entry, source, where) if ways == ["transform"] else _knotted(
        entry, source, where
    )  # fmt: skip


def _require_nothing_but(entry: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    others = [key for key in entry if key not in ("name", *keys)]
    if others:
        raise InvalidInput(f"{where}: {listed(others)} cannot stand beside {keys[0]}, {keys[1]}")


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


def _own_ends(entry: Mapping[str, Any], where: str) -> Ends:
    """Read the range that a feature states itself."""
    given = [entry[key] for key in ("minimum", "maximum") if key in entry]
    if not given:
        return None
    if len(given) < 2 or not given[0] < given[1]:
        raise InvalidInput(f"{where}: give both minimum and maximum, the smaller first")
    return float(given[0]), float(given[1])


def _stated(field: Field) -> Ends:
    if field.minimum is None or field.maximum is None:
        return None
    return field.minimum, field.maximum


def _transformed(entry: Mapping[str, Any], source: Field, where: str) -> DerivedField:
    made, ends = Transformed(source, entry["transform"]), _own_ends(entry, where)
    curve = CURVES[made.transform]
    if ends is None and source.minimum is not None and not curve.holds(source.minimum):
        raise InvalidInput(
            f"{where}: {made.transform} needs a minimum {curve.domain}; that of "
            f"{shown(source.name)} is {source.minimum:g}"
        )
    stated = _stated(source)
    if ends is None and stated is not None:
        ends = made.ends(*stated)
    return _number(entry["name"], made, ends)


def _knotted(entry: Mapping[str, Any], source: Field, where: str) -> DerivedField:
    knots = tuple(float(knot) for knot in entry["knots"])
    ends = _own_ends(entry, where) or _stated(source)
    if any(left >= right for left, right in pairwise(knots)):
        raise InvalidInput(f"{where}: knots must rise, got {_told(knots)}")
    result = _number(entry["name"], Knotted(source, knots), ends)
    if ends is not None:
        require_inner_knots(result, *ends, where)
    return result


def require_inner_knots(field: DerivedField, low: float, high: float, where: str) -> None:
    """Raise `InvalidInput` unless the knots of a field lie inside of a range."""
    assert isinstance(field.derivation, Knotted)
    knots = field.derivation.knots
    if not low < knots[0] or not knots[-1] < high:
        raise InvalidInput(
            f"{where}: knots must lie inside of the range, {low:g} to {high:g}; got {_told(knots)}"
        )


def _told(knots: Sequence[float]) -> str:
    return ", ".join(f"{knot:g}" for knot in knots)


def _part(entry: Mapping[str, Any], source: Field, where: str) -> DerivedField:
    part, since = entry["part"], 0
    if source.type not in POINTS:
        raise InvalidInput(
            f"{where}: a part is of a field of type date, datetime or time; {shown(source.name)} "
            f"is of type {source.type}"
        )
    if (part == "hour" and source.type == "date") or (part != "hour" and source.type == "time"):
        raise InvalidInput(f"{where}: a field of type {source.type} has no {part}")
    checked_format(source, f"field {source.name}")
    if (part == "days") != ("since" in entry):
        raise InvalidInput(f"{where}: since is needed for the part days, and for no other")
    if part == "days":
        since = _day(entry["since"], where)
    ends = _own_ends(entry, where)
    if part in LEVELS:
        if ends is not None:
            raise InvalidInput(f"{where}: {part} is one of {len(LEVELS[part])} categories")
        return DerivedField(
            name=entry["name"],
            type="string",
            categories=LEVELS[part],
            derivation=PartOfTime(source, part),
            **_of_source(source),
        )
    if ends is None and part == "day":
        ends = DAYS_OF_A_MONTH
    return _number(entry["name"], PartOfTime(source, part, since), ends, COUNTS[part])


def _day(text: str, where: str) -> int:
    try:
        return (datetime.date.fromisoformat(text) - BEGINNING).days
    except ValueError:
        raise InvalidInput(
            f"{where}: since must be a day such as 2020-01-31, got {shown(text)}"
        ) from None


def _crossed(
    entry: Mapping[str, Any], known: Mapping[str, Field], unit: str | None, where: str
) -> DerivedField:
    names = entry["product"]
    one, other = (_source(name, known, unit, f"{where}.product") for name in names)
    if one == other:
        raise InvalidInput(f"{where}: a product is of two different fields")
    own, factors = entry.get("ranges", {}), []
    for name in set(own) - set(names):
        raise InvalidInput(f"{where}: ranges has {shown(name)}, which is no factor")
    for field in (one, other):
        if field.type in POINTS:
            raise InvalidInput(f"{where}: {shown(field.name)} is of type {field.type}")
        if not field.is_measured:
            if field.gap:
                raise InvalidInput(f"{where}: {shown(field.name)} needs {field.gap}")
            if field.name in own:
                raise InvalidInput(f"{where}: {shown(field.name)} has categories and no range")
        given = own.get(field.name)
        if given is not None and not given[0] < given[1]:
            raise InvalidInput(f"{where}: ranges of {shown(field.name)}: the smaller end is first")
        if given is not None:
            field = replace(field, minimum=float(given[0]), maximum=float(given[1]))
        factors.append(field)
    size = max(1, len(one.category_names)) * max(1, len(other.category_names))
    if size > MOST_PRODUCTS:
        raise InvalidInput(
            f"{where}: there are {size:,} products of categories; take coarser ones, at most "
            f"{MOST_PRODUCTS:,} together"
        )
    return DerivedField(
        name=entry["name"],
        type="number",
        required=one.required and other.required,
        may_be_missing=one.may_be_missing or other.may_be_missing,
        missing_values=(),
        derivation=Crossed(tuple(factors)),
    )


def _number(
    name: str,
    made: Transformed | Knotted | PartOfTime,
    ends: Ends,
    unit: str | None = None,
) -> DerivedField:
    low, high = (None, None) if ends is None else ends
    return DerivedField(
        name=name,
        type="number",
        minimum=low,
        maximum=high,
        unit=unit,
        derivation=made,
        **_of_source(made.source),
    )


def _of_source(source: Field) -> dict[str, Any]:
    return {
        "required": source.required,
        "may_be_missing": source.may_be_missing,
        "missing_values": (),
    }
