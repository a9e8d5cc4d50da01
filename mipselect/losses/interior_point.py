"""A primal-dual interior-point method for batches of small convex problems with a box dual.

The loss is ℓ(y, u) = max over lo ≤ a ≤ hi of a(y - u) - (q/2)a², so that the problem and its
dual are, up to the factor 1/n,

    min over ‖β‖ ≤ r of Σ_i ℓ(y_i, x_i·β) + (λ/2)‖β‖²
    max over lo ≤ α ≤ hi of Σ_i [α_i y_i - (q/2)α_i²] - h(‖Xᵀα‖²)

with h from `mipselect.losses.fenchel`. The duality gap is computed from these two formulas and
not from the iteration, so it is a certificate whatever the iteration has done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.losses.fenchel import EPS, largest_ridge_gain

PRECISION = 1e-10
"""Relative duality gap at which a problem is done."""

ITERATIONS = 100
BOUNDARY = 0.995
"""Fraction of the way to the boundary that a step may take."""


@dataclass(frozen=True, eq=False)
class BoxDual:
    """Responses and the loss in its dual form.

    Attributes
    ----------
    y, low, high : ndarray of shape (n,)
        Responses and the bounds of the dual variables, low < high.
    softness : float
        q ≥ 0.
    """

    y: FloatArray
    low: FloatArray
    high: FloatArray
    softness: float

    def best_dual(self, prediction: FloatArray) -> FloatArray:
        """The a that attains ℓ(y, u), the one nearest to the box's middle in a tie."""
        residual = self.y - prediction
        if self.softness > 0.0:
            return np.asarray(np.clip(residual / self.softness, self.low, self.high))
        inside = np.clip(0.0, self.low, self.high)
        return np.where(residual > 0, self.high, np.where(residual < 0, self.low, inside))

    def loss(self, prediction: FloatArray) -> FloatArray:
        """Σ_i ℓ(y_i, u_i) over the last axis."""
        a = self.best_dual(prediction)
        return np.asarray(self._gain(a, self.y - prediction).sum(axis=-1))

    def conjugate(self, dual: FloatArray) -> FloatArray:
        """Σ_i -ℓ*(y_i, -α_i) = Σ_i α_i y_i - (q/2)α_i² over the last axis."""
        return np.asarray(self._gain(dual, self.y).sum(axis=-1))

    def _gain(self, a: FloatArray, residual: FloatArray) -> FloatArray:
        linear = a * residual
        return linear - (0.5 * self.softness) * a**2 if self.softness > 0.0 else linear


@dataclass(frozen=True, eq=False)
class Solutions:
    """What m solves ended with; values and bounds are not divided by n.

    Attributes
    ----------
    coef : ndarray of shape (m, s)
        ‖coef‖ ≤ r.
    values, lower : ndarray of shape (m,)
        The objective at `coef`, and the dual objective at `dual`.
    dual : ndarray of shape (m, n)
        Within the box.
    """

    coef: FloatArray
    values: FloatArray
    lower: FloatArray
    dual: FloatArray


def solve(
    columns: FloatArray,
    box: BoxDual,
    ridge: float,
    radius: float,
    *,
    iterations: int = ITERATIONS,
) -> Solutions:
    """Solve m problems at once, each to a relative duality gap of `PRECISION`.

    Parameters
    ----------
    columns : ndarray of shape (m, s, n)
        X_Sᵀ of every problem.
    box : BoxDual
    ridge, radius : float
        λ ≥ 0 and r > 0.
    iterations : int
        Most steps; what has been reached then is returned.
    """
    m, s, n = columns.shape
    coef = np.zeros((m, s))
    at_zero = box.best_dual(np.zeros(n))
    dual = np.repeat(at_zero[None], m, axis=0)
    values = np.full(m, float(box.loss(np.zeros(n))))
    w = columns @ at_zero
    squared = np.einsum("ms,ms->m", w, w)
    lower = float(box.conjugate(at_zero)) - largest_ridge_gain(squared, ridge, radius)
    floor = 4.0 * EPS * values
    open_ = np.flatnonzero(values - lower > PRECISION * values + floor)
    if len(open_) == 0 or iterations == 0:
        return Solutions(coef, values, lower, dual)
    state = _start(columns[open_], box, ridge, radius, np.sqrt(squared[open_]))
    for _ in range(iterations):
        state.step(box, ridge, radius)
        found, proven = state.objectives(box, ridge, radius)
        better = found < values[open_]
        values[open_[better]], coef[open_[better]] = found[better], state.beta[better]
        better = proven > lower[open_]
        lower[open_[better]], dual[open_[better]] = proven[better], state.alpha[better]
        gap = values[open_] - lower[open_]
        going = gap > PRECISION * values[open_] + floor[open_]
        if not going.any():
            break
        if not going.all():
            open_ = open_[going]
            state = state.restricted(going)
    return Solutions(coef, values, lower, dual)


