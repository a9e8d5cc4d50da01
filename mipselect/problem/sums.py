"""Exact sums over rows in place of the rows: enough for the squared loss and for some scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn, cast

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.grid import rounded
from mipselect.losses import SquaredLoss
from mipselect.losses.base import Loss
from mipselect.problem.block_problem import problem_of_array_blocks, problem_of_table_blocks
from mipselect.problem.layout import Always, Groups, Layout, laid_out
from mipselect.problem.problem import Problem
from mipselect.restricted.gram import FULL_GRAM_BYTES, KnownGram
from mipselect.restricted.prepared import PreparedLoss
from mipselect.restricted.squared import EPS, ROUNDINGS, PreparedSquared
from mipselect.tables.moments import Moments
from mipselect.tables.moments.columns import (
    ArrayBlockColumns,
    ArrayColumns,
    BlockColumns,
    SchemaColumns,
    TableBlockColumns,
)


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Sums over rows that are not here, and that no rounding has entered.

    Attributes
    ----------
    moments : Moments
        Sensitive.
    layout : Layout
        Its columns are named as in the moments.
    """

    moments: Moments = field(repr=False)
    layout: Layout = field(repr=False)
    has_rows: ClassVar[bool] = False

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.moments.n

    @property
    def X(self) -> NoReturn:
        """No rows: raises `InvalidInput`, for there are only sums."""
        raise self._no_rows()

    @property
    def y(self) -> NoReturn:
        """No target: raises `InvalidInput`, for there are only sums."""
        raise self._no_rows()

    def _no_rows(self) -> InvalidInput:
        return InvalidInput(
            "an instance from moments has sums and no rows; what needs rows needs "
            "Instance.from_table or Instance(X, y, ...)"
        )

    @property
    def of_blocks(self) -> bool:
        """True if the sums are over blocks of rows."""
        return isinstance(self.moments.columns, BlockColumns)

    @property
    def partitions(self) -> int:
        """Times that the loss of the rows is in the sums: T where they are of blocks, else 1."""
        columns = self.moments.columns
        return columns.blocks.partitions if isinstance(columns, BlockColumns) else 1

    @cached_property
    def places(self) -> IntArray:
        """Rows of the matrix of moments: columns of the features, then those always in."""
        names = {name: k for k, name in enumerate(self.moments.columns.names, 1)}
        return np.array([names[self.layout.column_names[j]] for j in self.layout.order.tolist()])

    @property
    def units(self) -> list[float]:
        """The unit of each of these columns."""
        return [self.moments.columns.x_bounds[k - 1] for k in self.places.tolist()]

    @property
    def shares(self) -> FloatArray:
        """Unit of each column of a feature, as a share of the feature's bound."""
        widths = self.layout.features.widths
        each = np.repeat(self.layout.bounds, widths)
        shares = np.array(self.units[: len(each)]) / each
        # Rounded down: those of a feature have squares of at most 1 together.
        return np.where(shares < 1.0, np.nextafter(shares, 0.0), 1.0)

    @cached_property
    def _entries(self) -> tuple[IntArray, FloatArray]:
        """Rows of the matrix for all coefficients, an intercept last, and their units."""
        places, units = self.places, np.array(self.units)
        if self.layout.intercept:
            places, units = np.append(places, self.moments.columns.ones), np.append(units, 1.0)
        return places, units

    @cached_property
    def gram(self) -> FloatArray:
        """XᵀX in the order of the layout and the units of the columns, shape (C, C)."""
        size = self.layout.features.size
        if 8 * size**2 > FULL_GRAM_BYTES:
            raise InvalidInput(
                f"{size:,} columns need XᵀX, which is larger than 1 GiB beyond 11,585 columns"
            )
        places, units = self._entries
        gram, inside = np.zeros((size, size)), slice(len(places))
        gram[inside, inside] = rounded(self.moments.matrix[np.ix_(places, places)])
        gram[inside, inside] *= np.outer(units, units) / self.partitions
        gram.flags.writeable = False
        return gram

    @cached_property
    def moment(self) -> FloatArray:
        """Xᵀy, shape (C,)."""
        places, units = self._entries
        moment = np.zeros(self.layout.features.size)
        moment[: len(places)] = rounded(self.moments.matrix[places, -1]) * (
            units * self.moments.columns.y_bound / self.partitions
        )
        moment.flags.writeable = False
        return moment

    @property
    def target_norm(self) -> float:
        """yᵀy."""
        square: float = rounded(self.moments.matrix[-1:, -1])[0]
        return float(square) * self.moments.columns.y_bound**2 / self.partitions

    def prepared(self, problem: Problem) -> PreparedLoss:
        """Tie the squared loss to the sums; raise `InvalidInput` for others."""
        require_squared(problem.stated_loss)
        return PreparedSquared(
            KnownGram(self.gram),
            self.moment,
            self.target_norm,
            problem.terms(self.n),
            ridge=problem.bound("ridge"),
            radius=problem.bound("coef_bound"),
        )

    def value_error(self, problem: Problem, n: int) -> float:
        """Bound rounding of d - 2b·β + βᵀGβ, a sum of terms of at most n(b_y + U)² in all; public.

        The sums over rows are exact, whatever n is. What is left are a few roundings for each
        column, in the sum and in the solution of the normal equations, whose backward error moves
        the minimum over the ball by no more than it moves G on it.
        """
        columns = problem.layout.features.most_columns(problem.support_size)
        spread = problem.stated_loss.spread(problem.bound("y_bound"), problem.prediction_bound)
        return 2.0 * (ROUNDINGS + 16 * columns) * EPS * spread


