"""Rows that a model is drawn from, results of the draw, and the release that they become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.losses.classes import Classes
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression.release import ModelRelease
from mipselect.regression.rows import RowMap
from mipselect.tables.model_table import ModelTable

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

    def bounds(self, of_part: Mapping[str, float]) -> dict[str, float]:
        """Convert the public numbers of a model likewise."""
        return {k: v * self.half if k in IN_UNITS else v for k, v in of_part.items()}

    def note(self, scale: float, offset: float) -> str:
        """Say where the part is, of a target that stands for offset + scale · y."""
        low, high = (offset + scale * end for end in (self.low, self.high))
        return (
            f"most values of the target lie between {low:.6g} and {high:.6g}, drawn with ε = "
            f"{self.epsilon:.6g} of the model; the loss and the noise are in units of half of that"
        )


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
    weights : ndarray of shape (n,), or None
        How much each row counts, in [0, 1]; None where all count the same.
    targeted : ndarray of bool, shape (n,), or None
        False for a row without a target, which counts in nothing; None where each has one.
    part : TargetPart or None
        The part of the range of the target in whose units y is; None for the whole.
    """

    X: FloatArray
    y: FloatArray
    table: ModelTable | None = None
    weights: FloatArray | None = None
    targeted: NDArray[np.bool_] | None = None
    part: TargetPart | None = None

    def with_target(self, values: FloatArray) -> FloatArray:
        """Return a number of each row, NaN for rows without a target; shape (n,)."""
        return values if self.targeted is None else np.where(self.targeted, values, np.nan)

    @property
    def shares(self) -> FloatArray | None:
        """Shares that rows count with, shape (n,), 0 without a target; None where all count 1."""
        if self.targeted is None:
            return self.weights
        return self.targeted * (1.0 if self.weights is None else self.weights)


@dataclass(frozen=True)
class Drawn:
    """Result of a draw; all of it is released.

    Attributes
    ----------
    theta : float array, shape (columns of `rows`,), or None
        Coefficients of mapped rows; None where no model is released.
    rows : RowMap
    mechanism : str
    statistics, bounds, footnotes
        See `ModelRelease`.
    """

    theta: FloatArray | None
    rows: RowMap
    mechanism: str
    bounds: Mapping[str, float] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)
    footnotes: tuple[str, ...] = ()

    def in_units_of(self, rows: ModelRows) -> Drawn:
        """Convert a model of rows whose target is in units of a part of its range to all of it."""
        if rows.part is None or rows.table is None or self.theta is None:
            return self
        target = rows.table.public.target
        return replace(
            self,
            theta=rows.part.coefficients(self.theta),
            bounds=rows.part.bounds(self.bounds),
            footnotes=(*self.footnotes, rows.part.note(target.scale, target.offset)),
        )


def released(
    drawn: Drawn,
    support: tuple[int, ...],
    names: tuple[str, ...],
    guarantee: Guarantee,
    classes: Classes | None = None,
    columns: tuple[str, ...] = (),
    table: ModelTable | None = None,
) -> ModelRelease:
    """Return what was drawn for some features with its guarantee; `names` are those of them."""
    coef, intercept = None, 0.0
    if drawn.theta is not None:
        coefficients, intercept = drawn.rows.in_units_of_columns(drawn.theta)
        coef = tuple(coefficients.tolist())
    return ModelRelease(
        support=support,
        feature_names=names,
        guarantee=guarantee,
        mechanism=drawn.mechanism,
        private=guarantee.private,
        coefficients=coef,
        intercept=intercept,
        rows=drawn.rows,
        bounds=drawn.bounds,
        classes=classes,
        statistics=drawn.statistics,
        footnotes=drawn.footnotes,
        columns=columns,
        table=table,
    )
