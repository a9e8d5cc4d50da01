"""The path of the Lasso, knot after knot.

scikit-learn's `lars_path` and `Lasso` warn, with exact numbers, where they meet equal columns or do
not converge. A warning reaches everyone who listens to the process, and tells about the data;
nothing here warns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mipselect.arrays import FloatArray

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]

DEPENDENT = 1e-12
"""A column depends on others if less than this share of its square is left beside them."""

SMALLEST = 1e-10
"""The path ends at this share of the penalty at which it begins."""

SEGMENTS_PER_COLUMN = 20
"""A path has at most so many segments for each of its min(m, p) columns."""


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of the path, between two knots; the coefficients are linear in the penalty.

    Attributes
    ----------
    penalties : (float, float)
        From a λ to one that is not above it.
    ends : (float array, float array)
        The coefficients there, each of shape (p,).
    """

    penalties: tuple[float, float]
    ends: tuple[FloatArray, FloatArray] = field(repr=False)

    @property
    def middle(self) -> FloatArray:
        """The coefficients halfway, where no active one is zero."""
        return (self.ends[0] + self.ends[1]) / 2.0

    def at(self, penalty: float) -> FloatArray:
        """Return the coefficients at a penalty of this segment, or at the nearest of its ends."""
        first, last = self.penalties
        share = (first - min(first, max(penalty, last))) / (first - last) if first > last else 1.0
        return self.ends[0] + share * (self.ends[1] - self.ends[0])


def lasso_path(X: FloatArray, y: FloatArray) -> Iterator[Segment]:
    """Follow the minimisers of ½‖y - Xβ‖² + λ‖β‖₁ from β = 0 down to λ ≈ 0.

    Parameters
    ----------
    X : float array, shape (m, p)
        Finite, and no entry above 1 or so.
    y : float array, shape (m,)
        The same.

    Yields
    ------
    Segment
        None if Xᵀy = 0.

    Notes
    -----
    With the active columns A and their signs s, β_A moves by γd with X_AᵀX_A d = s when λ falls by
    γ, and the correlations c = Xᵀ(y - Xβ) by -γa with a = XᵀX_A d. A segment ends where another
    |c_j| reaches λ - γ and j becomes active, or where a coefficient reaches zero and leaves. A
    column that depends on the active ones stays out until one of them leaves: of equal columns
    the earlier is taken.

    References
    ----------
    Efron, Hastie, Johnstone and Tibshirani, "Least angle regression", 2004, section 3.1.
    """
    beta: FloatArray = np.zeros(X.shape[1])
    correlations = X.T @ y
    start = penalty = float(np.abs(correlations).max())
    active: list[int] = []
    factor: FloatArray = np.zeros((0, 0))
    signs: FloatArray = np.zeros(0)
    outside = np.ones(X.shape[1], dtype=bool)
    for _ in range(SEGMENTS_PER_COLUMN * min(X.shape)):
        if penalty <= SMALLEST * start:
            return
        table, direction = X[:, active], solved(factor, signs)
        speeds = X.T @ (table @ direction)
        to_zero = until_zero(beta[active] * signs, direction * signs)
        least = min(penalty, float(to_zero.min(initial=np.inf)))
        step, joins, sign = first_to_join(penalty, correlations, speeds, outside)
        while step <= least:
            outside[joins] = False
            longer = with_column(factor, table, X[:, joins])
            if is_independent(longer):
                break
            step, joins, sign = first_to_join(penalty, correlations, speeds, outside)
        after = beta.copy()
        after[active] += min(step, least) * direction
        before, penalty = penalty, penalty - min(step, least)
        if step <= least:
            active, factor, signs = [*active, joins], longer, np.append(signs, sign)
        elif penalty > 0.0:
            leaves = int(np.argmin(to_zero))
            after[active.pop(leaves)] = 0.0
            signs = np.delete(signs, leaves)
            factor = factor_of(X[:, active])
            outside[:] = True
            outside[active] = False
        yield Segment((before, penalty), (beta, after))
        beta = after
        correlations = X.T @ (y - X[:, active] @ beta[active])


def first_to_join(
    penalty: float, correlations: FloatArray, speeds: FloatArray, outside: BoolArray
) -> tuple[float, int, float]:
    """Return the fall γ of λ until some |c_j - γa_j| = λ - γ, that j, and sign(c_j - γa_j)."""
    found = (np.inf, -1, 0.0)
    for sign in (1.0, -1.0):
        closing = 1.0 - sign * speeds
        room = np.maximum(penalty - sign * correlations, 0.0)
        falls = np.full(room.shape, np.inf)
        np.divide(room, closing, out=falls, where=outside & (closing > 0.0))
        j = int(np.argmin(falls))
        if (falls[j], j) < found[:2]:
            found = (float(falls[j]), j, sign)
    return found


def until_zero(sizes: FloatArray, growth: FloatArray) -> FloatArray:
    """Return how far λ falls until each coefficient, with this |β_i| and growth of it, is zero."""
    falls = np.full(sizes.shape, np.inf)
    np.divide(np.maximum(sizes, 0.0), -growth, out=falls, where=growth < 0.0)
    return falls


def solved(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve LLᵀd = s."""
    if not right.size:
        return right
    solution: FloatArray = lapack.dpotrs(factor, right, lower=1)[0]
    return solution


def with_column(factor: FloatArray, table: FloatArray, column: FloatArray) -> FloatArray:
    """Extend L of the Gram matrix LLᵀ of a table by one column."""
    size = len(factor)
    longer = np.zeros((size + 1, size + 1))
    longer[:size, :size] = factor
    if size:
        longer[size, :size] = lapack.dtrtrs(factor, table.T @ column, lower=1)[0]
    left = float(column @ column - longer[size, :size] @ longer[size, :size])
    longer[size, size] = np.sqrt(max(left, 0.0))
    return longer


def is_independent(factor: FloatArray) -> bool:
    """Return whether enough of the last column is left beside the others."""
    last = factor[-1]
    return bool(last[-1] ** 2 > DEPENDENT * (last @ last))


def factor_of(table: FloatArray) -> FloatArray:
    """Compute L of the Gram matrix LLᵀ of independent columns."""
    factor: FloatArray = np.zeros((0, 0))
    for j in range(table.shape[1]):
        factor = with_column(factor, table[:, :j], table[:, j])
    return factor
