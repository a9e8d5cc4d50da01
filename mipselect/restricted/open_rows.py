"""Many rows, few of them open: batches of restricted problems with a box dual.

A row whose residual is far from every kink of its loss has the same dual variable, or the same
parabola, at all coefficients nearby. Its part of the objective there is a line or a parabola, and
all such rows together are one: ½βᵀPβ - g·β. So coefficients that are nearly right, as those of a
support with one column less, say which rows are open; the problem of these alone is solved; and
the certificate looks at all rows. Where it is not good enough, the same is done again around the
best coefficients on the way to the new ones, at last with every row open. The idea is that of
Portnoy and Koenker for quantile regression ("The Gaussian hare and the Laplacian tortoise",
Statistical Science, 1997), who call the closed rows globs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.errors import SolverFailure
from mipselect.restricted.certified import BoxDual, Solutions, certified, predictions
from mipselect.restricted.fenchel import EPS, PRECISION
from mipselect.restricted.interior_point import Problems
from mipselect.restricted.interior_point import solve as solve_by_interior_point
from mipselect.restricted.normal_equations import solve_normal_equations

OPEN_SHARES = (1 / 32, 1 / 16, 1 / 8, 1 / 8, 1 / 4)
"""Shares of the rows that are left open, one attempt after the other."""

FEW_ROWS = 60
"""No fewer rows are left open."""

FEW_ENTRIES = 2000
"""Fewer rows of all problems together are solved in hardly less time."""

MANY_ROWS = 1500
"""Number of rows from which on most are closed although there is no start."""

TIE = 1e-6
"""A residual of this share of the largest is at its kink."""

STRIDES = (1.0, 0.5, 0.25, 0.125)
"""Shares of the way to coefficients that are not good enough."""

NEWTON_STEPS = 20
"""Most points that Newton's method looks at."""

Sides = NDArray[np.int8]
"""-1, 0 or 1 for every row of every problem: on the lower line, the parabola, the upper line."""


