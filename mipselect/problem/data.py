"""Data of a problem, which are sensitive: clipped rows, or exact sums, with R(S) of any support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, refuse_another_order
from mipselect.grid import rounded
from mipselect.losses import CertifiedLoss, Loss, PreparedLoss, RestrictedFit, SquaredLoss
from mipselect.losses.base import degree_of
from mipselect.problem.layout import Groups, Layout
from mipselect.problem.problem import OfProblem, Problem
from mipselect.restricted.gram import FULL_GRAM_BYTES, KnownGram
from mipselect.restricted.grouping import on_features
from mipselect.restricted.squared import EPS, ROUNDINGS, PreparedSquared
from mipselect.validation import set_fields

if TYPE_CHECKING:
    from mipselect.tables import TableCoefficients, Units
    from mipselect.tables.moments import Moments


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as they are, not clipped.

    Attributes
    ----------
    X : float array or CSR matrix, shape (n, C)
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
    groups: Groups,
    **question: Any,
) -> tuple[Problem, Rows]:
    """Return the problem of arrays, and their rows; see `Problem.of_columns` for the question."""
    refuse_another_order(X, y)
    matrix, names = numeric_matrix(X, feature_names if groups is None else None)
    problem = Problem.of_columns(
        matrix.shape[1], names, feature_names=feature_names, groups=groups, **question
    )
    return problem, Rows(problem.layout.ordered(matrix), y)


def scaled_rows(
    X: FloatArray, y: FloatArray, weights: FloatArray, degree: int
) -> tuple[FloatArray, FloatArray]:
    """Multiply rows by the c of c^k = w: a loss with ℓ(cy, cu) = c^k ℓ(y, u) counts w times then.

    Parameters
    ----------
    X : ndarray of shape (n, C)
        With the column of ones of an intercept, if there is one.
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        w, in [0, 1].
    degree : int
        k, 1 or 2.

    Notes
    -----
    They are rows within the bounds, so whatever is proven of rows holds of these
    (docs/mathematics/weights.md, (1)). No entry becomes larger: a product with a c of at most 1 is
    not rounded beyond the entry.
    """
    # Of the type of X, so that both are multiplied by the same number.
    factors = (np.sqrt(weights) if degree == 2 else weights).astype(X.dtype)
    return X * factors[:, None], y * factors


def leave_out(rows: FloatArray, y: FloatArray) -> None:
    """Let the loss of rows without a class, y = 0, be the same whatever is chosen, in place."""
    without_class = y == 0.0
    y[without_class], rows[without_class] = -1.0, 0.0


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
    """

    weights: FloatArray | None = field(default=None, repr=False)
    targeted: NDArray[np.bool_] | None = field(default=None, repr=False)
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
        return problem.stated_loss.prepare(X, y, ridge=ridge, radius=radius)

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
    def of_blocks(self) -> bool:
        """True if the sums are over blocks of rows."""
        return self.moments.columns.blocks is not None

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


