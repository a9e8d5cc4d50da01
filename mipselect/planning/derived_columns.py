"""Simulated columns that derived features are made of, and what these contribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.planning.guesses import Guesses
from mipselect.planning.stored_columns import numbers_of, stored
from mipselect.tables.dates import DAY, FIRST_DAY, LAST_DAY
from mipselect.tables.derivations import (
    COUNTS,
    CURVES,
    DerivedField,
    Knotted,
    PartOfTime,
    Transformed,
)
from mipselect.tables.derived_encoders import BrokenLine, Interaction
from mipselect.tables.encoders import Encoder, Scaled
from mipselect.tables.fields import POINTS, Field
from mipselect.tables.public_map import PublicMap

DECADE = (18_262, 21_914)
"""Days from 1970: 2020 to 2029, for dates of which nothing is stated."""


def inverse(field: DerivedField, numbers: FloatArray) -> FloatArray:
    """Return numbers of the source that a transformed number is made of."""
    assert isinstance(field.derivation, Transformed)
    with np.errstate(over="ignore"):
        return np.asarray(CURVES[field.derivation.transform].inverse(numbers))


def without_range(
    field: Field, z: FloatArray, encoders: Sequence[Encoder], otherwise: FloatArray
) -> FloatArray:
    """Return numbers of a field without a range, of standard normal ones, as features need them.

    They lie in the domains of curves, and to either side of knots; others are `otherwise`.
    """
    made = [e.field for e in encoders if isinstance(e.field, DerivedField)]
    ways = [one.derivation for one in made if one.inputs == (field.name,)]
    knots = [knot for way in ways if isinstance(way, Knotted) for knot in way.knots]
    middle = 0.5 * (min(knots) + max(knots)) if knots else 1.0
    if any(isinstance(way, Transformed) for way in ways):
        return np.asarray(max(middle, 1.0) * np.exp(0.5 * z))
    return middle + max(max(knots) - min(knots), 1.0) * z if knots else otherwise


def points_in_time(
    name: str, encoders: Sequence[Encoder], rng: np.random.Generator, rows: int
) -> FloatArray:
    """Draw points in time, in seconds from 1970, within what some feature states of the field."""
    low, high = DECADE
    for encoder in encoders:
        field = encoder.field
        if field.inputs != (name,) or not isinstance(encoder, Scaled):
            continue
        made = field.derivation if isinstance(field, DerivedField) else None
        if isinstance(made, PartOfTime) and made.part in ("days", "year"):
            low, high = (int(_day(made, end)) for end in (encoder.low, encoder.high))
    return np.asarray(np.floor(rng.uniform(low * DAY, (max(low, high) + 1) * DAY, rows)))


def point_of(field: DerivedField, numbers: FloatArray) -> FloatArray:
    """Return points in time, in seconds, with these numbers as their part."""
    made = field.derivation
    assert isinstance(made, PartOfTime)
    assert made.part in COUNTS
    return np.array([_day(made, number) * DAY for number in np.rint(numbers).tolist()])


def _day(made: PartOfTime, number: float) -> int:
    """Return the day, from 1970, of a number of days, a year or a day of the month."""
    if made.part == "days":
        return min(max(made.since + int(number), FIRST_DAY), LAST_DAY)
    if made.part == "day":
        return int(number) - 1
    year = min(max(int(number), 1), 9999)
    return int(np.datetime64(f"{year:04d}-01-01").astype(np.int64))


def stored_points(points: FloatArray, absent: NDArray[np.bool_]) -> pa.Array:
    """Make the column of a date or a time as a file would have it."""
    return pa.array(points.astype(np.int64), mask=absent).cast(pa.timestamp("s"))


def contribution(
    encoder: Encoder, columns: Mapping[str, pa.Array], rng: np.random.Generator
) -> FloatArray:
    """Return a random combination of the columns of a derived feature, around 0."""
    arrays = [columns[name] for name in encoder.field.inputs]
    width = len(encoder.columns())
    made = np.empty((len(arrays[0]), width))
    encoder.encode(arrays, made)
    made = made[:, : width - (not encoder.field.required)]
    there = np.isfinite(made)
    made = np.where(there, made, 0.0)
    means = made.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    spread = np.where(there, made - means, 0.0)
    sizes = spread.std(axis=0)
    return np.asarray(
        (spread / np.where(sizes > 0.0, sizes, 1.0)) @ rng.standard_normal(len(means))
    )


def stored_target(encoder: Encoder, numbers: FloatArray) -> dict[str, pa.Array]:
    """Make the column of a target, or the one that the target is made of."""
    field, there = encoder.field, np.zeros(len(numbers), dtype=bool)
    if not isinstance(field, DerivedField):
        return {field.name: stored(encoder, numbers, there)}
    (name,) = field.inputs
    if isinstance(field.derivation, Transformed):
        return {name: pa.array(inverse(field, numbers))}
    return {name: stored_points(point_of(field, numbers), there)}


def add_sources(
    encoder: Encoder,
    columns: dict[str, pa.Array],
    public: PublicMap,
    guesses: Guesses,
    rows: int,
    rng: np.random.Generator,
) -> None:
    """Add the columns that a derived feature is made of, unless they are there."""
    field = encoder.field
    assert isinstance(field, DerivedField)
    for k, source in enumerate(field.derivation.sources):
        if source.name in columns:
            continue
        absent = rng.random(rows) < (0.0 if source.required else guesses.missing)
        if source.type in POINTS:
            points = points_in_time(source.name, public.encoders, rng, rows)
            columns[source.name] = stored_points(points, absent)
            continue
        z = rng.standard_normal(rows)
        if isinstance(encoder, Interaction):
            numbers = numbers_of(encoder.factors[k], z, guesses.spread)
            columns[source.name] = stored(encoder.factors[k], numbers, absent)
            continue
        line = encoder.line if isinstance(encoder, BrokenLine) else encoder
        if isinstance(line, Scaled):
            numbers = numbers_of(line, z, guesses.spread)
            if isinstance(field.derivation, Transformed):
                numbers = inverse(field, numbers)
        else:
            numbers = without_range(source, z, public.encoders, z)
        columns[source.name] = pa.array(numbers, mask=absent)
