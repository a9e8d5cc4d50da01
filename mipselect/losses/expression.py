"""Any convex loss given as a cvxpy expression, with its range stated. Slower than the others.

Clarabel solves the restricted problems, one at a time. Nothing is taken on trust from it: a
value is the objective at its coefficients, pulled into the ball ‖β‖ ≤ r, and a bound is that of
its dual point α with the conjugate minimised anew, row by row, on the predictions that occur.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput, SolverFailure
from mipselect.restricted.fenchel import EPS, FenchelBounds, largest_ridge_gain, squared_products
from mipselect.restricted.prepared import RestrictedFit
from mipselect.validation import checked_scale

GRID = 33
"""Points in each direction at which a stated range is checked."""

GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
SECTIONS = 45
"""Golden sections of an interval of predictions: it shrinks to 4e-10 of its length."""

SMALLEST, LARGEST = 1e-6, 1e6
"""Responses and predictions between which Clarabel's tolerances, which are absolute, suffice."""

SHARE_OF_SENSITIVITY = 1e-3
"""Duality gap, in sensitivities, beyond which a value is refused.

A value is that of a feasible point, so it lies between R and R plus the gap: an error of one sign
that a tolerance τ above it covers, as it covers what a search leaves open.
"""

RowLosses = Callable[[FloatArray, Any], Any]


@dataclass(frozen=True)
class ExpressionLoss:
    """A convex loss as a cvxpy expression of the predictions.

    Parameters
    ----------
    name : str
    losses : callable
        Takes y, shape (n,), and a cvxpy variable u, shape (n,); returns the expression of the n
        losses ℓ(y_i, u_i), convex in u by cvxpy's rules.
    lowest, highest : float
        The range of ℓ over |y| ≤ y_bound, |u| ≤ U = x_bound · coef_bound · √support_size. The
        sensitivity is (highest - lowest)/n: privacy rests on these two numbers.
    """

    name: str
    losses: RowLosses
    lowest: float
    highest: float

    def spread(self, y_bound: float, u_bound: float) -> float:
        """Return highest - lowest.

        Raises
        ------
        InvalidInput
            Where b_y, U or the root of the range is of a size that no data could be solved with,
            or a grid on the box shows a value outside the range.
        """
        root = math.sqrt(max(0.0, self.highest - self.lowest))
        for size, what in ((y_bound, "y_bound"), (u_bound, "U"), (root, "√(highest - lowest)")):
            checked_scale(size, f"loss {self.name!r}: {what}", SMALLEST, LARGEST)
        steps = np.linspace(-1.0, 1.0, GRID)
        y, u = (axis.ravel() for axis in np.meshgrid(y_bound * steps, u_bound * steps))
        values = _RowLosses(self.losses, y).at(u)
        slack = 1e-9 * (self.highest - self.lowest)
        wrong = np.flatnonzero(
            ~((values >= self.lowest - slack) & (values <= self.highest + slack))
        )
        if wrong.size:
            k = int(wrong[0])
            raise InvalidInput(
                f"loss {self.name!r} is stated to lie in [{self.lowest:g}, {self.highest:g}], but "
                f"it is {values[k]:g} at y = {y[k]:g}, u = {u[k]:g}"
            )
        return self.highest - self.lowest

    def value_error(self, n: int, y_bound: float, u_bound: float) -> float:
        """Return the duality gap that is accepted, `SHARE_OF_SENSITIVITY` Δ; public."""
        return SHARE_OF_SENSITIVITY * (self.highest - self.lowest) / n

    def encode(self, y: ArrayLike) -> tuple[ArrayLike, tuple[str, str] | None]:
        """Return the responses as they are: real numbers, no classes."""
        return y, None

    def prepare(
        self, X: FloatArray, y: FloatArray, *, ridge: float, radius: float
    ) -> PreparedExpression:
        """Tie the loss to clipped data, a ridge λ ≥ 0 and a coefficient radius r > 0."""
        return PreparedExpression(self, X, y, ridge, radius)


class _RowLosses:
    """The losses of every row at any predictions."""

    def __init__(self, losses: RowLosses, y: FloatArray) -> None:
        self._prediction = cp.Variable(len(y))
        self._expression = losses(y, self._prediction)
        if self._expression.shape != (len(y),) or not self._expression.is_convex():
            raise InvalidInput(
                f"a loss must be a convex expression of shape ({len(y)},), got shape "
                f"{self._expression.shape} and curvature {self._expression.curvature}"
            )

    def at(self, prediction: FloatArray) -> FloatArray:
        """Compute ℓ(y_i, u_i), shape (n,)."""
        self._prediction.value = prediction
        return np.asarray(self._expression.value, dtype=np.float64)


