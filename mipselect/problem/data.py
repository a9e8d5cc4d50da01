"""Rows of a problem, which are sensitive: as they are, and clipped to its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.problem.layout import Groups
from mipselect.problem.problem import Problem
from mipselect.problem.weighted_rows import degree_of, scaled_rows
from mipselect.restricted.prepared import PreparedLoss
from mipselect.tables.frames import numeric_matrix
from mipselect.tables.row_order import refuse_another_order


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


@dataclass(frozen=True, eq=False)
class ClippedRows(Rows):
    """Rows that obey the bounds of a problem, as `Layout.clipped` returns them; read-only.

    Classes are -1 and +1.

    Attributes
    ----------
    weights : float array, shape (n,), or None
        How much the loss of each row counts, in [0, 1]; None where all count the same. X and y
        are not multiplied by it.
    """

    weights: FloatArray | None = field(default=None, repr=False)
    has_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.X.flags.writeable = self.y.flags.writeable = False
        if self.weights is not None:
            self.weights.flags.writeable = False

    @classmethod
    def of(
        cls, problem: Problem, X: FloatArray, y: ArrayLike, weights: FloatArray | None = None
    ) -> ClippedRows:
        """Clip a target, shape (n,), and keep columns that are clipped already."""
        bound = problem.bound("y_bound")
        return cls(X, np.clip(np.asarray(y, dtype=np.float64), -bound, bound), weights)

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

    def value_error(self, problem: Problem) -> float:
        """Bound the difference between a value and R; public. Sums over n rows are rounded."""
        y_bound = problem.bound("y_bound")
        return problem.stated_loss.value_error(self.n, y_bound, problem.prediction_bound)
