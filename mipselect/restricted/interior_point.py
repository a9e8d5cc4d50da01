"""A primal-dual interior-point method for batches of small convex problems with a box dual.

With the notation of `mipselect.restricted.certified` it solves

    min over ‖β‖ ≤ 1 of Σ_i ℓ(y_i, c_i·β) + ½βᵀPβ - g·β + (κ/2)‖β‖²

where P and g stand for rows whose part of the loss is known (`mipselect.restricted.open_rows`).
The conditions of its optimum, with slacks a = α - lo below, b = hi - α above and t in the ball, are

    y - Cβ - qα = z⁺ - z⁻,   (P + κ + ν)β = g + Cᵀα,   t = (1 - ‖β‖²)/2,
    b z⁺ = a z⁻ = t ν = μ → 0,

and every Newton step is reduced to s equations for each problem. Slacks are variables of their
own that only ever shrink by a share, so none of them is lost to rounding. The steps are those of
Mehrotra's predictor and corrector.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.certified import BoxDual, predictions
from mipselect.restricted.fenchel import EPS

ITERATIONS = 60
BOUNDARY = 0.995
"""Fraction of the way to the boundary that a step may take."""

REGULARISATION = 1e-14
"""Added to the diagonal of the s equations, which is scaled to 1."""


@dataclass(frozen=True, eq=False)
class Problems:
    """m problems with k rows each.

    Attributes
    ----------
    columns : ndarray of shape (m, s, k)
        C.
    box : BoxDual
        Boxes of shape (m, k), or (k,) where all problems share it.
    ridge : float
        κ.
    quadratic : ndarray of shape (m, s, s)
        P.
    linear : ndarray of shape (m, s)
        g.
    goal : ndarray of shape (m,)
        The duality gap at which a problem is done.
    """

    columns: FloatArray
    box: BoxDual
    ridge: float
    quadratic: FloatArray
    linear: FloatArray
    goal: FloatArray

    @classmethod
    def of(cls, columns: FloatArray, box: BoxDual, ridge: float, goal: FloatArray) -> Problems:
        """Make problems with all their rows."""
        m, s, _ = columns.shape
        return cls(columns, box, ridge, np.zeros((m, s, s)), np.zeros((m, s)), goal)

    def chosen(self, keep: NDArray[np.bool_]) -> Problems:
        """Take some of the problems."""
        box = self.box if self.box.y.ndim == 1 else self.box.taken(keep)
        return Problems(
            self.columns[keep], box, self.ridge,
            self.quadratic[keep], self.linear[keep], self.goal[keep],
        )  # fmt: skip


def solve(problems: Problems) -> tuple[FloatArray, FloatArray]:
    """Find nearly optimal β, shape (m, s), and α, shape (m, k), each near to its ball or box.

    A problem ends at its goal, at the last iteration or where rounding allows no further step:
    what a solution is worth is for `mipselect.restricted.certified.certified` to say.
    """
    state = _start(problems)
    coef, dual = np.empty_like(state.beta), np.empty_like(state.dual)
    open_: IntArray = np.arange(len(coef))
    for _ in range(ITERATIONS):
        going = state.step(problems)
        if not going.all():
            ended = state.chosen(~going)
            box = problems.chosen(~going).box
            coef[open_[~going]], dual[open_[~going]] = ended.beta, ended.alpha(box)
            open_, problems, state = open_[going], problems.chosen(going), state.chosen(going)
        if len(open_) == 0:
            break
    coef[open_], dual[open_] = state.beta, state.alpha(problems.box)
    return coef, dual


@dataclass(eq=False)
class _State:
    """The iterates; `below` and `above` are the slacks a and b, `push_*` their multipliers z.

    `fall` is the slope of the objective at zero: the objective falls by no more within the ball.
    """

    dual: FloatArray
    below: FloatArray
    above: FloatArray
    push_below: FloatArray
    push_above: FloatArray
    prediction: FloatArray
    beta: FloatArray
    room: FloatArray
    nu: FloatArray
    fall: FloatArray

    def chosen(self, keep: NDArray[np.bool_]) -> _State:
        return _State(*(getattr(self, name)[keep] for name in self.__dataclass_fields__))

    def alpha(self, box: BoxDual) -> FloatArray:
        """Compute α from the nearer end of its box."""
        return np.where(self.below < self.above, box.low + self.below, box.high - self.above)

    def step(self, problems: Problems) -> NDArray[np.bool_]:
        """Take one step; returns which problems are worth another, shape (m,)."""
        newton = _Newton.of(self, problems)
        m, _, k = problems.columns.shape
        _, d_dual, d_nu, d_room, _ = newton.direction(newton.residual, np.zeros(m))
        up, down = d_dual / self.above, d_dual / self.below
        rate = np.maximum(up.max(axis=1), 1.0 - up.min(axis=1))
        rate = np.maximum(rate, np.maximum(1.0 + down.max(axis=1), -down.min(axis=1)))
        rate = np.maximum(rate, np.maximum(-d_nu / self.nu, -d_room / self.room))
        gap = self._complementarity()
        target = (1.0 - np.minimum(1.0, 1.0 / rate)) ** 3 * gap / (2 * k + 1)

        lift_above = self.push_above * (up * (up - 1.0)) + target[:, None] / self.above
        lift_below = self.push_below * (down * (down + 1.0)) + target[:, None] / self.below
        d_beta, d_dual, d_nu, d_room, d_prediction = newton.direction(
            newton.residual - lift_above + lift_below, target - d_nu * d_room
        )
        d_above = lift_above - self.push_above + newton.slope_above * d_dual
        d_below = lift_below - self.push_below - newton.slope_below * d_dual
        rate = np.maximum((d_dual / self.above).max(axis=1), -(d_dual / self.below).min(axis=1))
        rate = np.maximum(rate, -(d_above / self.push_above).min(axis=1))
        rate = np.maximum(rate, -(d_below / self.push_below).min(axis=1))
        rate = np.maximum(rate, np.maximum(-d_nu / self.nu, -d_room / self.room))
        size = np.minimum(1.0, BOUNDARY / np.maximum(rate, EPS))
        usable = np.isfinite(rate) & (size > 1e-9)
        size = np.where(usable, size, 0.0)
        along = size[:, None]
        # A step that is not finite is not taken: 0 · inf would be.
        if not usable.all():
            for change in (d_beta, d_dual, d_above, d_below, d_prediction):
                change[~usable] = 0.0
            d_nu, d_room = np.where(usable, d_nu, 0.0), np.where(usable, d_room, 0.0)
        move = along * d_dual
        self.dual = self.dual + move
        self.below, self.above = self.below + move, self.above - move
        self.push_above = self.push_above + along * d_above
        self.push_below = self.push_below + along * d_below
        self.prediction = self.prediction + along * d_prediction
        self.beta = self.beta + along * d_beta
        self.nu, self.room = self.nu + size * d_nu, self.room + size * d_room
        left = self._complementarity()
        left += 2.0 * (1.0 - size) * np.linalg.norm(newton.stationarity, axis=1)
        left += 2.0 * size**2 * np.abs(d_nu) * np.linalg.norm(d_beta, axis=1)
        # What it costs to shrink β into the ball, at most.
        left += self.fall * np.maximum(np.linalg.norm(self.beta, axis=1) - 1.0, 0.0)
        return np.asarray(usable & ~(left <= problems.goal))

    def _complementarity(self) -> FloatArray:
        total = np.einsum("mk,mk->m", self.above, self.push_above)
        total += np.einsum("mk,mk->m", self.below, self.push_below)
        return np.asarray(total + self.room * self.nu)


@dataclass(frozen=True, eq=False)
class _Newton:
    """The equations of a step, reduced to s for each problem; what is left of each condition.

    `slope_above` and `slope_below` are z/b and z/a.
    """

    state: _State
    columns: FloatArray
    stationarity: FloatArray
    ball: FloatArray
    residual: FloatArray
    slope_above: FloatArray
    slope_below: FloatArray
    inverse: FloatArray
    weighted: FloatArray
    stiffness: FloatArray
    system: _Scaled

    @classmethod
    def of(cls, state: _State, problems: Problems) -> _Newton:
        columns, beta, q = problems.columns, state.beta, problems.box.softness
        s = columns.shape[1]
        shrink = problems.ridge + state.nu
        w = (columns @ state.dual[:, :, None])[:, :, 0] + problems.linear
        w -= (problems.quadratic @ beta[:, :, None])[:, :, 0]
        stationarity = w - shrink[:, None] * beta
        ball = 0.5 * (1.0 - np.einsum("ms,ms->m", beta, beta)) - state.room
        residual = problems.box.y - state.prediction
        if q > 0.0:
            residual -= q * state.dual
        slope_above, slope_below = state.push_above / state.above, state.push_below / state.below
        inverse = 1.0 / (slope_above + slope_below + q)
        weighted = columns * inverse[:, None, :]
        curvature = weighted @ columns.transpose(0, 2, 1)
        stiffness = state.nu / state.room
        matrix = curvature + problems.quadratic
        matrix += stiffness[:, None, None] * beta[:, :, None] * beta[:, None, :]
        matrix[:, range(s), range(s)] += shrink[:, None]
        return cls(
            state, columns, stationarity, ball, residual, slope_above, slope_below, inverse,
            weighted, stiffness, _Scaled.of(matrix),
        )  # fmt: skip

    def direction(self, aim: FloatArray, ball_aim: FloatArray) -> tuple[FloatArray, ...]:
        """Compute dβ, dα, dν, dt for y - Cβ - qα less the aimed-at pushes, and for tν."""
        beta, stiffness, ball = self.state.beta, self.stiffness, self.ball
        excess = ball_aim / self.state.room - self.state.nu - stiffness * ball
        pushed = (self.weighted @ aim[:, :, None])[:, :, 0]
        d_beta = self.system.solve(self.stationarity + pushed - excess[:, None] * beta)
        d_prediction = predictions(self.columns, d_beta)
        outward = np.einsum("ms,ms->m", beta, d_beta)
        return (
            d_beta, self.inverse * (aim - d_prediction), excess + stiffness * outward,
            ball - outward, d_prediction,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Symmetric systems, scaled to unit diagonals and slightly regularised."""

    matrix: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray) -> _Scaled:
        s = matrix.shape[1]
        diagonal = np.einsum("mii->mi", matrix)
        scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scaled = matrix * scale[:, :, None] * scale[:, None, :]
        scaled[:, range(s), range(s)] = 1.0 + REGULARISATION
        scaled[~np.isfinite(scaled).all(axis=(1, 2))] = np.eye(s)
        return cls(scaled, scale)

    def solve(self, right: FloatArray) -> FloatArray:
        scaled = (self.scale * right)[:, :, None]
        try:
            solution = np.linalg.solve(self.matrix, scaled)
        except np.linalg.LinAlgError:
            # One at a time, so that what is singular changes nothing for the others.
            solution = np.stack([_solved(*one) for one in zip(self.matrix, scaled, strict=True)])
        return np.asarray(self.scale * solution[:, :, 0])


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve the system, with least norm where rounding has left the matrix singular."""
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix, hermitian=True) @ right)


def _start(problems: Problems) -> _State:
    """Start in the middle of the box, at β = 0, with multipliers that meet the first condition."""
    m, s, k = problems.columns.shape
    box = problems.box
    shape = (m, k)
    alpha = np.broadcast_to(0.5 * (box.low + box.high), shape).copy()
    half = np.broadcast_to(0.5 * (box.high - box.low), shape).copy()
    residual = box.y - box.softness * alpha
    size = np.abs(residual)
    spare = 0.5 * size.mean(axis=1) + 0.01 * size.max(axis=1)
    spare = np.maximum(spare, problems.goal / (k * half.max()))
    spare = np.where(spare > 0.0, spare, 1.0)[:, None]
    above, below = np.maximum(residual, 0.0) + spare, np.maximum(-residual, 0.0) + spare
    pull, fall = (
        np.linalg.norm((problems.columns @ dual[..., None])[:, :, 0] + problems.linear, axis=1)
        for dual in (alpha, box.best_dual(np.zeros(k)))
    )
    mean = np.einsum("mk,mk->m", half, above + below) / (2 * k)
    nu = np.maximum(pull - problems.ridge, 2.0 * mean)
    return _State(
        alpha, half, half.copy(), below, above,
        np.zeros(shape), np.zeros((m, s)), np.full(m, 0.5), nu, fall,
    )  # fmt: skip
