"""Rows of a model: their public map, the balls that they lie in, and what is drawn from them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, checked_scales
from mipselect.errors import InvalidInput
from mipselect.frames import is_of
from mipselect.tables.public_map import ModelTable
from mipselect.validation import checked_flag, checked_integer, checked_scale, listed, set_fields


@dataclass(frozen=True)
class Balls:
    """A product of Euclidean balls around 0, of consecutive coordinates each.

    Its norm is ‖b‖ = max_f ‖b_f‖₂/a_f, at most 1 inside.

    Attributes
    ----------
    widths : tuple of int
        How many coordinates each ball has.
    radii : tuple of float
        a_f > 0.
    """

    widths: tuple[int, ...]
    radii: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of coordinates, d."""
        return sum(self.widths)

    @property
    def radius(self) -> float:
        """The root of the mean square of the radii."""
        return math.hypot(*self.radii) / math.sqrt(len(self.radii))

    @property
    def deviation(self) -> float:
        """σ: the root of the mean variance of a coordinate of noise with density ∝ e^{-‖b‖}.

        That is a uniform point of the product times a Gamma variable G of shape d + 1, and
        E G² = (d + 1)(d + 2); a uniform point of a ball has a mean square of a² m/(m + 2).
        """
        squares = [a * a * m / (m + 2.0) for m, a in zip(self.widths, self.radii, strict=True)]
        return math.sqrt((self.size + 1.0) * (self.size + 2.0) * math.fsum(squares) / self.size)


@dataclass(frozen=True)
class RowMap:
    """Clip each entry, divide it by a unit, append a one, and shorten the row to a length.

    Parameters
    ----------
    size : int
        How many columns there are, without the one.
    fit_intercept : bool
        Whether a one is appended.
    x_bound : tuple of float, shape (size,), optional
        Entries are clipped to ± these, in the units of the columns.
    unit : tuple of float, shape (size,), optional
        Entries are divided by these; 1 where none is given.
    row_bound : float, optional
        Rows, with the one in them, are shortened to this Euclidean length.
    fields : tuple of int, optional
        Widths of fields of consecutive columns, `size` together: the entries of each are shortened
        to a length of 1, after they were divided.

    Notes
    -----
    A public map of one row: nothing in it was computed from other rows. One of `x_bound` and
    `row_bound` must be there for `norm` to be finite.
    """

    size: int
    fit_intercept: bool = True
    x_bound: tuple[float, ...] | None = None
    unit: tuple[float, ...] | None = None
    row_bound: float | None = None
    fields: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        checked_flag(self.fit_intercept, "fit_intercept")
        for name in ("x_bound", "unit"):
            given = getattr(self, name)
            if given is not None:
                set_fields(self, **{name: checked_scales(given, name, self.size)})
        if self.row_bound is not None:
            set_fields(self, row_bound=checked_scale(self.row_bound, "row_bound"))
        if self.fields is not None:
            widths = tuple(checked_integer(w, "the width of a field", 1) for w in self.fields)
            if sum(widths) != self.size:
                raise InvalidInput(f"fields have {sum(widths)} columns, but rows have {self.size}")
            set_fields(self, fields=widths)

    @property
    def columns(self) -> int:
        """Number of entries of a mapped row."""
        return self.size + self.fit_intercept

    @property
    def norm(self) -> float:
        """The largest Euclidean length of a mapped row; ``inf`` without bounds."""
        whole = math.inf if self.parts is None else math.hypot(*self.parts.radii)
        return whole if self.row_bound is None else min(whole, self.row_bound)

    @property
    def parts(self) -> Balls | None:
        """Fields or entries, and the one, each with the largest length it has in a mapped row.

        None where only whole rows are bounded.
        """
        one = (1,) * self.fit_intercept
        if self.fields is not None:
            return Balls(self.fields + one, (1.0,) * (len(self.fields) + len(one)))
        if self.x_bound is None:
            return None
        units = self.unit or (1.0,) * self.size
        largest = tuple(b / u for b, u in zip(self.x_bound, units, strict=True))
        return Balls((1,) * self.size + one, largest + (1.0,) * len(one))

    def __call__(self, X: FloatArray) -> FloatArray:
        """Map rows, shape (n, size), to shape (n, columns)."""
        rows = np.array(X, dtype=np.float64)
        if self.x_bound is not None:
            rows = np.clip(rows, -np.array(self.x_bound), np.array(self.x_bound))
        if self.unit is not None:
            rows = rows / np.array(self.unit)
        if self.fields:
            parts = np.split(rows, np.cumsum(self.fields)[:-1], axis=1)
            rows = np.column_stack([shortened(part, 1.0) for part in parts])
        if self.fit_intercept:
            rows = np.column_stack([rows, np.ones(len(rows))])
        return rows if self.row_bound is None else shortened(rows, self.row_bound)

    def in_units_of_columns(self, theta: FloatArray) -> tuple[FloatArray, float]:
        """Convert coefficients of mapped rows, shape (columns,), to columns and intercept."""
        coef = np.array(theta[: self.size], dtype=np.float64)
        if self.unit is not None:
            coef = coef / np.array(self.unit)
        return coef, float(theta[-1]) if self.fit_intercept else 0.0

    def predictor(self, coef: FloatArray, intercept: float, X: FloatArray) -> FloatArray:
        """Compute the predictor of rows, shape (n, size); coefficients are per unit of a column."""
        theta = np.array(coef, dtype=np.float64)
        if self.unit is not None:
            theta = theta * np.array(self.unit)
        if self.fit_intercept:
            theta = np.append(theta, intercept)
        return products(self(X), theta)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {
            "size": self.size,
            "fit_intercept": self.fit_intercept,
            "x_bound": None if self.x_bound is None else list(self.x_bound),
            "unit": None if self.unit is None else list(self.unit),
            "row_bound": self.row_bound,
            **({} if self.fields is None else {"fields": list(self.fields)}),
        }


