"""Simulated columns that derived features are made of, and what these contribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.planning.guesses import Guesses
from mipselect.planning.stored_columns import numbers_of, stored
from mipselect.tables.dates import DAY
from mipselect.tables.derived import CURVES, DerivedField
from mipselect.tables.encoders import Encoder, Scaled
from mipselect.tables.fields import POINTS, Field
from mipselect.tables.public_map import PublicMap

DECADE = (18_262, 21_914)
"""Days from 1970: 2020 to 2029, for dates of which nothing is stated."""


def inverse(field: DerivedField, numbers: FloatArray) -> FloatArray:
    """Return numbers of the source that a transformed number is made of."""
    with np.errstate(over="ignore"):
        return np.asarray(CURVES[field.way].inverse(numbers))


def without_range(
    field: Field, z: FloatArray, encoders: Sequence[Encoder], otherwise: FloatArray
) -> FloatArray:
    """Return numbers of a field without a range, of standard normal ones, as features need them.

    They lie in the domains of curves; where there is none they are `otherwise`.
    """
    made = [e.field for e in encoders if isinstance(e.field, DerivedField)]
    ways = {one.way for one in made if one.source.name == field.name}
    return np.asarray(np.exp(0.5 * z)) if ways & set(CURVES) else otherwise


def points_in_time(
    name: str, encoders: Sequence[Encoder], rng: np.random.Generator, rows: int
) -> FloatArray:
    """Draw points in time, in seconds from 1970, within what some feature states of the field."""
    low, high = DECADE
    for encoder in encoders:
        field = encoder.field
        if field.source.name != name or not isinstance(encoder, Scaled):
            continue
        if isinstance(field, DerivedField):
            low, high = (_first_day(end) for end in (encoder.low, encoder.high))
    return np.asarray(np.floor(rng.uniform(low * DAY, (max(low, high) + 1) * DAY, rows)))


def point_of(years: FloatArray) -> FloatArray:
    """Return points in time, in seconds, in these years."""
    return np.array([_first_day(year) * DAY for year in np.rint(years).tolist()])


def _first_day(year: float) -> int:
    """Return the first day of a year, from 1970."""
    year = min(max(int(year), 1), 9999)
    return int(np.datetime64(f"{year:04d}-01-01").astype(np.int64))


def stored_points(points: FloatArray, absent: NDArray[np.bool_]) -> pa.Array:
    """Make the column of a date or a time as a file would have it."""
    return pa.array(points.astype(np.int64), mask=absent).cast(pa.timestamp("s"))


def contribution(
    encoder: Encoder, columns: Mapping[str, pa.Array], rng: np.random.Generator
) -> FloatArray:
    """Return a random combination of the columns of a derived feature, around 0."""
    stored = columns[encoder.field.source.name]
    width = len(encoder.columns())
    made = np.empty((len(stored), width))
    encoder.encode(stored, made)
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
    if field.way in CURVES:
        return {field.source.name: pa.array(inverse(field, numbers))}
    return {field.source.name: stored_points(point_of(numbers), there)}


def add_sources(
    encoder: Encoder,
    columns: dict[str, pa.Array],
    public: PublicMap,
    guesses: Guesses,
    rows: int,
    rng: np.random.Generator,
) -> None:
    """Add the column that a derived feature is made of, unless it is there."""
    field, source = encoder.field, encoder.field.source
    assert isinstance(field, DerivedField)
    if source.name in columns:
        return
    absent = rng.random(rows) < (0.0 if source.required else guesses.missing)
    if source.type in POINTS:
        points = points_in_time(source.name, public.encoders, rng, rows)
        columns[source.name] = stored_points(points, absent)
        return
    z = rng.standard_normal(rows)
    if isinstance(encoder, Scaled):
        numbers = inverse(field, numbers_of(encoder, z, guesses.spread))
    else:
        numbers = without_range(source, z, public.encoders, z)
    columns[source.name] = pa.array(numbers, mask=absent)
