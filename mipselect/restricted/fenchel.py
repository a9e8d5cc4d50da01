"""Lower bounds on R at every support from one dual point, for any convex loss.

For any α, and with the conjugate ℓ*(y, ·) of the loss in the prediction,

    R(S) ≥ (1/n) [Σ_i -ℓ*(y_i, -α_i) - h(Σ_{j∈S} w_j²)],   w = Xᵀα,
    h(t) = max over ‖β‖ ≤ r of √t ‖β‖ - (λ/2)‖β‖²,

with equality at S where α is the dual optimum on S. Nothing has to be solved to optimality for
the bound to hold: any α at which the conjugate is finite will do (docs/mathematics/cuts.md, (1)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.columns import products, roundings_of_sum
from mipselect.restricted.prepared import PreparedLoss

EPS = float(np.finfo(np.float64).eps)

LEAST_SIZE = float(np.sqrt(np.finfo(np.float64).tiny))
"""Squares of smaller numbers lose digits."""

PRECISION = 1e-10
"""Relative duality gap that solutions aim at."""

WIDE = 4.0
"""Radius, in that of the problem, of problems whose features have ridges of their own."""


def largest_ridge_gain(squared: FloatArray, ridge: float, radius: float) -> FloatArray:
    """Compute h(t) = max over ‖β‖ ≤ r of √t ‖β‖ - (λ/2)‖β‖², for t = ‖w‖² of any shape."""
    length = np.minimum(np.sqrt(squared), ridge * radius)
    inside = length**2 / (2.0 * ridge) if ridge > 0.0 else np.zeros_like(length)
    return np.asarray(inside + radius * (np.sqrt(squared) - length))


def squared_products(points: FloatArray, rows: FloatArray, lengths: FloatArray) -> FloatArray:
    """Bound (x_j · α)² from above for every dual point α, rounding included; shape (m, p).

    Parameters
    ----------
    points : ndarray of shape (m, n)
    rows : ndarray of shape (p, n)
        Xᵀ.
    lengths : ndarray of shape (p,)
        ‖x_j‖.

    Notes
    -----
    `EPS` is twice what one rounding is; the other half is for the lengths and the square
    (docs/mathematics/cuts.md, (1)).
    """
    off = roundings_of_sum(points.shape[1]) * EPS * np.linalg.norm(points, axis=1)
    sizes: FloatArray = np.abs(products(rows.T, points.T).T) + np.outer(off, lengths)
    return np.maximum(sizes, LEAST_SIZE) ** 2


PER_POINT = ("constants", "weights", "always", "points", "coef")


@dataclass(frozen=True, eq=False)
class FenchelBounds:
    """The bounds of m dual points, each of them on all supports.

    Attributes
    ----------
    constants : ndarray of shape (m,)
        Σ_i -ℓ*(y_i, -α_i), less an allowance for rounding.
    weights : ndarray of shape (m, p)
        Σ w_j² over the columns of every feature, w = Xᵀα, more an allowance for rounding.
    n : int
    ridge, radius : float
        λ and r.
    always : ndarray of shape (m,)
        The same squares added up over the columns that are always in.
    points : ndarray of shape (m, n) or None
        The dual points themselves, where they are kept.
    coef : ndarray of shape (m, c) or None
        The coefficients of all columns, in units of r, that go with them, where they are known:
        solutions nearby may begin there.
    """

    constants: FloatArray
    weights: FloatArray
    n: int
    ridge: float
    radius: float
    always: FloatArray
    points: FloatArray | None = None
    coef: FloatArray | None = None

    def __post_init__(self) -> None:
        # What is no square may be of any size: it comes first where they are sorted.
        for name in ("weights", "always"):
            squares = getattr(self, name)
            object.__setattr__(self, name, np.where(squares >= 0.0, squares, np.inf))

    def bound(self, row: int, weight: FloatArray) -> FloatArray:
        """Compute the bound of dual point `row` on supports with Σ w_j² = `weight` over columns.

        -inf where a number is none.
        """
        gain = largest_ridge_gain(weight, self.ridge, self.radius)
        bound = (self.constants[row] - gain * (1.0 + 16.0 * EPS)) / self.n
        return np.where(bound < np.inf, bound, -np.inf)

    def only(self, row: int) -> FenchelBounds:
        """Take dual point `row` alone."""
        one = slice(row, row + 1)
        known = {name: getattr(self, name) for name in PER_POINT}
        return replace(self, **{k: v[one] for k, v in known.items() if v is not None})

    def start(self, row: int) -> FloatArray | None:
        """Return the coefficients of dual point `row`, shape (c,)."""
        return None if self.coef is None else self.coef[row]

    def at(self, row: int, supports: IntArray) -> FloatArray:
        """Compute the bound of dual point `row` at every row of `supports`, shape (k, s): (k,)."""
        return self.bound(row, self.always[row] + self.weights[row][supports].sum(axis=-1))

    def own(self, row: int, base: IntArray) -> float:
        """Add up w_j² over the columns of `base`, shape (k,), and those that are always in."""
        return float(self.always[row] + self.weights[row][base].sum())


@runtime_checkable
class FenchelLoss(PreparedLoss, Protocol):
    """A prepared loss that can bound itself by dual points; what the convex search works on.

    Solutions may begin at `near`, the coefficients of all columns, shape (c,) or (m, c), on
    supports nearby: this saves time and changes nothing else.
    """

    p: int

    def values(self, supports: IntArray, near: FloatArray | None = None) -> FloatArray:
        """Compute R of every row of `supports`, shape (m, s); returns shape (m,)."""

    def bounds(self, supports: IntArray, near: FloatArray | None = None) -> FenchelBounds:
        """Find nearly optimal dual points of every row of `supports`, shape (m, k), k ≥ 0."""

    def bounds_with_one_more(
        self, base: IntArray, point: FloatArray, candidates: IntArray
    ) -> FloatArray:
        """Bound R(B ∪ {j}) from below for candidates j, shape (L,); -inf where no bound is known.

        Parameters
        ----------
        base : ndarray of int, shape (k,)
        point : ndarray of shape (n,)
            The dual point of `bounds` for this base.
        candidates : ndarray of int, shape (L,)
        """

    def scaled_bounds(
        self,
        features: IntArray,
        scales: FloatArray,
        *,
        reach: float = WIDE,
        precision: float = PRECISION,
    ) -> FenchelBounds:
        """Find a dual point near to the optimum where feature j has the ridge λ/scales_j².

        Parameters
        ----------
        features : ndarray of int, shape (k,)
        scales : ndarray of shape (k,)
            Positive.
        reach : float
            The norm constraint is on β_j/scales_j, with a radius of so many r.
        precision : float
            Relative duality gap that is aimed at.
        """
