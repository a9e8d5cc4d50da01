"""Best subset selection by a Markov chain on sums of squares with a bound on ‖β‖₁."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.estimators import feature_bounds, target_bound
from mipselect.mechanisms.supports.metropolis import MetropolisHastings, mixing_guarantee
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
from mipselect.selectors.base import RowsSelector
from mipselect.validation import checked_epsilon, checked_integer, checked_scale, checked_share

TOLERANCE = 1e-14
"""A gradient below this, against columns of norm 1, is zero."""

ROUNDS = 10
"""So many changes per column are made at most; each lowers the sum of squares."""

MOST_COLUMNS = 5_000
"""Up to so many columns XᵀX is formed once; beyond, the products of each support."""


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

    def __init__(self, X: FloatArray, y: FloatArray, coef_bound: float) -> None:
        self._X, self._coef_bound = X, coef_bound
        self._gram = X.T @ X if X.shape[1] <= MOST_COLUMNS else None
        self._products, self._square = X.T @ y, float(y @ y)

    def __call__(self, support: ArrayLike) -> float:
        """Compute RSS of some column indices."""
        columns = np.asarray(support, dtype=np.intp)
        products = self._products[columns]
        if self._gram is None:
            gram = self._X[:, columns].T @ self._X[:, columns]
        else:
            gram = self._gram[np.ix_(columns, columns)]
        try:
            coefficients: FloatArray = np.linalg.solve(gram, products)
        except np.linalg.LinAlgError:
            coefficients = np.full(products.shape, np.inf)
        if not np.abs(coefficients).sum() <= self._coef_bound:
            coefficients = nearest_in_ball(gram, products, self._square, self._coef_bound)
        gradient = gram @ coefficients - 2.0 * products
        return max(0.0, self._square + float(coefficients @ gradient))


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


@estimator
class MCMCSelector(RowsSelector):
    """Select columns by Metropolis-Hastings over supports: (ε, δ) if the chain has mixed.

    The chain makes single swaps and has the stationary law P(S) ∝ exp(-ε RSS_S / 2Δ), where
    RSS_S = min ‖y - X_S β‖² over ‖β‖₁ ≤ B on clipped data and Δ = (b_y + B b_x)². With features of
    several columns X_S are all columns of S and those that are always in, and b_x is the largest
    of the bounds, 1 of an intercept among them: no entry of a row exceeds it, so Δ is what it is
    for single columns, however many there are.

    Notes
    -----
    The guarantee carries the condition that the chain has mixed, by name, and nothing here
    proves it. `MetropolisHastings` says how close the chain must have come, and has the source.
    The 2 of 2Δ is part of the mechanism: without it ε would be twice what is stated.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import MCMCSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 6))
    >>> bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0}
    >>> selector = MCMCSelector(2, epsilon=1.0, delta=1e-6, n_steps=200, **bounds).fit(X, X[:, 0])
    >>> len(selector.guarantee_.conditions)
    1
    """

    name = "mcmc"

    delta: float = parameter(
        "float",
        "0 < δ < 1.",
        default=1e-6,
        flag="--delta",
        check=lambda value, name: checked_share(value, name, closed=False),
    )
    x_bound: float | Sequence[float] | None = feature_bounds(
        "; see `TopRSelector`. Public; required."
    )
    y_bound: float | None = target_bound("This is b_y. Public; required.")
    coef_bound: float | None = parameter(
        "float",
        "B, the largest ‖β‖₁, in units of y over units of x; of the columns that are always in "
        "too. Public; required by `fit`. Of an instance it may be None: r√s, which allows every β "
        "with ‖β‖₂ ≤ r where every feature is one column; each part that is always in counts in s. "
        "Without `intercept` centre by public constants.",
        default=None,
        assumption="the largest sum of |coefficients|",
        flag="--mcmc-radius",
        check=checked_scale,
    )
    intercept: bool = parameter("bool", "Whether a column of ones is always in.", default=False)
    n_steps: int = parameter(
        "int",
        "How long the chain runs.",
        default=5000,
        flag="--mcmc-steps",
        check=lambda value, name: checked_integer(value, name, 1),
    )

    @property
    def guarantee(self) -> Guarantee:
        """See `MetropolisHastings.guarantee`."""
        return mixing_guarantee(checked_epsilon(self.epsilon), self.delta, self.n_steps)

    @property
    def bounds(self) -> tuple[str, ...]:
        """b_x and b_y, and r where there is no B."""
        return ("x_bound", "y_bound", *(("coef_bound",) if self.coef_bound is None else ()))

    def _asked(self) -> dict[str, Any]:
        given = self._public("x_bound", "y_bound", "coef_bound")
        del given["coef_bound"]
        return {"intercept": self.intercept, **given}

    def radius_of(self, problem: Problem) -> float:
        """Return B, the bound of the coefficients."""
        if self.coef_bound is not None:
            return float(self.coef_bound)
        layout = problem.layout
        parts = problem.support_size + len(layout.always) + layout.intercept
        largest = problem.bound("coef_bound") * math.sqrt(parts)
        return checked_scale(largest, "coef_bound · √support_size")

    def problem(self, problem: Problem) -> Problem:
        """See `RowsSelector`; `InvalidInput` for another loss than the squared one."""
        if problem.loss is not None and problem.loss.name != "squared":
            raise InvalidInput(f"mcmc is for the squared loss, not {problem.loss.name}")
        return super().problem(problem)

    def recorded(self, problem: Problem) -> dict[str, Any]:
        """See `PrivateSelector`; with B in any case."""
        return {**super().recorded(problem), "mcmc_radius": self.radius_of(problem)}

    def stated(self, problem: Problem) -> dict[str, Guarantee]:
        """Return the guarantees; `InvalidInput` for a B that is too large."""
        self.sensitivity_of(problem)
        return self.guarantees

    def sensitivity_of(self, problem: Problem) -> float:
        """Compute Δ = (b_y + Bb)² of the sums of squared residuals."""
        layout, y_bound = problem.layout, checked_scale(problem.bound("y_bound"), "y_bound")
        layout.require_scales()
        bounds = [float(layout.bounds.max())]
        bounds += [layout.always_bound] if layout.always else []
        bounds += [1.0] if layout.intercept else []
        return (y_bound + self.radius_of(problem) * max(bounds)) ** 2

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> MetropolisHastings:
        y_bound, layout = problem.bound("y_bound"), problem.layout
        squares = ResidualSquares(
            layout.clipped(np.asarray(rows.X, dtype=np.float64)),
            np.clip(rows.y, -y_bound, y_bound),
            self.radius_of(problem),
        )
        features = layout.features
        return MetropolisHastings(
            lambda support: squares(features.with_always(np.array(support))),
            problem.feature_names,
            problem.support_size,
            self.epsilon,
            delta=self.delta,
            sensitivity=self.sensitivity_of(problem),
            n_steps=self.n_steps,
        )
