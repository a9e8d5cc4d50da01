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
from mipselect.regression.typical_target import TargetPart
from mipselect.tables.model_table import ModelTable


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
