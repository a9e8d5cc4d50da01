"""Data of a problem, which are sensitive: clipped rows, or exact sums over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.grid import rounded
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, refuse_another_order
from mipselect.losses import Loss, PreparedLoss, SquaredLoss
from mipselect.losses.base import degree_of, scaled_rows
from mipselect.problem.layout import Layout
from mipselect.problem.problem import Problem
from mipselect.restricted.gram import FULL_GRAM_BYTES, KnownGram
from mipselect.restricted.squared import EPS, ROUNDINGS, PreparedSquared

if TYPE_CHECKING:
    from mipselect.tables.moments import Moments


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as they are, not clipped.

    Attributes
    ----------
    X : float array, shape (n, C)
        The columns in the order of `Layout.ordered`.
    y : array, shape (n,)
        Numbers, or labels of classes.
    """

    X: Any = field(repr=False)
    y: Any = field(repr=False)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def columns(self, problem: Problem) -> Any:
        """Return the columns of the features, then those always in, without an intercept."""
        return self.X if self.X.shape[1] == problem.p else self.X[:, : problem.p]


def problem_with_rows(
    X: ArrayLike,
    y: ArrayLike,
    *,
    feature_names: Sequence[str] | None,
    **question: Any,
) -> tuple[Problem, Rows]:
    """Return the problem of arrays, and their rows; see `Problem.of_columns` for the question."""
    refuse_another_order(X, y)
    matrix, names = numeric_matrix(X, feature_names)
    problem = Problem.of_columns(matrix.shape[1], names, **question)
    return problem, Rows(problem.layout.ordered(matrix), y)


@dataclass(frozen=True, eq=False)
class ClippedRows(Rows):
    """Rows that obey the bounds of a problem, as `Layout.clipped` returns them; read-only.

    Classes are -1 and +1.

    Attributes
    ----------
    weights : float array, shape (n,), or None
        How much the loss of each row counts, in [0, 1]; None where all count the same. X and y
        are not multiplied by it.
    targeted : ndarray of bool, shape (n,), or None
        False for a row of a table without a target; None where each has one. The loss does not
        ask, and models leave such a row out.
    device : str or None
        Where PyTorch multiplies columns; None is NumPy.
    """

    weights: FloatArray | None = field(default=None, repr=False)
    targeted: NDArray[np.bool_] | None = field(default=None, repr=False)
    device: str | None = None
    has_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.X.flags.writeable = self.y.flags.writeable = False
        if self.weights is not None:
            self.weights.flags.writeable = False

    @classmethod
    def of(
        cls,
        problem: Problem,
        X: FloatArray,
        y: ArrayLike,
        weights: FloatArray | None = None,
        targeted: NDArray[np.bool_] | None = None,
    ) -> ClippedRows:
        """Clip a target, shape (n,), and keep columns that are clipped already."""
        bound = problem.bound("y_bound")
        clipped = np.clip(np.asarray(y, dtype=np.float64), -bound, bound)
        return cls(X, clipped, weights, targeted)

    def prepared(self, problem: Problem) -> PreparedLoss:
        """Tie the loss of a problem to the rows."""
        X, y = self.X, self.y
        if self.weights is not None:
            X, y = scaled_rows(X, y, self.weights, degree_of(problem.stated_loss))
        ridge, radius = problem.bound("ridge"), problem.bound("coef_bound")
        if self.device is None:
            return problem.stated_loss.prepare(X, y, ridge=ridge, radius=radius)
        from mipselect.restricted.device import DeviceColumns

        columns = DeviceColumns(X, self.device)
        return PreparedSquared.of_columns(columns, y, ridge=ridge, radius=radius)

    def value_error(self, problem: Problem, n: int) -> float:
        """Bound the difference between a value and R; public. Sums over n rows are rounded."""
        y_bound = problem.bound("y_bound")
        return problem.stated_loss.value_error(n, y_bound, problem.prediction_bound)


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
    def partitions(self) -> int:
        """Times that the loss of the rows is in the sums: T where they are of blocks, else 1."""
        blocks = self.moments.columns.blocks
        return 1 if blocks is None else blocks.partitions

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


def require_squared(loss: Loss) -> None:
    """Raise `InvalidInput` unless sums of squares and products are all that a loss needs."""
    if not isinstance(loss, SquaredLoss):
        raise InvalidInput(
            f"moments are sums of squares and products, which the {loss.name} loss cannot be "
            "computed from; it needs rows: Instance.from_table or Instance(X, y, ...)"
        )
