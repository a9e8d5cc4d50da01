"""Rows of a problem, which are sensitive: as they are, and clipped to its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.arrays import FloatArray
from mipselect.frames import numeric_matrix, refuse_another_order
from mipselect.losses.base import degree_of
from mipselect.problem.layout import Groups
from mipselect.problem.problem import Problem
from mipselect.restricted.prepared import PreparedLoss


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

    @property
    def weighted(self) -> bool:
        """True if rows do not all count the same."""
        return self.weights is not None

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
