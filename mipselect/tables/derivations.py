"""The ways to make a feature of fields: one row at a time, by what is public alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.docstrings import completed_by
from mipselect.tables import dates, values
from mipselect.tables.fields import Arrays, Field, outward

Ends = tuple[float, float] | None

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LEVELS: Mapping[str, tuple[str, ...]] = {
    "quarter": ("Q1", "Q2", "Q3", "Q4"),
    "month": MONTHS,
    "weekday": WEEKDAYS,
    "hour": tuple(map(str, range(24))),
}
"""The parts of a date or a time that are categories."""

COUNTS = {"year": "year", "day": "day", "days": "day"}
"""The parts that are numbers, with their units."""

DAYS_OF_A_MONTH = (1.0, 31.0)


@dataclass(frozen=True)
class Curve:
    """A function of a number: the logarithm, the root, or the logarithm of one more.

    Attributes
    ----------
    of : callable
        From an array to an array.
    inverse : callable
        Back from its values to the numbers.
    least : float
        The end of the domain.
    closed : bool
        Whether the end is in the domain.
    """

    of: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    least: float
    closed: bool

    def __call__(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values: minus infinity below the domain, and NaN stays NaN."""
        with np.errstate(all="ignore"):
            result = np.where(self.holds(numbers), self.of(numbers), -np.inf)
        return np.where(np.isnan(numbers), np.nan, result)

    def holds(self, number: Any) -> Any:
        """Return True for numbers in the domain."""
        return number >= self.least if self.closed else number > self.least

    @property
    def domain(self) -> str:
        """The least value, in words."""
        return f"of {self.least:g} or more" if self.closed else f"above {self.least:g}"


CURVES: Mapping[str, Curve] = {
    "log": Curve(np.log, np.exp, 0.0, closed=False),
    "log1p": Curve(np.log1p, np.expm1, -1.0, closed=False),
    "sqrt": Curve(np.sqrt, np.square, 0.0, closed=True),
}


@dataclass(frozen=True)
class OfOneField:
    """A derivation that reads one field."""

    source: Field

    @property
    def sources(self) -> tuple[Field, ...]:
        """The field that is read."""
        return (self.source,)


@dataclass(frozen=True)
class Transformed(OfOneField):
    """A number through a curve."""

    transform: str

    def column(self, arrays: Arrays) -> pa.Array:
        """Return the values, NaN where missing; minus infinity below the domain."""
        return pa.array(CURVES[self.transform](values.numbers(arrays[0], self.source)))

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """Return what a range of the source becomes."""
        first, last = CURVES[self.transform](np.array([low, high])).tolist()
        return first, last

    def whole_ends(self, low: float, high: float) -> tuple[float, float]:
        """Extend a range of the values to those of whole numbers, if the source has such."""
        if not self.source.counts_whole:
            return low, high
        with np.errstate(all="ignore"):
            source = CURVES[self.transform].inverse(np.array([low, high])).tolist()
        first, last = self.ends(*self.source.whole_ends(*source))
        return (
            min(low, first) if np.isfinite(first) else low,
            max(high, last) if np.isfinite(last) else high,
        )


@dataclass(frozen=True)
class PartOfTime(OfOneField):
    """A part of a date or a time; `since` is the day that days are counted from."""

    part: str
    since: int = 0

    def column(self, arrays: Arrays) -> pa.Array:
        """Return numbers, or the names of categories; null where there is no point in time."""
        points = dates.seconds(arrays[0], self.source)
        absent = points == dates.NO_POINT
        found = self._found(np.where(absent, 0, points))
        if self.part in COUNTS:
            return pa.array(np.where(absent, np.nan, found))
        places = pa.array(found.astype(np.int32), mask=absent)
        return pa.DictionaryArray.from_arrays(places, pa.array(LEVELS[self.part]))

    def _found(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Compute the part, as a number or a place among its levels."""
        days = points // dates.DAY
        if self.part == "days":
            return days - self.since
        if self.part == "hour":
            return points % dates.DAY // 3600
        if self.part == "weekday":
            return (days + 3) % 7  # The first of January 1970 was a Thursday.
        year, month, day = dates.years_and_months(days)
        return {"year": year, "day": day, "month": month - 1, "quarter": (month - 1) // 3}[
            self.part
        ]


@dataclass(frozen=True)
class Knotted(OfOneField):
    """A number and its excess over public knots: a broken line."""

    knots: tuple[float, ...]

    def column(self, arrays: Arrays) -> pa.Array:
        """Return the number."""
        return pa.array(values.numbers(arrays[0], self.source))


@dataclass(frozen=True)
class Crossed:
    """A product of two fields, which may have ranges of their own in it."""

    sources: tuple[Field, ...]


Derivation = Transformed | PartOfTime | Knotted | Crossed


@completed_by(Field)
@dataclass(frozen=True, kw_only=True)
class DerivedField(Field):
    """A feature that is made of fields of the same row; everything in it is public.

    Attributes
    ----------
    derivation : Derivation
        The fields, and what is made of them. A range is one of the values that are made, of a
        broken line one of its field.

    References
    ----------
    docs/mathematics/public-map.md, for the length of a row.

    Examples
    --------
    >>> from mipselect.tables import TableSchema
    >>> income = {"name": "income", "type": "number", "constraints": {"minimum": 1, "maximum": 9}}
    >>> log = {"name": "log income", "from": "income", "transform": "log"}
    >>> schema = TableSchema.of({"fields": [income], "mipselect:features": [log]})
    >>> schema.derived[0].inputs, schema.derived[0].minimum
    (('income',), 0.0)
    """

    derivation: Derivation

    @property
    def sources(self) -> tuple[Field, ...]:
        """The fields that its values are made of."""
        return self.derivation.sources

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the table that its values are made of."""
        return tuple(field.name for field in self.sources)

    def column(self, arrays: Arrays) -> pa.Array:
        """Return its values, of the columns `inputs` of a batch; a product has several columns."""
        assert not isinstance(self.derivation, Crossed)
        return self.derivation.column(arrays)

    def whole_ends(self, low: float, high: float) -> tuple[float, float]:
        """Extend a range of days, years, or a curve of whole numbers to whole ones."""
        made = self.derivation
        if isinstance(made, PartOfTime) and made.part in COUNTS:
            return outward(low, high)
        return made.whole_ends(low, high) if isinstance(made, Transformed) else (low, high)

    @property
    def gap(self) -> str:
        """Words that a person has to write before the feature can be used; "" if nothing."""
        made, own = self.derivation, "minimum and maximum of its own"
        if isinstance(made, Crossed):
            lacking = [field.name for field in made.sources if field.gap]
            return f"a range of {' and of '.join(lacking)}" if lacking else ""
        if self.categories is not None or self.minimum is not None:
            return ""
        if isinstance(made, PartOfTime):
            return own
        return f"a range of {made.source.name}, or {own}"