def problem_of_moments(
    moments: Moments,
    *,
    always: Always = None,
    never: Sequence[str] = (),
    groups: Groups = None,
    feature_names: Sequence[str] | None = None,
    intercept: bool | None = None,
    **settings: Any,
) -> Problem:
    """Return the problem of moments; the arguments are those of `Instance.from_moments`."""
    columns = moments.columns
    grouped = groups is not None or feature_names is not None
    if isinstance(columns, BlockColumns) and (grouped or intercept):
        raise InvalidInput(
            "blocks hold their features and are centred: leave out groups, "
            "feature_names and intercept"
        )
    if isinstance(columns, ArrayBlockColumns):
        if always or never:
            raise InvalidInput("blocks of arrays hold what is always in; leave out always, never")
        return problem_of_array_blocks(columns, **settings)
    if isinstance(columns, SchemaColumns):
        if grouped:
            raise InvalidInput("the fields of a table are its features: leave out groups")
        fixed = [always] if isinstance(always, str) else cast(Any, always or ())
        question = columns.question.of_moments(fixed, never)
        if isinstance(columns, TableBlockColumns):
            return problem_of_table_blocks(question, columns.blocks, **settings)
        return Problem.of_table(question.public, intercept=intercept is not False, **settings)
    assert isinstance(columns, ArrayColumns)
    if settings.get("coef_bound") is None or settings.get("ridge") is None or never:
        raise InvalidInput(
            "moments of arrays need coef_bound and ridge, both public, and have no fields to leave "
            "out"
        )
    layout = layout_of_arrays(
        columns,
        feature_names=feature_names,
        groups=groups,
        always=always,
        intercept=intercept is True,
    )
    return Problem(layout=layout, loss=SquaredLoss(), y_bound=columns.y_bound, **settings)


def layout_of_arrays(
    columns: ArrayColumns,
    *,
    feature_names: Sequence[str] | None,
    groups: Groups,
    always: Always,
    intercept: bool,
) -> Layout:
    """Lay out features of summed columns; each is bounded by those of all its columns together."""
    layout = laid_out(
        len(columns.names),
        columns.names,
        feature_names,
        groups=groups,
        always=always,
        intercept=intercept,
        x_bound=1.0,
    )

    def bound(part: Sequence[int]) -> float:
        each = [columns.x_bounds[j] for j in part]
        return each[0] if len(each) == 1 else math.nextafter(math.hypot(*each), math.inf)

    return replace(
        layout,
        limits=np.array([bound(group) for group in layout.groups]),
        always_limit=max(map(bound, layout.always), default=max(columns.x_bounds)),
    )


def require_squared(loss: Loss) -> None:
    """Raise `InvalidInput` unless sums of squares and products are all that a loss needs."""
    if not isinstance(loss, SquaredLoss):
        raise InvalidInput(
            f"moments are sums of squares and products, which the {loss.name} loss cannot be "
            "computed from; it needs rows: Instance.from_table or Instance(X, y, ...)"
        )
