"""Encoders of a field as columns in [-1, 1]: the public map of one value, nothing of it fitted.

Within the columns of one field a row has Euclidean norm at most 1, so that a category with 200
levels costs no more sensitivity than a number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables import values
from mipselect.tables.fields import Field
from mipselect.validation import SMALLEST_SCALE, shown

MISSING_COLUMN = "missing"


@dataclass(frozen=True)
class Column:
    """One column of X, in units of the table.

    Attributes
    ----------
    name : str
        "age", "age=missing", "icd=J".
    scale, offset : float
        An entry x stands for offset + scale · x: units of the field for a number, places among
        the categories for ordered ones, 0 and 1 for truth values and indicators.

    Examples
    --------
    >>> from mipselect.tables import Column
    >>> age = Column("age", scale=40.0, offset=60.0)
    >>> age.offset + age.scale * -1.0
    20.0
    """

    name: str
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Encoder(ABC):
    """Map of a field into its columns, of which `=missing` is the last unless it is required.

    Attributes
    ----------
    field : Field
    """

    field: Field
    numbers: ClassVar[int] = 1
    """Number of first columns that are numbers or places and no indicators."""

    @property
    def gap(self) -> float:
        """Entry of the numbers where a value is missing: 0, or NaN."""
        return 0.0

    @abstractmethod
    def own_columns(self) -> tuple[Column, ...]:
        """Return the columns but `=missing`."""

    def columns(self) -> tuple[Column, ...]:
        """Return the columns, `=missing` last."""
        missing = () if self.field.required else (Column(f"{self.field.name}={MISSING_COLUMN}"),)
        return (*self.own_columns(), *missing)

    @abstractmethod
    def write(self, stored: pa.Array, out: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Write all columns but `=missing`; return where the value is missing, shape (rows,)."""

    def encode(self, stored: pa.Array, out: NDArray[np.floating[Any]]) -> None:
        """Write the rows of a batch to `out`, shape (rows, number of columns).

        `stored` is the column of `field.source`.
        """
        missing = self.write(stored, out)
        if not self.field.required:
            out[:, -1] = missing


