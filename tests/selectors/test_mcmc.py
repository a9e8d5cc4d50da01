"""Least squares in the ℓ1 ball against cvxpy, and exact audits of estimators from raw tables."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone

from mipselect.privacy.audit import Law, worst_pair
from mipselect.selectors import ExponentialSelector, MCMCSelector, TopRSelector
from mipselect.selectors.mcmc import ResidualSquares, nearest_in_ball
from tests.support.enumeration import stationary_law
from tests.support.replaced_row import ReplacedRow

BOUNDS = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0}


def by_cvxpy(X: np.ndarray, y: np.ndarray, bound: float) -> float:
    coef = cp.Variable(X.shape[1])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(y - X @ coef)), [cp.norm1(coef) <= bound])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def design(kind: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    n, s = int(rng.integers(1, 20)), int(rng.integers(1, 7))
    X = rng.uniform(-1.0, 1.0, (n, s))
    if kind == 1:
        X[:, s // 2] = -X[:, 0] if rng.random() < 0.5 else X[:, 0]
    if kind == 2:
        X[:, -1] = rng.choice([0.0, 1.0])
    if kind == 3:
        X = np.sign(X)
    if kind == 4 and s > 2:
        X[:, 2] = X[:, 0] - X[:, 1]
    y = X @ rng.normal(size=s) if rng.random() < 0.2 else rng.uniform(-1.0, 1.0, n)
    return X, y, 10.0 ** rng.uniform(-2.0, 1.0)


@pytest.mark.parametrize("kind", range(5))
def test_residuals_by_cvxpy(kind: int) -> None:
    rng = np.random.default_rng(kind)
    for _ in range(40):
        X, y, bound = design(kind, rng)
        found = ResidualSquares(X, y, bound)(tuple(range(X.shape[1])))
        assert found == pytest.approx(by_cvxpy(X, y, bound), abs=1e-6 * (1.0 + y @ y), rel=1e-6)


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("unit", [1e-20, 1e-9, 1e9, 1e20])
def test_units_of_x_and_y_change_nothing(unit: float, kind: int) -> None:
    """Shares of a salary in cents: beside yᵀy the squares of the columns would be rounding."""
    rng = np.random.default_rng(kind)
    for _ in range(40):
        X, y, bound = design(kind, rng)
        support = tuple(range(X.shape[1]))
        wanted = ResidualSquares(X, y, bound)(support)
        found = ResidualSquares(X, unit * y, unit * bound)(support) / unit**2
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-11 * (1.0 + bound) ** 2 * len(y))


def test_no_unit_takes_a_row_beyond_the_sensitivity() -> None:
    """It went to 4.4 times the sensitivity."""
    rng, unit = np.random.default_rng(4), 1e8
    selector = MCMCSelector(2, x_bound=1.0, y_bound=unit, coef_bound=unit, n_steps=1)
    for _ in range(150):
        X = rng.choice([-1.0, 1.0], (20, 3))
        y = X[:, 0] if rng.random() < 0.5 else rng.uniform(-1.0, 1.0, 20)
        X_other, y_other = X.copy(), y.copy()
        X_other[0], y_other[0] = rng.choice([-1.0, 1.0], 3), rng.choice([-1.0, 1.0])
        one = selector.mechanism(X, unit * y)
        other = selector.mechanism(X_other, unit * y_other)
        moves = [abs(one.values(pair) - other.values(pair)) for pair in combinations(range(3), 2)]
        assert max(moves) <= one.sensitivity * (1.0 + 1e-9)


def test_equal_and_opposite_columns_are_solved_to_the_end() -> None:
    """The duality gap bounds how far from the minimum the coefficients are, without a judge."""
    rng = np.random.default_rng(1)
    for _ in range(400):
        X = rng.choice([-1.0, 1.0], (6, int(rng.integers(2, 11))))
        X[:, 1] = X[:, 0]
        y, bound = rng.uniform(-1.0, 1.0, 6), 10.0 ** rng.uniform(-1.0, 2.0)
        beta = nearest_in_ball(X.T @ X, X.T @ y, y @ y, bound)
        gradient = X.T @ (X @ beta - y)
        assert np.abs(beta).sum() <= bound * (1.0 + 1e-12)
        assert gradient @ beta + bound * np.abs(gradient).max() <= 1e-11 * (1.0 + bound) ** 2


def law(epsilon: float, s: int) -> Any:
    selector = MCMCSelector(s, epsilon=epsilon, **BOUNDS)

    def stationary(table: np.ndarray) -> np.ndarray:
        return stationary_law(selector.mechanism(table[:, :-1], table[:, -1]))

    return stationary


@pytest.mark.deep
def test_the_stationary_law_keeps_its_epsilon_and_nearly_needs_it() -> None:
    space = ReplacedRow(4, np.full(7, -1.0), np.full(7, 1.0))
    found = worst_pair(law(1.0, 1), space, starts=2, rounds=2, seed=3)
    assert 0.6 < found.epsilon <= 1.0 + 1e-9
    pair = worst_pair(law(1.0, 2), ReplacedRow(3, np.full(5, -1.0), np.full(5, 1.0)), starts=1)
    assert 0.3 < pair.epsilon <= 1.0 + 1e-9
    without_the_two = largest(law(2.0, 1), found.data, found.other)
    assert without_the_two > 1.2


def largest(law_at: Any, data: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(np.subtract(law_at(data), law_at(other))).max())


def test_the_law_is_that_of_the_clipped_data() -> None:
    rng = np.random.default_rng(3)
    X, y = 3.0 * rng.normal(size=(30, 4)), 3.0 * rng.normal(size=30)
    selector = MCMCSelector(2, epsilon=4.0, x_bound=2.0, y_bound=1.5, coef_bound=0.4)
    mechanism = selector.mechanism(X, y)
    assert mechanism.sensitivity == pytest.approx((1.5 + 0.4 * 2.0) ** 2)
    supports = list(combinations(range(4), 2))
    values = np.array(
        [
            by_cvxpy(np.clip(X[:, support], -2.0, 2.0), np.clip(y, -1.5, 1.5), 0.4)
            for support in supports
        ]
    )
    weights = np.exp(-4.0 * (values - values.min()) / (2.0 * 2.3**2))
    np.testing.assert_allclose(
        stationary_law(mechanism), np.log(weights / weights.sum()), atol=1e-5
    )


def test_the_signal_is_found_and_single_precision_is_taken() -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, (500, 12)).astype(np.float32)
    y = 0.5 * X[:, 3] - 0.5 * X[:, 8] + 0.02 * rng.normal(size=500)
    selector = MCMCSelector(2, epsilon=50.0, n_steps=2000, random_state=0, **BOUNDS).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [3, 8]
    assert MCMCSelector(12, n_steps=1, **BOUNDS).fit(X, y).get_support().all()


EPSILON, DELTA = 1.0, 0.05
ROWS, COLUMNS = 5, 4
COUNTS = (1, 2)
# Tables reach beyond the bounds, as real ones do: clipping is part of what is audited.
SPACE = ReplacedRow(ROWS, lower=np.full(COLUMNS + 1, -1.5), upper=np.full(COLUMNS + 1, 1.5))

RIDGED: dict[str, float] = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 0.7, "ridge": 0.1}


def law_of_supports(selector: Any) -> Law:
    outcomes = list(combinations(range(COLUMNS), selector.n_features_to_select))

    def of(table: np.ndarray) -> np.ndarray:
        mechanism = clone(selector).mechanism(table[:, :-1], table[:, -1])
        return np.array([mechanism.log_probability(outcome) for outcome in outcomes])

    return of


@pytest.mark.parametrize("k", COUNTS)
@pytest.mark.parametrize("kind", [TopRSelector, ExponentialSelector])
def test_no_neighbours_lose_more_than_epsilon(kind: Any, k: int) -> None:
    selector = kind(k, epsilon=EPSILON, **RIDGED)
    worst = worst_pair(law_of_supports(selector), SPACE, starts=2, rounds=1)
    assert worst.pairs > 200
    assert 0.15 * EPSILON < worst.epsilon <= EPSILON * (1.0 + 1e-9)
