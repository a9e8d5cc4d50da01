"""Least squares in few columns with a bound on ‖β‖₁, for one support after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray

TOLERANCE = 1e-14
"""A gradient below this, against columns of norm 1, is zero."""

ROUNDS = 10
"""So many changes per column are made at most; each lowers the sum of squares."""


@dataclass(frozen=True, eq=False)
class ResidualSquares:
    """RSS_S = min ‖y - X_S β‖² over ‖β‖₁ ≤ B, for one support after the other.

    Parameters
    ----------
    X : float array, shape (n, p)
    y : float array, shape (n,)
    coef_bound : float
        B > 0.
    gram_limit : int
        Up to so many columns XᵀX is formed once; beyond, the products of each support.

    Notes
    -----
    Least squares, if they obey the bound. Else RSS_S is the squared distance from y to the
    polytope with the 2s corners ±B x_j. With the columns of P the corners less y, the point of
    the polytope that is nearest to y is Pλ/Σλ + y for the λ ≥ 0 that minimises
    ‖Pλ‖² + (Σλ - 1)²: along a ray λ = tμ with Σμ = 1 the minimum over t is
    ‖Pμ‖²/(1 + ‖Pμ‖²), which grows with ‖Pμ‖. Both are exact up to rounding, for singular X_S
    too: coefficients from rounded equations within the bound are not worse than the best by
    more than rounding, as the problem is convex.
    """

    X: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)
    coef_bound: float
    gram_limit: int = 5_000

    def __call__(self, support: ArrayLike) -> float:
        """Compute RSS of some column indices."""
        columns = np.asarray(support, dtype=np.intp)
        gram, products = self._gram_of(columns), self._products[columns]
        return smallest_square(gram, products, self._square, self.coef_bound)

    def _gram_of(self, columns: np.ndarray[Any, np.dtype[np.intp]]) -> FloatArray:
        if self._gram is not None:
            block: FloatArray = self._gram[columns[:, None], columns]
            return block
        part = self.X[:, columns]
        return part.T @ part

    @cached_property
    def _gram(self) -> FloatArray | None:
        return self.X.T @ self.X if self.X.shape[1] <= self.gram_limit else None

    @cached_property
    def _products(self) -> FloatArray:
        return self.X.T @ self.y

    @cached_property
    def _square(self) -> float:
        return float(self.y @ self.y)


def smallest_square(gram: FloatArray, products: FloatArray, square: float, bound: float) -> float:
    """Compute RSS of some columns, from XᵀX, Xᵀy and yᵀy; see `ResidualSquares`."""
    coefficients = least_squares(gram, products)
    if not np.abs(coefficients).sum() <= bound:
        coefficients = nearest_in_ball(gram, products, square, bound)
    gradient = gram @ coefficients - 2.0 * products
    return max(0.0, square + float(coefficients @ gradient))


def least_squares(gram: FloatArray, products: FloatArray) -> FloatArray:
    """Solve the normal equations; ``inf`` if they are singular."""
    try:
        coefficients: FloatArray = np.linalg.solve(gram, products)
    except np.linalg.LinAlgError:
        return np.full(products.shape, np.inf)
    return coefficients


def nearest_in_ball(
    gram: FloatArray, products: FloatArray, square: float, bound: float
) -> FloatArray:
    """Minimise βᵀGβ - 2bᵀβ + d over ‖β‖₁ ≤ B; see `ResidualSquares`."""
    s = products.size
    if square == 0.0:
        return np.zeros(s)
    # Corners B x_j beside y, not columns: in other units one drowns in the rounding of the other.
    whole = np.empty((s + 1, s + 1))
    whole[:s, :s], whole[s, s] = bound**2 * gram, square
    whole[:s, s] = whole[s, :s] = bound * products
    eigenvalues, vectors = np.linalg.eigh(whole)
    # In units in which neither y nor a corner is long: `TOLERANCE` is against both.
    unit = whole.diagonal()[:s].max() + square
    root = np.sqrt(np.maximum(eigenvalues, 0.0) / unit)[:, None] * vectors.T
    corners = np.hstack([root[:, :s], -root[:, :s]]) - root[:, s:]
    weights = nonnegative_least_squares(
        np.vstack([corners, np.ones(2 * s)]), np.append(np.zeros(s + 1), 1.0)
    )
    shares = weights / weights.sum()
    coefficients: FloatArray = bound * (shares[:s] - shares[s:])
    return coefficients


def nonnegative_least_squares(A: FloatArray, target: FloatArray) -> FloatArray:
    """Minimise ‖Aλ - t‖² over λ ≥ 0 by the active sets of Lawson and Hanson, 1974, chapter 23.

    SciPy's `nnls` is not used: where columns are opposite to each other and others equal, as
    here with equal features, it can stop far from the minimum.
    """
    count = A.shape[1]
    tolerance = TOLERANCE * float(np.linalg.norm(A, axis=0).max())
    solution: FloatArray = np.zeros(count)
    positive = np.zeros(count, dtype=bool)
    refused = np.zeros(count, dtype=bool)
    for _ in range(ROUNDS * count):
        gradient = A.T @ (target - A @ solution)
        gradient[positive | refused] = -np.inf
        entering = int(np.argmax(gradient))
        if gradient[entering] <= tolerance:
            break
        positive[entering] = True
        wanted = _with_positive(A, target, positive)
        if wanted[entering] <= 0.0:
            # It would have to grow; that it does not is rounding.
            positive[entering], refused[entering] = False, True
            continue
        while (wanted[positive] <= 0.0).any():
            falling = positive & (wanted <= 0.0)
            steps = solution[falling] / (solution[falling] - wanted[falling])
            solution += steps.min() * (wanted - solution)
            positive[np.flatnonzero(falling)[steps == steps.min()]] = False
            solution[~positive] = 0.0
            wanted = _with_positive(A, target, positive)
        solution = wanted
        refused[:] = False
    return solution


def _with_positive(
    A: FloatArray, target: FloatArray, positive: np.ndarray[Any, np.dtype[np.bool_]]
) -> FloatArray:
    """Solve least squares in the columns that are marked; zero elsewhere."""
    solution = np.zeros(positive.size)
    solution[positive] = np.linalg.lstsq(A[:, positive], target, rcond=None)[0]
    return solution