class PreparedExpression:
    """Restricted problems of such a loss on one data set."""

    def __init__(
        self, loss: ExpressionLoss, X: FloatArray, y: FloatArray, ridge: float, radius: float
    ) -> None:
        self._loss, self._y = loss, y
        self._X: FloatArray = X.astype(np.float64, copy=False)
        self.n, self.p = X.shape
        self.ridge, self.radius = ridge, radius
        self._rows = _RowLosses(loss.losses, y)
        self._reach = radius * np.linalg.norm(self._X, axis=1) + 1e-9
        self._lengths = np.linalg.norm(self._X, axis=0)

    def fit(self, support: IntArray) -> RestrictedFit:
        """Solve the problem on `support`, shape (s,)."""
        order = np.argsort(support)
        value, ordered, dual = self._solution(np.asarray(support)[order])
        coef = np.empty(len(support))
        coef[order] = ordered
        length = float(np.linalg.norm(self._X[:, support].T @ dual))
        return RestrictedFit(value / self.n, coef, max(0.0, length / self.radius - self.ridge))

    def values(self, supports: IntArray, near: FloatArray | None = None) -> FloatArray:
        """Compute R of every row of `supports`, shape (m, s), without a start; returns (m,)."""
        return np.asarray([self._solution(np.sort(row))[0] / self.n for row in supports])

    def bounds(self, supports: IntArray, near: FloatArray | None = None) -> FenchelBounds:
        """Find nearly optimal dual points of every row of `supports`, shape (m, k), k ≥ 0."""
        duals = np.array([self._solution(np.sort(row))[2] for row in supports])
        constants = np.array([self.conjugate(dual) for dual in duals])
        weights = squared_products(duals, self._X.T, self._lengths)
        always = np.zeros(len(duals))
        return FenchelBounds(constants, weights, self.n, self.ridge, self.radius, always)

    def conjugate(self, dual: FloatArray) -> float:
        """Bound Σ_i min over |u| ≤ r‖x_i‖ of ℓ(y_i, u) + α_i u from below, for any α.

        Golden sections shrink a bracket [a, b] of every row's minimum; the secants through its
        best point and its ends, continued, stay below the loss and bound what is left of it.
        """

        def tilted(u: FloatArray) -> FloatArray:
            return self._rows.at(u) + dual * u

        a, b = -self._reach, self._reach
        left, right = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        at_left, at_right = tilted(left), tilted(right)
        for _ in range(SECTIONS):
            lower = at_left <= at_right
            a, b = np.where(lower, a, left), np.where(lower, right, b)
            fresh = np.where(lower, b - GOLDEN * (b - a), a + GOLDEN * (b - a))
            at_fresh = tilted(fresh)
            left, right = np.where(lower, fresh, right), np.where(lower, left, fresh)
            at_left, at_right = (
                np.where(lower, at_fresh, at_right),
                np.where(lower, at_left, at_fresh),
            )
        best = np.minimum(at_left, at_right)
        middle = np.where(at_left <= at_right, left, right)
        fall_left = (tilted(b) - best) * (middle - a) / (b - middle)
        fall_right = (tilted(a) - best) * (b - middle) / (middle - a)
        fall = np.maximum(0.0, np.maximum(fall_left, fall_right))
        size = np.abs(best) + np.abs(dual) * self._reach
        return float(np.sum(best - fall - 16.0 * EPS * size))

    def _solution(self, support: IntArray) -> tuple[float, FloatArray, FloatArray]:
        """Find n times the value, the coefficients and the dual point at a sorted support.

        Raises
        ------
        SolverFailure
            Where the best of all values and of all bounds leave too wide a gap.
        """
        allowed = SHARE_OF_SENSITIVITY * (self._loss.highest - self._loss.lowest)
        value, lower = np.inf, -np.inf
        coef: FloatArray = np.zeros(len(support))
        dual: FloatArray = np.zeros(self.n)
        columns = self._X[:, support]
        for point, slopes in self._attempts(support):
            objective = float(self._rows.at(columns @ point).sum())
            objective += 0.5 * self.ridge * float(point @ point)
            if objective < value:
                value, coef = objective, point
            w = columns.T @ slopes
            bound = self.conjugate(slopes) - largest_ridge_gain(w @ w, self.ridge, self.radius)
            if bound > lower:
                lower, dual = float(bound), slopes
            if value - lower <= allowed:
                return value, coef, dual
        raise SolverFailure(
            f"the restricted problem on {support.tolist()} could only be solved to a duality "
            f"gap of {(value - lower) / self.n:.3g} at the value {value / self.n:.6g}"
        )

    def _attempts(self, support: IntArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield coefficients and dual points: by Clarabel in several units, and those at zero."""
        if len(support):
            length = float(np.abs(self._y).max()) or 1.0
            unit = abs(float(self._rows.at(np.zeros(self.n)).sum())) or 1.0
            for units in ((1.0, 1.0), (length, unit)):
                # What Clarabel cannot solve in some units it often solves in others.
                with suppress(cp.SolverError):
                    yield self._solve(support, *units)
        # Minus the slope of every row's loss at zero.
        step = 1e-6 * self._reach
        slopes = (self._rows.at(step) - self._rows.at(-step)) / (2.0 * step)
        yield np.zeros(len(support)), -slopes

    def _solve(
        self, support: IntArray, length: float, unit: float
    ) -> tuple[FloatArray, FloatArray]:
        """Find coefficients and dual point by Clarabel, whose tolerances are absolute in part.

        It sees β in units of r, predictions in units of `length` and losses in units of `unit`.
        """
        coef, prediction = cp.Variable(len(support)), cp.Variable(self.n)
        link = prediction == (self.radius / length * self._X[:, support]) @ coef
        penalty = 0.5 * self.ridge * self.radius**2 * cp.sum_squares(coef)
        total = cp.sum(self._loss.losses(self._y, length * prediction)) + penalty
        problem = cp.Problem(cp.Minimize(total / unit), [link, cp.norm(coef) <= 1.0])
        problem.solve(solver=cp.CLARABEL)
        if coef.value is None:
            raise cp.SolverError(problem.status)
        inside = coef.value / max(1.0, float(np.linalg.norm(coef.value)))
        return self.radius * inside, np.asarray(link.dual_value) * (unit / length)
