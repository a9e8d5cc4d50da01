"""Best subset selection by a Markov chain as a scikit-learn estimator."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mipselect.losses.base import FloatArray
from mipselect.mechanisms import MetropolisHastings
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores import checked_positive
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.base import PrivateSelector, real_target

GRAM_LIMIT = 5_000
"""Up to so many columns XᵀX is formed once; beyond, the products of each support."""

TOLERANCE = 1e-14
"""A gradient below this, against columns of norm 1, is zero."""

ROUNDS = 10
"""So many changes per column are made at most; each lowers the sum of squares."""


class MCMCSelector(PrivateSelector):
    """Select columns by Metropolis-Hastings over supports: (ε, δ) if the chain has mixed.

    The chain makes single swaps and has the stationary law P(S) ∝ exp(-ε RSS_S / 2Δ), where
    RSS_S = min ‖y - X_S β‖² over ‖β‖₁ ≤ B on clipped data and Δ = (b_y + B b_x)².

    Parameters
    ----------
    n_features_to_select : int
        s, between 1 and p.
    epsilon : float
        ε > 0, under replace-one.
    delta : float
        0 < δ < 1.
    x_bound, y_bound : float
        b_x and b_y: features and target are clipped to ± these, in their units. Public; required.
    coef_bound : float
        B, the largest ‖β‖₁, in units of y over units of x. Public; required. The model has no
        intercept: centre by public constants.
    n_steps : int
        How long the chain runs.
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    Notes
    -----
    The guarantee carries the condition that the chain has mixed, by name, and nothing here
    proves it. `MetropolisHastings` says how close the chain must have come. The 2 of 2Δ is part
    of the mechanism: without it ε would be twice what is stated.

    References
    ----------
    Roy and Tewari, "On the computational complexity of private high-dimensional model selection
    via the exponential mechanism", 2023.
    """

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        x_bound: float | None = None,
        y_bound: float | None = None,
        coef_bound: float | None = None,
        n_steps: int = 5000,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.delta = delta
        self.x_bound = x_bound
        self.y_bound = y_bound
        self.coef_bound = coef_bound
        self.n_steps = n_steps
        self.ledger = ledger
        self.random_state = random_state

    def _mechanism(self, X: FloatArray, y: Any, source: random.Random) -> MetropolisHastings:
        given = self._public(
            x_bound="features are clipped to ± this",
            y_bound="the target is clipped to ± this",
            coef_bound="the largest sum of absolute coefficients",
        )
        x_bound, y_bound, coef_bound = (checked_positive(given[name], name) for name in given)
        squares = ResidualSquares(
            np.clip(X.astype(np.float64), -x_bound, x_bound),
            np.clip(real_target(y), -y_bound, y_bound),
            coef_bound,
        )
        return MetropolisHastings(
            squares,
            self._names(),
            self.n_features_to_select,
            self.epsilon,
            delta=self.delta,
            sensitivity=(y_bound + coef_bound * x_bound) ** 2,
            n_steps=self.n_steps,
        )


@dataclass(frozen=True, eq=False)
class ResidualSquares:
    """RSS_S = min ‖y - X_S β‖² over ‖β‖₁ ≤ B, for one support after the other.

    Parameters
    ----------
    X : float array, shape (n, p)
    y : float array, shape (n,)
    coef_bound : float
        B > 0.

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

    def __call__(self, support: Support) -> float:
        """RSS of s column indices."""
        columns = np.array(support)
        gram, products = self._gram_of(columns), self._products[columns]
        coefficients = least_squares(gram, products)
        if not np.abs(coefficients).sum() <= self.coef_bound:
            coefficients = nearest_in_ball(gram, products, self._square, self.coef_bound)
        gradient = gram @ coefficients - 2.0 * products
        return max(0.0, self._square + float(coefficients @ gradient))

    def _gram_of(self, columns: np.ndarray[Any, np.dtype[np.intp]]) -> FloatArray:
        if self._gram is not None:
            block: FloatArray = self._gram[columns[:, None], columns]
            return block
        part = self.X[:, columns]
        return part.T @ part

    @cached_property
    def _gram(self) -> FloatArray | None:
        return self.X.T @ self.X if self.X.shape[1] <= GRAM_LIMIT else None

    @cached_property
    def _products(self) -> FloatArray:
        return self.X.T @ self.y

    @cached_property
    def _square(self) -> float:
        return float(self.y @ self.y)


def least_squares(gram: FloatArray, products: FloatArray) -> FloatArray:
    """Coefficients that solve the normal equations; ``inf`` if they are singular."""
    try:
        coefficients: FloatArray = np.linalg.solve(gram, products)
    except np.linalg.LinAlgError:
        return np.full(products.shape, np.inf)
    return coefficients


def nearest_in_ball(
    gram: FloatArray, products: FloatArray, square: float, bound: float
) -> FloatArray:
    """Coefficients with ‖β‖₁ ≤ B that minimise βᵀGβ - 2bᵀβ + d; see `ResidualSquares`."""
    s = products.size
    if square == 0.0:
        return np.zeros(s)
    whole = np.empty((s + 1, s + 1))
    whole[:s, :s], whole[:s, s], whole[s, :s], whole[s, s] = gram, products, products, square
    eigenvalues, vectors = np.linalg.eigh(whole)
    # In units in which neither y nor a corner is long: `TOLERANCE` is against both.
    unit = square + bound**2 * gram.diagonal().max()
    root = np.sqrt(np.maximum(eigenvalues, 0.0) / unit)[:, None] * vectors.T
    corners = bound * np.hstack([root[:, :s], -root[:, :s]]) - root[:, s:]
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
    """Least squares in the columns that are marked; zero elsewhere."""
    solution = np.zeros(positive.size)
    solution[positive] = np.linalg.lstsq(A[:, positive], target, rcond=None)[0]
    return solution