def shortened(rows: FloatArray, bound: float) -> FloatArray:
    """Scale every row of shape (n, d) that is longer than `bound` to that length."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    units = rows / np.where(largest > 0.0, largest, 1.0)
    lengths = np.sqrt(products(units * units, np.ones(rows.shape[1])))[:, None]
    # Compared in units of the largest entry, for squares of the entries may overflow.
    longer = (lengths > 0.0) & (largest > bound / np.where(lengths > 0.0, lengths, 1.0))
    return np.where(longer, units * (bound / np.where(lengths > 0.0, lengths, 1.0)), rows)


def products(rows: FloatArray, theta: FloatArray) -> FloatArray:
    """Compute Σ_j rows[:, j] θ_j, added up in the order of the columns.

    A row's product does not depend on which other rows there are, to the last bit: a matrix
    product may add up in another order for another number of rows.
    """
    total = np.zeros(len(rows))
    for column, weight in zip(rows.T, theta, strict=True):
        total += column * weight
    return total


HUBER = "huber"
"""Word for Huber's loss, of a regressor and in the name of its mechanism."""

IN_UNITS = ("coef_bound", "noise_scale", "noise_deviation")
"""Public numbers of a model that are in units of its target."""


@dataclass(frozen=True)
class TargetPart:
    """A part of [-1, 1] that the target was fitted in, and what it cost; all of it is released.

    Attributes
    ----------
    low, high : float
    epsilon : float
    """

    low: float
    high: float
    epsilon: float

    @property
    def middle(self) -> float:
        """The target that is 0 in units of the part."""
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> float:
        """Half of its length."""
        return 0.5 * (self.high - self.low)

    def units(self, y: FloatArray) -> FloatArray:
        """Put targets in units of the part, not clipped; shape (n,)."""
        return (y - self.middle) / self.half

    def coefficients(self, theta: FloatArray) -> FloatArray:
        """Convert coefficients, the intercept the last, to those of a target in [-1, 1]; (d,)."""
        found = self.half * theta
        found[-1] += self.middle
        return found


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Rows that a model is fitted to; sensitive but for the table.

    Attributes
    ----------
    X : ndarray of shape (n, k), finite
        The columns of the model.
    y : ndarray of shape (n,), finite
        Classes as -1 and +1; 0 for a row that does not count.
    table : ModelTable or None
        What a model of a table remembers of it.
    shares : ndarray of shape (n,), or None
        How much each row counts, in [0, 1], 0 without a target; None where all count the same.
    part : TargetPart or None
        The part of the range of the target in whose units y is; None for the whole.
    """

    X: FloatArray
    y: FloatArray
    table: ModelTable | None = None
    shares: FloatArray | None = None
    part: TargetPart | None = None

    def counted(self, values: FloatArray) -> FloatArray:
        """Return a number of each row, NaN for rows that do not count; shape (n,)."""
        return values if self.shares is None else np.where(self.shares > 0.0, values, np.nan)


@dataclass(frozen=True)
class Drawn:
    """Result of a draw; all of it is released.

    Attributes
    ----------
    theta : float array, shape (columns of `rows`,), or None
        Coefficients of mapped rows; None where no model is released.
    rows : RowMap
    mechanism : str
    bounds, footnotes
        See `ModelRelease`.
    """

    theta: FloatArray | None
    rows: RowMap
    mechanism: str
    bounds: Mapping[str, float] = field(default_factory=dict)
    footnotes: tuple[str, ...] = ()

    def in_units_of(self, rows: ModelRows) -> Drawn:
        """Convert a model of rows whose target is in units of a part of its range to all of it.

        Its public numbers in these units are converted likewise, and a footnote says the part.
        """
        part = rows.part
        if part is None or rows.table is None or self.theta is None:
            return self
        target = rows.table.public.target
        low, high = (target.offset + target.scale * end for end in (part.low, part.high))
        note = (
            f"most values of the target lie between {low:.6g} and {high:.6g}, drawn with ε = "
            f"{part.epsilon:.6g} of the model; the loss and the noise are in units of half of that"
        )
        return replace(
            self,
            theta=part.coefficients(self.theta),
            bounds={k: v * part.half if k in IN_UNITS else v for k, v in self.bounds.items()},
            footnotes=(*self.footnotes, note),
        )


COUNTED = re.compile(r"x?\d+")
"""Names that columns get where they have none."""


def by_name(X: Any, names: Sequence[str]) -> Any:
    """Return the named columns of a frame in their order; whatever has no names stays as it is.

    Parameters
    ----------
    X : array_like, or a frame of pandas or Polars, or pyarrow.Table
    names : sequence of str
        Names that say no more than a place take columns by their place.

    Raises
    ------
    InvalidInput
        If a frame of so many columns has others.
    """
    if not is_of(X, "pyarrow.Table", "pandas.DataFrame", "polars.DataFrame"):
        return X
    known = X.column_names if is_of(X, "pyarrow.Table") else list(X.columns)
    if set(names) <= set(known):
        return X[list(names)] if is_of(X, "pandas.DataFrame") else X.select(list(names))
    if all(map(COUNTED.fullmatch, names)) or len(known) != len(names):
        return X
    raise InvalidInput(
        f"X must have the columns {listed(names)}, got {listed([str(name) for name in known])}; "
        "give X.to_numpy() if they are these by their place"
    )