@dataclass(eq=False)
class _State:
    """The iterates: α strictly in its box with multipliers z, β strictly in its ball with ν."""

    columns: FloatArray
    alpha: FloatArray
    above: FloatArray
    below: FloatArray
    beta: FloatArray
    prediction: FloatArray
    nu: FloatArray
    centering: FloatArray

    def restricted(self, keep: FloatArray) -> _State:
        return _State(*(getattr(self, name)[keep] for name in self.__dataclass_fields__))

    def objectives(
        self, box: BoxDual, ridge: float, radius: float
    ) -> tuple[FloatArray, FloatArray]:
        """The primal and the dual objective."""
        w = (self.columns @ self.alpha[:, :, None])[:, :, 0]
        gain = largest_ridge_gain(np.einsum("ms,ms->m", w, w), ridge, radius)
        penalty = 0.5 * ridge * np.einsum("ms,ms->m", self.beta, self.beta)
        prediction = (self.beta[:, None, :] @ self.columns)[:, 0]
        return box.loss(prediction) + penalty, box.conjugate(self.alpha) - gain

    def step(self, box: BoxDual, ridge: float, radius: float) -> None:
        """One Newton step on the conditions

            y - Xβ - qα = z⁺ - z⁻,   (hi - α)z⁺ = (α - lo)z⁻ = ν(r² - ‖β‖²)/2 = μ,
            (λ + ν)β = Xᵀα,

        reduced to s equations for each problem.
        """
        columns, beta = self.columns, self.beta
        s, n = columns.shape[1:]
        room_above, room_below = box.high - self.alpha, self.alpha - box.low
        room = 0.5 * _room_in_ball(beta, radius)
        total = np.einsum("mn,mn->m", room_above, self.above)
        total += np.einsum("mn,mn->m", room_below, self.below)
        mu = self.centering * (total + room * self.nu) / (2 * n + 1)
        push_above, push_below = mu[:, None] / room_above, mu[:, None] / room_below
        slope_above, slope_below = self.above / room_above, self.below / room_below
        inverse = 1.0 / (slope_above + slope_below + box.softness)
        residual = box.y - self.prediction - push_above + push_below
        if box.softness > 0.0:
            residual -= box.softness * self.alpha
        moved = inverse * residual
        matrix = (columns * inverse[:, None, :]) @ columns.transpose(0, 2, 1)
        stiffness = self.nu / room
        matrix += stiffness[:, None, None] * beta[:, :, None] * beta[:, None, :]
        matrix[:, range(s), range(s)] += (ridge + self.nu)[:, None]
        excess = mu / room - self.nu
        right = (columns @ (self.alpha + moved)[:, :, None])[:, :, 0]
        right -= (ridge + self.nu + excess)[:, None] * beta
        d_beta = np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
        d_prediction = (d_beta[:, None, :] @ columns)[:, 0]
        d_alpha = moved - inverse * d_prediction
        d_above = push_above - self.above + slope_above * d_alpha
        d_below = push_below - self.below - slope_below * d_alpha
        d_nu = excess + stiffness * np.einsum("ms,ms->m", beta, d_beta)
        shrink = np.maximum(d_alpha / room_above, -d_alpha / room_below).max(axis=1)
        shrink = np.maximum(shrink, (-d_above / self.above).max(axis=1))
        shrink = np.maximum(shrink, (-d_below / self.below).max(axis=1))
        shrink = np.maximum(shrink, -d_nu / self.nu)
        shrink = np.maximum(shrink, _rate_to_sphere(beta, d_beta, radius))
        size = np.minimum(1.0, BOUNDARY / np.maximum(shrink, EPS))
        self.alpha = self.alpha + size[:, None] * d_alpha
        self.above = self.above + size[:, None] * d_above
        self.below = self.below + size[:, None] * d_below
        self.beta = beta + size[:, None] * d_beta
        self.prediction = self.prediction + size[:, None] * d_prediction
        self.nu = self.nu + size * d_nu
        self.centering = np.clip((1.0 - size) ** 2, 0.03, 0.8)


def _rate_to_sphere(beta: FloatArray, d_beta: FloatArray, radius: float) -> FloatArray:
    """1/t for the t > 0 with ‖β + t dβ‖ = r."""
    a = np.einsum("ms,ms->m", d_beta, d_beta)
    b = np.einsum("ms,ms->m", beta, d_beta)
    c = _room_in_ball(beta, radius)
    return np.asarray((b + np.sqrt(b**2 + a * c)) / c)


def _room_in_ball(beta: FloatArray, radius: float) -> FloatArray:
    """r² - ‖β‖², above zero also where rounding has put β onto the sphere."""
    room = radius**2 - np.einsum("ms,ms->m", beta, beta)
    return np.asarray(np.maximum(room, EPS * radius**2))


def _start(
    columns: FloatArray, box: BoxDual, ridge: float, radius: float, pull: FloatArray
) -> _State:
    """α in the middle of its box, β = 0, and multipliers that balance the first equation."""
    m, s, n = columns.shape
    alpha = 0.5 * (box.low + box.high)
    residual = box.y - box.softness * alpha
    spare = 0.5 * np.mean(np.abs(residual)) + 0.01 * np.max(np.abs(residual))
    above = np.maximum(residual, 0.0) + spare
    below = np.maximum(-residual, 0.0) + spare
    return _State(
        columns,
        np.repeat(alpha[None], m, axis=0),
        np.repeat(above[None], m, axis=0),
        np.repeat(below[None], m, axis=0),
        np.zeros((m, s)),
        np.zeros((m, n)),
        np.maximum(pull / radius - ridge, 0.0) + 0.1 * (ridge + pull / radius),
        np.full(m, 0.2),
    )
