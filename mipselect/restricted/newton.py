"""Newton's method for batches of restricted problems whose loss is a parabola between two lines.

Where it is known which rows are on the parabola and which on either line, the objective is a
quadratic, and its minimum over the ball a few equations. Newton's method puts the rows where its
last point has them, and ends at the optimum itself once none of them changes its side: a handful
of steps, each of them much cheaper than one of an interior-point method. It is the method of
Madsen and Nielsen ("Finite algorithms for robust linear regression", BIT, 1990), with the ball.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.errors import SolverFailure
from mipselect.restricted.certified import BoxDual, predictions
from mipselect.restricted.normal_equations import solve_normal_equations

STEPS = 20

Sides = NDArray[np.int8]
"""-1, 0 or 1 for every row of every problem: on the lower line, the parabola, the upper line."""


def solve(
    columns: FloatArray,
    box: BoxDual,
    ridge: float,
    *,
    steps: int = STEPS,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Find nearly optimal β, shape (m, s), and α, shape (m, n), of m problems.

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
    steps : int
        Most points that are looked at.
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
    for _ in range(steps):
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
