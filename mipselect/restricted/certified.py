"""Batches of restricted problems with a box dual, and the certificate of a solution.

The loss is ℓ(y, u) = max over lo ≤ a ≤ hi of a(y - u) - (q/2)a². In units in which the ball has
radius 1, c_i = r x_iS and κ = λr², the problem and its dual are, up to the factor 1/n,

    min over ‖β‖ ≤ 1 of Σ_i ℓ(y_i, c_i·β) + (κ/2)‖β‖²
    max over lo ≤ α ≤ hi of Σ_i [α_i y_i - (q/2)α_i²] - h(‖Cᵀα‖²)

with h from `mipselect.restricted.fenchel`. For any β in the ball and any α in the box the
difference of the two is a sum of terms that are none of them negative (Fenchel and Young),

    Σ_i (a_i - α_i)(y_i - u_i - (q/2)(a_i + α_i)) + (b - β)·(w - (κ/2)(b + β)),

where a_i is the best a for u_i = c_i·β, and b the best b for w = Cᵀα. In this form the large
numbers do not cancel, and the sum proves how far a value is from R whatever solver found β and α
(docs/mathematics/restricted-problem.md, (7)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class BoxDual:
    """Responses and the loss in its dual form.

    Attributes
    ----------
    y, low, high : ndarray of shape (n,) or (m, n)
        Responses and the bounds of the dual variables, low < high.
    softness : float
        q ≥ 0.
    """

    y: FloatArray
    low: FloatArray
    high: FloatArray
    softness: float

    def best_dual(self, prediction: FloatArray) -> FloatArray:
        """Find the a that attains ℓ(y, u), the one nearest to the box's middle in a tie."""
        residual = self.y - prediction
        if self.softness > 0.0:
            return np.asarray(np.clip(residual / self.softness, self.low, self.high))
        inside = np.clip(0.0, self.low, self.high)
        return np.where(residual > 0, self.high, np.where(residual < 0, self.low, inside))

    def loss(self, prediction: FloatArray) -> FloatArray:
        """Compute Σ_i ℓ(y_i, u_i) over the last axis."""
        a = self.best_dual(prediction)
        return np.asarray(self._gain(a, self.y - prediction).sum(axis=-1))

    def conjugate(self, dual: FloatArray) -> FloatArray:
        """Compute Σ_i -ℓ*(y_i, -α_i) = Σ_i α_i y_i - (q/2)α_i² over the last axis."""
        return np.asarray(self._gain(dual, self.y).sum(axis=-1))

    def _gain(self, a: FloatArray, residual: FloatArray) -> FloatArray:
        linear = a * residual
        return linear - (0.5 * self.softness) * a**2 if self.softness > 0.0 else linear

    def taken(self, rows: IntArray | NDArray[np.bool_]) -> BoxDual:
        """Return some of the rows, or, where y has shape (m, n), of the problems."""
        return BoxDual(self.y[rows], self.low[rows], self.high[rows], self.softness)


@dataclass(frozen=True, eq=False)
class Solutions:
    """Results of m solves; values and bounds are not divided by n.

    Attributes
    ----------
    coef : ndarray of shape (m, s)
        ‖coef‖ ≤ 1, in units of the radius.
    values, lower : ndarray of shape (m,)
        The objective at `coef`, and what `dual` proves: values less gaps.
    gaps : ndarray of shape (m,)
        Proven distance of `values` from the optimum, rounding included.
    dual : ndarray of shape (m, n)
        Within the box.
    """

    coef: FloatArray
    values: FloatArray
    gaps: FloatArray
    dual: FloatArray

    @property
    def lower(self) -> FloatArray:
        """Lower bounds on the optima, shape (m,)."""
        return self.values - self.gaps

    def improve(self, chosen: IntArray, other: Solutions) -> None:
        """Take over those of `other`, for the problems `chosen`, whose gap is smaller."""
        better = other.gaps < self.gaps[chosen]
        for name in ("coef", "values", "gaps", "dual"):
            getattr(self, name)[chosen[better]] = getattr(other, name)[better]


def certified(
    columns: FloatArray, box: BoxDual, ridge: float, coef: FloatArray, dual: FloatArray
) -> Solutions:
    """Compute value and gap of any coefficients and dual points, which are first made feasible.

    Sums over rows go along the last, contiguous axis: numpy adds these pairwise, so that they
    lose a few dozen roundings at most, however many rows there are.

    Parameters
    ----------
    columns : ndarray of shape (m, s, n)
        C of every problem.
    box : BoxDual
    ridge : float
        κ ≥ 0.
    coef : ndarray of shape (m, s)
    dual : ndarray of shape (m, n)
    """
    coef = coef / np.maximum(1.0, np.linalg.norm(coef, axis=1))[:, None]
    dual = np.clip(dual, box.low, box.high)
    prediction = predictions(columns, coef)
    residual = box.y - prediction
    best = box.best_dual(prediction)
    if box.softness > 0.0:
        values = (best * (residual - (0.5 * box.softness) * best)).sum(axis=1)
        residual -= (0.5 * box.softness) * (best + dual)
    else:
        values = (best * residual).sum(axis=1)
    gaps = ((best - dual) * residual).sum(axis=1)
    values += 0.5 * ridge * np.einsum("ms,ms->m", coef, coef)
    w = np.empty_like(coef)
    for j in range(coef.shape[1]):
        w[:, j] = (columns[:, j] * dual).sum(axis=1)
    length = np.maximum(np.linalg.norm(w, axis=1), ridge)[:, None]
    farthest = np.divide(w, length, out=np.zeros_like(w), where=length > 0.0)
    gaps += np.einsum("ms,ms->m", farthest - coef, w - 0.5 * ridge * (farthest + coef))
    return Solutions(coef, values, np.maximum(gaps, 0.0), dual)


def predictions(columns: FloatArray, coef: FloatArray) -> FloatArray:
    """Compute Cβ of every problem; shapes (m, s, n) and (m, s) to (m, n)."""
    return np.asarray((coef[:, None, :] @ columns)[:, 0])
