"""Bounds on supports of one more column than a base whose problem is solved: a dual point for each.

Newton's steps from the optimum on the base B lead close to the one on B ∪ {j}, and the slopes of
the loss there are a dual point whose bound on this one support is nearly R(B ∪ {j}). All steps of
a base share its equations, so that they cost a small part of as many problems.

A loss with a kink has no second derivative. All its rows together have one, nearly: the kink's
change of slope times the density of residuals there. So the equations are those of the rows that
are near their kink, and slopes change over a narrow band around it, narrow enough that the bound
loses little (docs/mathematics/cuts.md, (15)).
"""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.certified import BoxDual
from mipselect.restricted.fenchel import EPS, largest_ridge_gain

STEPS = 2
"""Number of steps for a loss that is curved."""

KINKED_STEPS = 6
"""Number of steps for a loss with kinks."""

DAMPED = 0.7
"""The share of each of these steps that is taken."""

NEAR = 0.1
"""The share of the rows, those nearest to their kink, that the equations are made of."""

BAND = 0.03
"""The share of the rows that lie in the band in which slopes change."""

LEAST = 1e-6
"""Both distances are at least this share of the largest."""

ENTRIES = 50_000
"""Rows of X times columns that are stepped to at once."""


def bounds_with_one_more(
    rows: FloatArray,
    box: BoxDual,
    ridge: float,
    radius: float,
    base: IntArray,
    dual: FloatArray,
    candidates: IntArray,
) -> FloatArray:
    """Bound nR(B ∪ {j}) from below for every candidate j, shape (L,).

    Parameters
    ----------
    rows : ndarray of shape (p, n)
        Xᵀ.
    box : BoxDual
        A box of shape (n,).
    ridge, radius : float
        λ > 0 and r.
    base : ndarray of int, shape (k,)
        The columns of B.
    dual : ndarray of shape (n,)
        A point in the box, nearly optimal on B; a worse one makes the bounds worse.
    candidates : ndarray of int, shape (L,)
        Columns outside B.
    """
    start = _Start(rows[base], box, ridge, radius, dual)
    chunk = max(1, ENTRIES // len(dual))
    found = [
        start.bounds(rows[candidates[k : k + chunk]]) for k in range(0, len(candidates), chunk)
    ]
    return np.concatenate([np.empty(0), *found])


class _Start:
    """The optimum on a base, and the equations of the steps from it.

    Parameters
    ----------
    columns : ndarray of shape (k, n)
        Columns of the base.
    box, ridge, radius, dual
        See `bounds_with_one_more`.
    """

    def __init__(
        self, columns: FloatArray, box: BoxDual, ridge: float, radius: float, dual: FloatArray
    ) -> None:
        self.columns, self.box, self.ridge, self.radius = columns, box, ridge, radius
        self.trace = math.fsum(np.einsum("kn,kn->k", columns, columns))
        w = columns @ dual
        self.shrink = max(ridge, float(np.linalg.norm(w)) / radius)
        self.coef = w / self.shrink
        residual = box.y - self.coef @ columns
        if box.softness > 0.0:
            self.steps, self.share, self.width = STEPS, 1.0, box.softness
            self.offset: FloatArray = np.zeros(1)
            scaled = residual / box.softness
            self.curved = ((scaled > box.low) & (scaled < box.high)) / box.softness
        else:
            self.steps, self.share, self.offset = KINKED_STEPS, DAMPED, dual
            # What is not finite where all residuals are zero proves nothing, and does no harm.
            distance, change = np.abs(residual), box.high - box.low
            near, band = np.quantile(distance, [NEAR, BAND]) + LEAST * distance.max()
            self.width = 2.0 * band / float(change.mean())
            self.curved = np.where(distance <= near, change / (2.0 * near), 0.0)
        self.dual = self.slopes(residual)
        self.weighted = columns * self.curved
        system = self.weighted @ columns.T + self.shrink * np.eye(len(columns))
        self.inverse: FloatArray = np.zeros(system.shape)
        if np.isfinite(system).all():
            self.inverse = np.linalg.pinv(system, hermitian=True)

    def slopes(self, residual: FloatArray) -> FloatArray:
        """Compute a dual point where these are the residuals, of any shape (..., n)."""
        scaled = residual / self.width + self.offset
        return np.clip(scaled, self.box.low, self.box.high, out=scaled)

    def bounds(self, added: FloatArray) -> FloatArray:
        """Bound nR from below with each of the columns `added`, shape (L, n), by itself."""
        columns = self.columns
        across = added @ self.weighted.T
        solved = across @ self.inverse
        own = (added * added) @ self.curved + self.shrink
        own = np.maximum(own - np.einsum("lk,lk->l", across, solved), self.shrink)
        coef: FloatArray = np.repeat(self.coef[None], len(added), axis=0)
        extra: FloatArray = np.zeros(len(added))
        w, w_added = columns @ self.dual, added @ self.dual
        best: FloatArray = np.full(len(added), -np.inf)
        for _ in range(self.steps):
            slope, slope_added = w - self.shrink * coef, w_added - self.shrink * extra
            step = (slope_added - np.einsum("lk,lk->l", solved, np.atleast_2d(slope))) / own
            coef = coef + self.share * (slope @ self.inverse - solved * step[:, None])
            extra = extra + self.share * step
            dual = self.slopes(self.box.y - coef @ columns - extra[:, None] * added)
            w, w_added = dual @ columns.T, np.einsum("ln,ln->l", dual, added)
            best = np.fmax(best, self._proven(dual, w, w_added, added))
        return best

    def _proven(
        self, dual: FloatArray, w: FloatArray, w_added: FloatArray, added: FloatArray
    ) -> FloatArray:
        """Compute the bounds of dual points, each on its own support, less possible rounding."""
        rounding = (dual.shape[1] + len(self.columns) + 8) * EPS
        squares = np.einsum("ln,ln->l", dual, dual)
        size = np.abs(dual) @ np.abs(self.box.y) + self.box.softness * squares
        constants = dual @ self.box.y - (0.5 * self.box.softness) * squares - rounding * size
        trace = self.trace + np.einsum("ln,ln->l", added, added)
        length = np.sqrt(np.einsum("lk,lk->l", w, w) + w_added**2)
        length = length + rounding * np.sqrt(squares * trace)
        gain = largest_ridge_gain(length**2, self.ridge, self.radius)
        return np.asarray(constants - gain)