def solve(
    columns: FloatArray,
    box: BoxDual,
    ridge: float,
    allowed_gap: float,
    *,
    start: FloatArray | None = None,
    precision: float = PRECISION,
) -> Solutions:
    """Solve m problems, each to the relative duality gap `precision` or the allowed one.

    Where rounding or the number of iterations stops it short, the best found is returned.

    Parameters
    ----------
    columns : ndarray of shape (m, s, n)
        C of every problem, in units in which the ball has radius 1.
    box : BoxDual
        A box of shape (n,).
    ridge : float
        κ ≥ 0.
    allowed_gap : float
        The largest gap that will do, where the relative one is larger.
    start : ndarray of shape (m, s), optional
        Coefficients that may be near the solutions.
    precision : float
    """
    s, n = columns.shape[1:]
    batch = _Batch(columns, box, ridge, allowed_gap, precision)
    if s == 0:
        batch.attempt(_at_zero)
        return batch.solutions
    if start is not None:
        batch.center = start.copy()
    if box.softness > 0.0:
        batch.attempt(lambda *_: solve_by_newton(columns, box, ridge, start=start))
    if n >= (MANY_ROWS if start is None else 2 * FEW_ROWS):
        for share in OPEN_SHARES:
            size = max(int(share * n), FEW_ROWS, FEW_ENTRIES // max(1, batch.left))
            if 2 * size < n:
                batch.attempt(partial(_by_open_rows, size=size))
    batch.attempt(_at_zero)
    batch.attempt(lambda problems, _: solve_by_interior_point(problems))
    batch.attempt(_in_principal_axes)
    return batch.solutions


class _Batch:
    """Problems, and the best that was found for each.

    Parameters
    ----------
    columns, box, ridge, allowed_gap, precision
        See `solve`.
    """

    def __init__(
        self,
        columns: FloatArray,
        box: BoxDual,
        ridge: float,
        allowed_gap: float,
        precision: float,
    ) -> None:
        m, s, n = columns.shape
        self._columns, self._box, self._ridge = columns, box, ridge
        self._allowed_gap, self._precision = allowed_gap, precision
        self._loss_at_zero = float(box.loss(np.zeros(n)))
        nothing = np.full(m, np.inf)
        dual = np.repeat(np.clip(0.0, box.low, box.high)[None], m, axis=0)
        self.solutions = Solutions(np.zeros((m, s)), nothing, nothing.copy(), dual)
        self.center: FloatArray = np.zeros((m, s))

    @property
    def _goal(self) -> FloatArray:
        """The gap of every problem that is good enough, shape (m,)."""
        values = np.fmin(self.solutions.values, self._loss_at_zero)
        relative = self._precision * values + 4.0 * EPS * self._loss_at_zero
        # A share of what is allowed that rounding loses is not worth a step.
        return np.asarray(np.clip(relative, EPS * self._allowed_gap, self._allowed_gap))

    @property
    def left(self) -> int:
        """The number of problems whose gap is not."""
        return int(np.count_nonzero(~(self.solutions.gaps <= self._goal)))

    def attempt(
        self, method: Callable[[Problems, FloatArray], tuple[FloatArray, FloatArray]]
    ) -> None:
        """Let a method try those whose gap is too wide, around the best coefficients so far."""
        goal = self._goal
        wide = np.flatnonzero(~(self.solutions.gaps <= goal))
        if len(wide):
            columns = self._columns if len(wide) == len(goal) else self._columns[wide]
            problems = Problems.of(columns, self._box, self._ridge, 0.5 * goal[wide])
            center = self.center[wide]
            found = certified(columns, self._box, self._ridge, *method(problems, center))
            self.solutions.improve(wide, found)
            left = ~(found.gaps <= goal[wide])
            self.center[wide[left]] = _on_the_way(
                problems.chosen(left), center[left], found.coef[left]
            )


def _on_the_way(problems: Problems, center: FloatArray, coef: FloatArray) -> FloatArray:
    """Find the best of a few points between two, shape (m, s); most rows are closed there."""
    columns, box, ridge = problems.columns, problems.box, problems.ridge
    here, change = predictions(columns, center), predictions(columns, coef - center)
    best, least = center, np.full(len(center), np.inf)
    for share in (0.0, *STRIDES):
        point = center + share * (coef - center)
        value = box.loss(here + share * change) + 0.5 * ridge * (point**2).sum(axis=1)
        best = np.where((value < least)[:, None], point, best)
        least = np.fmin(value, least)
    return best


def _at_zero(problems: Problems, _: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return no coefficients, and the dual point that goes with them."""
    m, s, n = problems.columns.shape
    return np.zeros((m, s)), np.repeat(problems.box.best_dual(np.zeros(n))[None], m, axis=0)


def _in_principal_axes(problems: Problems, _: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Solve with the ball turned so that columns are orthogonal: near copies lose nothing."""
    axes, lengths, directions = np.linalg.svd(problems.columns, full_matrices=False)
    columns = lengths[:, :, None] * directions
    turned = Problems.of(columns, problems.box, problems.ridge, problems.goal)
    coef, dual = solve_by_interior_point(turned)
    return (axes @ coef[:, :, None])[:, :, 0], dual


def _by_open_rows(
    problems: Problems, center: FloatArray, *, size: int
) -> tuple[FloatArray, FloatArray]:
    """Solve with the rows of every problem open that are nearest to a kink at `center`.

    They are `size` rows, and twice as many as lie at a kink, which many do where the loss is
    piecewise linear and columns take few values.
    """
    columns, box = problems.columns, problems.box
    m, s, n = columns.shape
    prediction = predictions(columns, center)
    dual = box.best_dual(prediction)
    q = box.softness
    residual = box.y - prediction
    distance = np.abs(residual)
    if q > 0.0:
        distance = np.minimum(np.abs(residual - q * box.low), np.abs(residual - q * box.high))
    ties = (distance <= TIE * distance.max(axis=1, keepdims=True)).sum(axis=1)
    size = min(max(size, 2 * int(ties.max())), n)
    rows = np.sort(np.argpartition(distance, size - 1, axis=1)[:, :size], axis=1)
    settled = dual.copy()
    np.put_along_axis(settled, rows, 0.0, axis=1)
    quadratic = np.zeros((m, s, s))
    if q > 0.0:
        curved = (dual > box.low) & (dual < box.high)
        np.put_along_axis(curved, rows, False, axis=1)
        settled = np.where(curved, box.y / q, settled)
        quadratic = (columns * curved[:, None, :]) @ columns.transpose(0, 2, 1) / q
    linear = (columns @ settled[:, :, None])[:, :, 0]
    open_columns = np.take_along_axis(columns, rows[:, None, :], axis=2)
    part = Problems(open_columns, box.taken(rows), problems.ridge, quadratic, linear, problems.goal)
    coef, open_dual = solve_by_interior_point(part)
    if q > 0.0:
        dual = np.where(curved, (box.y - predictions(columns, coef)) / q, dual)
    np.put_along_axis(dual, rows, open_dual, axis=1)
    return coef, dual


def solve_by_newton(
    columns: FloatArray, box: BoxDual, ridge: float, *, start: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Find nearly optimal β, shape (m, s), and α, shape (m, n), of m problems.

    Where it is known which rows are on the parabola of the loss and which on either of its two
    lines, the objective is a quadratic, and its minimum over the ball a few equations. Newton's
    method puts the rows where its last point has them, and ends at the optimum itself once none of
    them changes its side: a handful of steps, each of them much cheaper than one of an
    interior-point method. It is the method of Madsen and Nielsen ("Finite algorithms for robust
    linear regression", BIT, 1990), with the ball.

    A step that does not lower the objective is halved. Where the steps do not suffice, the best
    point is returned: what it is worth is for `mipselect.restricted.certified.certified` to say.

    Parameters
    ----------
    columns : ndarray of shape (m, s, n)
        C of every problem, in units in which the ball has radius 1.
    box : BoxDual
        A box of shape (n,), with softness q > 0.
    ridge : float
        κ ≥ 0.
    start : ndarray of shape (m, s), optional
        Coefficients that put the rows on their first sides; without them all are on the parabola.
    """
    m, s, n = columns.shape
    best, least = np.zeros((m, s)), np.full(m, np.inf)
    open_, C = np.arange(m), columns
    sides: Sides = np.zeros((m, n), dtype=np.int8)
    if start is not None:
        sides = _sides(box, (box.y - predictions(C, start)) / box.softness)
    trial = _minimum(C, box, ridge, sides)
    for _ in range(NEWTON_STEPS):
        scaled = (box.y - predictions(C, trial)) / box.softness
        dual = np.clip(scaled, box.low, box.high)
        objective = box.softness * np.einsum("mn,mn->m", dual, scaled - 0.5 * dual)
        objective += 0.5 * ridge * np.einsum("ms,ms->m", trial, trial)
        here = _sides(box, scaled)
        lower = objective < least[open_]
        best[open_[lower]], least[open_[lower]] = trial[lower], objective[lower]
        going = ~lower | (here != sides).any(axis=1)
        if not going.any():
            break
        if not going.all():
            open_, C, trial, lower = open_[going], C[going], trial[going], lower[going]
            here, sides = here[going], sides[going]
        sides = np.where(lower[:, None], here, sides)
        trial = 0.5 * (best[open_] + trial)
        trial[lower] = _minimum(C if lower.all() else C[lower], box, ridge, sides[lower])
    return best, box.best_dual(predictions(columns, best))


def _sides(box: BoxDual, scaled: FloatArray) -> Sides:
    """Find the sides on which residuals, divided by q, put the rows."""
    return (scaled > box.high).astype(np.int8) - (scaled < box.low).astype(np.int8)


def _minimum(C: FloatArray, box: BoxDual, ridge: float, sides: Sides) -> FloatArray:
    """Minimise the quadratics of the rows on these sides: β, shape (m, s); 0 where it overflows."""
    q = box.softness
    pull = np.where(sides == 0, box.y / q, np.where(sides > 0, box.high, box.low))
    weights = np.where(sides == 0, 1.0 / q, 0.0)
    quadratic = (C * weights[:, None, :]) @ C.transpose(0, 2, 1)
    linear = (C @ pull[:, :, None])[:, :, 0]
    try:
        return solve_normal_equations(quadratic, linear, ridge, 1.0)[0]
    except SolverFailure:
        return np.zeros(linear.shape)