class Restricted(OfProblem):
    """Restricted problems of one data set; `Instance` says what everything is.

    Attributes
    ----------
    problem : Problem
        Public.
    data : ClippedRows or ExactSums
        Sensitive.
    """

    data: ClippedRows | ExactSums

    @classmethod
    def of(cls, problem: Problem, data: ClippedRows | ExactSums) -> Self:
        """Put a problem and data that obey its bounds together.

        Raises
        ------
        InvalidInput
            For a ridge that is too small for so many rows.
        """
        problem.require_ridge(data.n)
        new = cls.__new__(cls)
        set_fields(new, problem=problem, data=data)
        return new

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Instance is immutable; make a new one to change {name}")

    def __repr__(self) -> str:
        features = "" if self.layout.features.plain else f"n_features={self.n_features}, "
        classes = f", classes={self.classes!r}" if self.classes is not None else ""
        blocks = self.problem.blocks
        bounds = (
            f"x_bound={self.x_bound:g}, y_bound={self.y_bound:g}"
            if blocks is None
            else f"block_rows={blocks.rows}, partitions={blocks.partitions}"
        )
        return (
            f"Instance(n={self.n}, p={self.p}, {features}support_size={self.support_size}, "
            f"{bounds}, coef_bound={self.coef_bound:g}, ridge={self.ridge:g}, "
            f"loss={self.loss!r}{classes})"
        )

    @property
    def X(self) -> FloatArray:
        """The clipped columns, shape (n, p), read-only; sensitive.

        Raises
        ------
        InvalidInput
            For an instance from moments, as `y` does: there are no rows.
        """
        columns = self.layout.table(self.data.X)
        columns.flags.writeable = False
        return columns

    @property
    def y(self) -> FloatArray:
        """The clipped target, shape (n,), read-only; sensitive."""
        y: FloatArray = self.data.y
        return y

    @property
    def weights(self) -> FloatArray | None:
        """Weights of the losses of rows, in [0, 1], shape (n,), read-only; sensitive.

        None where all rows count the same, and where there are sums and no rows.
        """
        return getattr(self.data, "weights", None)

    @property
    def targeted(self) -> NDArray[np.bool_] | None:
        """False for rows of a table without a target, shape (n,); sensitive. None where all have.

        Models leave such rows out.
        """
        return getattr(self.data, "targeted", None)

    @property
    def moments(self) -> Moments | None:
        """Moments that `from_moments` made it from; None where it has rows. Sensitive."""
        return getattr(self.data, "moments", None)

    @property
    def n(self) -> int:
        """Number of rows; public under the replace-one relation."""
        return self.data.n

    @property
    def has_rows(self) -> bool:
        """True if there are rows, and not only sums over them."""
        return self.data.has_rows

    @property
    def p(self) -> int:
        """Number of columns of X."""
        return self.problem.p

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns of X, p of them."""
        return self.layout.column_names

    @property
    def layout(self) -> Layout:
        """Columns of each feature, and those that are always in; public."""
        return self.problem.layout

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The columns of every feature."""
        return self.layout.groups

    @property
    def always(self) -> tuple[tuple[int, ...], ...]:
        """The columns that are always in, those together that are bounded together."""
        return self.layout.always

    @property
    def intercept(self) -> bool:
        """True if a column of ones is always in."""
        return self.layout.intercept

    @property
    def feature_bounds(self) -> FloatArray:
        """b_j of every feature, shape (n_features,); `x_bound` is the largest."""
        return self.layout.bounds

    @property
    def x_bound(self) -> float:
        """The largest of `feature_bounds`."""
        return float(self.layout.bounds.max())

    @property
    def always_bound(self) -> float:
        """The bound of every entry of `always`."""
        return self.layout.always_bound

    @property
    def y_bound(self) -> float:
        """b_y, the largest |y|."""
        return self.problem.bound("y_bound")

    @property
    def coef_bound(self) -> float:
        """r, the largest ‖β‖₂."""
        return self.problem.bound("coef_bound")

    @property
    def ridge(self) -> float:
        """λ of the penalty (λ/2n)‖β‖²."""
        return self.problem.bound("ridge")

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return self.problem.stated_loss.name

    @property
    def of_classes(self) -> bool:
        """True if the loss is for a target of two classes."""
        return self.problem.of_classes

    @property
    def classes(self) -> tuple[str, str] | None:
        """Names of the classes that became -1 and +1, or None."""
        return self.problem.classes

    @property
    def units(self) -> Units | None:
        """Way back from columns to the units of the table that `from_table` read, or None."""
        return self.problem.units

    @property
    def prediction_bound(self) -> float:
        """U = r √(b_A² + the s largest b_j² added up), the largest |x_iS·β|."""
        return self.problem.prediction_bound

    @property
    def sensitivity(self) -> float:
        """Δ: the most that R(S) moves, for any S, when one row is replaced."""
        return self.problem.sensitivity(self.n)

    @property
    def oscillation(self) -> float:
        """Half of the length of an interval that holds all changes of R; see `Problem`."""
        return self.problem.oscillation(self.n)

    @property
    def value_error(self) -> float:
        """The most by which a value that is returned differs from R(S), for any S; public."""
        return self.value_error_of(self.n)

    def value_error_of(self, n: int) -> float:
        """Return `value_error` for n rows within the same bounds; public."""
        return self.data.value_error(self.problem, n)

    @property
    def uncertain(self) -> float:
        """Part of τΔ that a certificate leaves for the errors of two values; public."""
        return 2.0 * self.value_error

    @property
    def value_error_of_one_row(self) -> float:
        """Error of a value with one row, as a share of Δ: what the loss leaves open; public."""
        bounds = self.y_bound, self.prediction_bound
        loss = self.problem.stated_loss
        return loss.value_error(1, *bounds) / loss.spread(*bounds)

    @cached_property
    def prepared(self) -> PreparedLoss:
        """The loss tied to the clipped data; what the search works on."""
        if isinstance(self._tied, CertifiedLoss):
            return self._tied.certified_for(self.sensitivity)
        return self._tied

    @cached_property
    def _tied(self) -> PreparedLoss:
        """The loss tied to the clipped data, for any support size."""
        return on_features(self.data.prepared(self.problem), self.layout.features)

    def with_support_size(self, support_size: int) -> Self:
        """Return the same data and bounds with another s; nothing is copied."""
        other = self.of(self.problem.with_support_size(support_size), self.data)
        if other.support_size == self.support_size:
            return self
        # Made here if it is not there yet, so that both share it.
        other.__dict__["_tied"] = self._tied
        return other

    def objective(self, support: ArrayLike) -> float:
        """Return R(support); sensitive.

        Parameters
        ----------
        support : array_like of int, shape (s,)
            Distinct 0-based indices of features, in any order.
        """
        return self.fit(support).value

    def objectives(self, supports: ArrayLike) -> FloatArray:
        """Return R of every row of `supports`, shape (m, s), as one batch (m,); sensitive."""
        return self.prepared.values(self.problem.check_supports(supports))

    def fit(self, support: ArrayLike) -> RestrictedFit:
        """Solve the restricted problem exactly; value, coef and multiplier are sensitive.

        `coef` follows the order of `support`, and within a feature that of its columns.
        """
        indices = self.check_support(support)
        order = np.argsort(indices)
        # In one order, so that rounding does not depend on how a support is written.
        fit = self.prepared.fit(indices[order])
        widths = self.layout.features.widths[indices[order]]
        blocks = np.split(fit.coef, np.cumsum(widths)[:-1])
        return replace(fit, coef=np.concatenate([blocks[k] for k in np.argsort(order)]))

    def fit_in_units(self, support: ArrayLike) -> TableCoefficients:
        """Return the coefficients of `fit` in the units of the table; sensitive.

        Raises
        ------
        InvalidInput
            Where the instance was not made from a table with a schema, or is of blocks.
        """
        if self.problem.blocks is not None:
            raise InvalidInput("coefficients of normalised blocks have no unit of the table")
        if self.units is None:
            raise InvalidInput("only a table with a schema has units: use Instance.from_table")
        fit = self.fit(support)
        chosen = [self.groups[j] for j in self.check_support(support).tolist()]
        indices = [j for group in (*chosen, *self.always) for j in group]
        always = fit.always.tolist()
        constant = always.pop() if self.intercept else 0.0
        return self.units.coefficients(indices, [*fit.coef.tolist(), *always], constant)
