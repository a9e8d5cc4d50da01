"""Many rows, few of them open: batches of restricted problems with a box dual.

A row whose residual is far from every kink of its loss has the same dual variable, or the same
parabola, at all coefficients nearby. Its part of the objective there is a line or a parabola, and
all such rows together are one: ½βᵀPβ - g·β. So the coefficients of a sample of the rows say which
rows are open; the problem of these alone is solved; and the certificate looks at all rows. Where
it is not good enough, the same is done again around the new coefficients, at last with every row
open. The idea is that of Portnoy and Koenker for quantile regression ("The Gaussian hare and the
Laplacian tortoise", Statistical Science, 1997), who call the closed rows globs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.certified import BoxDual, Solutions, at_zero, certified, predictions
from mipselect.restricted.fenchel import EPS, PRECISION
from mipselect.restricted.interior_point import ITERATIONS, Problems
from mipselect.restricted.interior_point import solve as solve_by_interior_point
from mipselect.restricted.newton import solve as solve_by_newton

MANY_ROWS = 1500

FEW_ROWS = 400
"""No sample is smaller, and no fewer rows are left open."""

OPEN_SHARES = (1 / 8, 1 / 4)
"""Shares of the rows that are left open, one attempt after the other."""

TIED_SHARES = (1 / 2,)
"""The same where many rows lie at a kink."""


def solve(
    columns: FloatArray,
    box: BoxDual,
    ridge: float,
    allowed_gap: float,
    *,
    iterations: int = ITERATIONS,
    precision: float = PRECISION,
    many_rows: int = MANY_ROWS,
) -> Solutions:
    """Solve m problems, each to the relative duality gap `precision` or the allowed one.

    Where rounding or the number of iterations stops it short, the best found is returned.

    Parameters
    ----------
    columns : ndarray of shape (m, s, n)
        C of every problem, in units in which the ball has radius 1.
    box : BoxDual
        Of shape (n,).
    ridge : float
        κ ≥ 0.
    allowed_gap : float
        The largest gap that will do, where the relative one is larger.
    iterations : int
        Most steps of each method.
    precision : float
    many_rows : int
        From so many rows on most are closed before a problem is solved.
    """
    s, n = columns.shape[1:]
    loss_at_zero = float(box.loss(np.zeros(n)))
    if s > 0 and box.softness > 0.0:
        solutions = certified(
            columns, box, ridge, *solve_by_newton(columns, box, ridge, steps=iterations)
        )
    else:
        solutions = at_zero(columns, box, ridge)

    def goal() -> FloatArray:
        relative = precision * solutions.values + 4.0 * EPS * loss_at_zero
        return np.asarray(np.minimum(allowed_gap, relative))

    if s == 0:
        return solutions
    if n >= many_rows and (solutions.gaps > goal()).any():
        center, tied = _from_sample(columns, box, ridge)
        for group, shares in ((~tied, OPEN_SHARES), (tied, TIED_SHARES)):
            for share in shares:
                wide = np.flatnonzero(group & (solutions.gaps > goal()))
                if len(wide) == 0:
                    break
                some, aim = _taken(columns, wide), 0.5 * goal()[wide]
                size = max(int(share * n), FEW_ROWS)
                found = _solve_open(some, box, ridge, center[wide], size, aim)
                solutions.improve(wide, found)
                center[wide] = solutions.coef[wide]
    for _ in range(2):
        wide = np.flatnonzero(solutions.gaps > goal())
        if len(wide) == 0:
            break
        some, aim = _taken(columns, wide), 0.5 * goal()[wide]
        none = np.zeros((len(wide), s, s))
        problems = Problems(some, box, ridge, none, none[:, 0], aim)
        coef, dual = solve_by_interior_point(problems, iterations)
        solutions.improve(wide, certified(some, box, ridge, coef, dual))
    return solutions


def _from_sample(
    columns: FloatArray, box: BoxDual, ridge: float
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Rough coefficients from a twentieth of the rows, and whether many rows lie at a kink there.

    They can where the loss is piecewise linear and columns take few values.
    """
    m, s, n = columns.shape
    size = max(n // 20, FEW_ROWS)
    rows = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    sample = box.taken(rows)
    goal = np.full(m, 1e-4 * float(sample.loss(np.zeros(size))))
    none = np.zeros((m, s, s))
    part = Problems(columns[:, :, rows], sample, ridge * size / n, none, none[:, 0], goal)
    coef, dual = solve_by_interior_point(part)
    if box.softness > 0.0:
        return coef, np.zeros(m, dtype=bool)
    room = np.minimum(dual - sample.low, sample.high - dual)
    between = (room > 1e-3 * (sample.high - sample.low)).sum(axis=1)
    return coef, between > size // 10


def _solve_open(
    columns: FloatArray, box: BoxDual, ridge: float, center: FloatArray, size: int, goal: FloatArray
) -> Solutions:
    """Solve with the `size` rows of every problem open that are nearest to a kink at `center`."""
    m, s = center.shape
    prediction = predictions(columns, center)
    dual = box.best_dual(prediction)
    distance = np.abs(box.y - prediction)
    q = box.softness
    if q > 0.0:
        residual = box.y - prediction
        distance = np.minimum(np.abs(residual - q * box.low), np.abs(residual - q * box.high))
    rows = np.sort(np.argpartition(distance, size, axis=1)[:, :size], axis=1)
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
    problems = Problems(open_columns, box.taken(rows), ridge, quadratic, linear, goal)
    coef, open_dual = solve_by_interior_point(problems)
    if q > 0.0:
        dual = np.where(curved, (box.y - predictions(columns, coef)) / q, dual)
    np.put_along_axis(dual, rows, open_dual, axis=1)
    return certified(columns, box, ridge, coef, dual)


def _taken(columns: FloatArray, chosen: IntArray) -> FloatArray:
    return columns if len(chosen) == len(columns) else columns[chosen]