class OneNumber(Encoder):
    """A field of one number or place."""

    @abstractmethod
    def scaled(self, stored: pa.Array) -> NDArray[np.float64]:
        """Return the numbers, NaN where missing, shape (rows,)."""

    def write(self, stored: pa.Array, out: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Write the number."""
        scaled = self.scaled(stored)
        missing = np.isnan(scaled)
        scaled[missing] = self.gap
        # Rounding keeps what is at most 1 at most 1.
        out[:, 0] = scaled
        return missing


@dataclass(frozen=True)
class Scaled(OneNumber):
    """A number: clip((2v - lo - hi)/(hi - lo)) and `=missing`; a missing value is 0."""

    low: float
    high: float

    def own_columns(self) -> tuple[Column, ...]:
        """Return the number."""
        half = 0.5 * (self.high - self.low)
        return (Column(self.field.name, half, 0.5 * (self.low + self.high)),)

    def scaled(self, stored: pa.Array) -> NDArray[np.float64]:
        """Scale the values to [-1, 1], NaN where missing, shape (rows,)."""
        return self.within(values.numbers(self.field.column(stored), self.field))

    def within(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map numbers of the field, shape (rows,), to [-1, 1]; NaN stays NaN."""
        v = np.clip(numbers, self.low, self.high)
        # (2v - lo - hi)/(hi - lo), without a new array for every step.
        v *= 2.0
        v -= self.low
        v -= self.high
        v /= self.high - self.low
        return np.clip(v, -1.0, 1.0, out=v)


class Unscaled(OneNumber):
    """A number as it is, NaN where it is missing or infinite, and `=missing`; no range is used."""

    gap: ClassVar[float] = math.nan

    def own_columns(self) -> tuple[Column, ...]:
        """Return the number."""
        return (Column(self.field.name),)

    def scaled(self, stored: pa.Array) -> NDArray[np.float64]:
        """Return the values, shape (rows,)."""
        v = values.numbers(self.field.column(stored), self.field)
        return np.where(np.isfinite(v), v, np.nan)


@dataclass(frozen=True)
class Ranked(OneNumber):
    """K ≥ 2 values in an order: 2k/(K-1) - 1 and `=missing`; one that is in no list is 0.

    A boolean, two categories or ordered ones. A missing one is `gap`: 0, or NaN where means are
    taken of those that are there.
    """

    levels: int
    gap: float = 0.0

    def own_columns(self) -> tuple[Column, ...]:
        """Return the place among the values."""
        name, categories = self.field.name, self.field.categories
        if categories is not None and not self.field.ordered:
            name = _indicator(self.field, 1)
        half = 0.5 * (self.levels - 1)
        return (Column(name, half, half),)

    def scaled(self, stored: pa.Array) -> NDArray[np.float64]:
        """Scale the places to [-1, 1], NaN where missing, shape (rows,)."""
        codes = values.codes(self.field.column(stored), self.field)
        places = 2.0 * codes / (self.levels - 1) - 1.0
        places[codes == values.UNLISTED] = 0.0
        places[codes == values.MISSING] = np.nan
        return places


@dataclass(frozen=True)
class Indicators(Encoder):
    """K categories: as many indicators, of which at most one is 1, and `=missing`."""

    levels: int
    numbers: ClassVar[int] = 0

    def own_columns(self) -> tuple[Column, ...]:
        """Return one column for each category."""
        return tuple(Column(_indicator(self.field, k)) for k in range(self.levels))

    def write(self, stored: pa.Array, out: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Write the indicators."""
        codes = values.codes(self.field.column(stored), self.field)
        out[:] = 0.0
        listed = np.flatnonzero(codes >= 0)
        out[listed, codes[listed]] = 1.0
        return np.asarray(codes == values.MISSING)


def places_of_columns(encoders: Iterable[Encoder]) -> tuple[range, ...]:
    """Return the places of the columns of each encoder, one after another."""
    places, start = [], 0
    for encoder in encoders:
        width = len(encoder.columns())
        places.append(range(start, start + width))
        start += width
    return tuple(places)


def encoder_of(field: Field, *, scaled: bool = True) -> Encoder:
    """Choose how a field is encoded.

    Parameters
    ----------
    field : Field
    scaled : bool
        False takes numbers as they are, with a missing value as NaN.

    Raises
    ------
    InvalidInput
        If the schema says too little of it.
    """
    gap = 0.0 if scaled else math.nan
    if field.type == "boolean":
        return Ranked(field, 2, gap)
    if field.categories is not None:
        levels = len(field.categories)
        in_order = levels == 2 or (field.ordered and levels > 1)
        return Ranked(field, levels, gap) if in_order else Indicators(field, levels)
    if field.is_number and not scaled:
        return Unscaled(field)
    if field.minimum is None or field.maximum is None:
        raise InvalidInput(f"field {shown(field.name)} ({field.type}) has no {field.gap}")
    ends = checked_range(field.minimum, field.maximum, f"field {field.name}")
    return Scaled(field, *ends)


@dataclass(frozen=True)
class Target:
    """The target in [-1, 1]: a number by its range, or two classes as -1 and +1.

    Attributes
    ----------
    encoder : OneNumber
        Scaled, Unscaled or Ranked.
    classes : (str, str) or None
        The names of the classes that become -1 and +1.
    scale, offset : float
        y stands for offset + scale · y in units of the table; 1 and 0 for classes.
    """

    encoder: OneNumber
    classes: tuple[str, str] | None
    scale: float
    offset: float

    def given(self, y: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which rows of y, as `PublicMap.encode` maps it, have a target, shape (n,).

        A class that is in no list is none.
        """
        there: NDArray[np.bool_] = ~np.isnan(y)
        return there if self.classes is None else there & (y != 0.0)


def target_of(field: Field, *, scaled: bool) -> Target:
    """Choose how the target is encoded; `InvalidInput` for categories without an order."""
    encoder = encoder_of(field, scaled=scaled)
    if isinstance(encoder, Indicators):
        raise InvalidInput(
            f"the target {shown(field.name)} must be a number with a range, ordered categories or "
            f"two classes; its schema has {encoder.levels} categories without an order: for one of "
            "them against the rest give the table and the schema a field of two classes"
        )
    if isinstance(encoder, Ranked) and encoder.levels == 2:
        low, high = field.category_names[:2]
        if field.type == "boolean":
            low, high = field.false_values[0], field.true_values[0]
        return Target(encoder, (low, high), 1.0, 0.0)
    assert isinstance(encoder, OneNumber)
    column = encoder.columns()[0]
    return Target(encoder, None, column.scale, column.offset)


def two_numbers(encoder: Encoder) -> tuple[int, int] | None:
    """Return the values of a range of two whole numbers, such as 0 and 1; None for any other."""
    if not isinstance(encoder, Scaled) or not encoder.field.counts_whole:
        return None
    first, second = math.ceil(encoder.low), math.floor(encoder.high)
    return (first, second) if second - first == 1 else None


def checked_range(low: float, high: float, what: str) -> tuple[float, float]:
    """Return a range that is wide enough for its middle to lie between its ends."""
    if not (high - low >= SMALLEST_SCALE and low < 0.5 * (low + high) < high):
        raise InvalidInput(
            f"{what}: a range must be lo < hi and not too narrow for numbers of this size, got "
            f"{shown(low)} to {shown(high)}"
        )
    return low, high


def _indicator(field: Field, k: int) -> str:
    """Name the column of a category; a category that is called "missing" is put in quotes."""
    text = field.category_names[k]
    return f"{field.name}='{text}'" if text == MISSING_COLUMN else f"{field.name}={text}"
