from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipselect import top_supports
from mipselect.errors import SolverFailure
from mipselect.problem.instance import Instance
from mipselect.restricted.normal_equations import solve_normal_equations
from tests.soak.squared_values import (
    Rows,
    error_of,
    exact_value,
    hostile_rows,
    largest_loss,
)
from tests.support.designs import least_ridge, random_instance


def restricted_objective(instance: Instance, support: np.ndarray, coef: np.ndarray) -> float:
    residual = instance.y - instance.X[:, support] @ coef
    return float(residual @ residual + instance.ridge * coef @ coef) / (2 * instance.n)


@settings(max_examples=150)
@given(st.integers(0, 10**6))
def test_the_solution_satisfies_the_optimality_conditions(seed: int) -> None:
    """Convex problem: stationarity, feasibility and complementarity are proof enough."""
    instance = random_instance(seed)
    support = np.random.default_rng(seed).permutation(instance.p)[: instance.support_size]
    fit = instance.fit(support)
    X, r = instance.X[:, support], instance.coef_bound
    shrink = instance.ridge + fit.multiplier
    gradient = X.T @ (instance.y - X @ fit.coef) - shrink * fit.coef
    # In the metric of the problem: the step that the gradient still asks for.
    A = X.T @ X + shrink * np.eye(len(support))
    left = gradient @ np.linalg.solve(A, gradient)
    assert left <= 1e-11 * 2 * instance.n * fit.value
    assert np.linalg.norm(fit.coef) <= r * (1 + 1e-12)
    assert fit.multiplier >= 0.0
    if fit.multiplier > 0.0:
        assert np.linalg.norm(fit.coef) == pytest.approx(r, rel=1e-10)
    expected = restricted_objective(instance, support, fit.coef)
    assert fit.value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(60))
def test_values_of_hostile_columns_are_right_in_60_digits(seed: int) -> None:
    """`python -m tests.soak squared_values` does as many as asked for."""
    assert error_of(hostile_rows(np.random.default_rng(seed))) <= 1.0


@pytest.mark.parametrize("size", [1e-100, 1e-110, 1e-200])
def test_a_column_of_tiny_numbers_of_which_one_becomes_large(size: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 400)
    X = np.column_stack([size * y, rng.choice([-1.0, 1.0], (400, 3))])
    ridge = least_ridge(400, 1, 1.0)
    one = Rows(X, y, np.ones(400, dtype=int), 1, 1.0, 1.0, 0.1, ridge)
    assert largest_loss(one, one.with_row(np.append(1.0, X[0, 1:]), y[0]), 1.0) <= 1.0


@pytest.mark.parametrize("n", [40_000, 1_000_000])
def test_two_nearly_equal_columns_whose_difference_explains_the_target(n: int) -> None:
    z, v = 0.9 * np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])
    X = np.column_stack([z, z + 1e-8 * v, v / 2, [0.3, -0.6, 0.1, 0.7]])
    y = z + 0.01696453769011147 * v
    ridge = least_ridge(n, 2, 1.0)
    one = Rows(X, y, np.full(4, n // 4), 2, 1.0, 1.0, 1.0, ridge)
    assert largest_loss(one, one.with_row(X[0], -1.0), 1.0) <= 1.0
    assert error_of(one) <= 1.0


def test_a_certificate_of_nearly_equal_columns_is_true() -> None:
    z, v = 0.9 * np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])
    X, counts = np.column_stack([z, z + 3e-14 * v, v / 2]), np.full(4, 10)
    rows = Rows(X, z + 0.0165 * v, counts, 2, 1.0, 1.0, 1.0, least_ridge(40, 2, 1.0))
    pool = top_supports(rows.instance, 3)
    for support, value in zip(pool.supports, pool.values.tolist(), strict=True):
        exact = exact_value(rows.instance, counts, support)
        assert abs(value - exact) <= rows.instance.value_error


def test_a_multiplier_that_is_not_found_is_an_error() -> None:
    with np.errstate(all="ignore"), pytest.raises(SolverFailure, match="no multiplier"):
        solve_normal_equations(np.eye(2)[None], np.array([[1.0, np.nan]]), 1.0, 1.0)


@pytest.mark.parametrize("radius", [1e-9, 1e-3, 0.3, 0.69])
def test_the_multiplier_makes_the_norm_equal_to_the_radius(radius: float) -> None:
    rng = np.random.default_rng(3)
    root = rng.standard_normal((100, 4, 6))
    gram = root @ root.transpose(0, 2, 1)
    moment = 50.0 * rng.standard_normal((100, 4))
    coef, multiplier = solve_normal_equations(gram, moment, 0.1, radius)
    active = multiplier > 0.0
    assert active.mean() > 0.9
    assert np.linalg.norm(coef[active], axis=1) == pytest.approx(radius, rel=1e-12)
    stationary = np.einsum("mij,mj->mi", gram, coef) + (0.1 + multiplier)[:, None] * coef
    assert np.abs(stationary - moment).max() <= 1e-8 * np.abs(moment).max()


@pytest.mark.parametrize("n", [8_192, 100_000])
def test_values_of_many_equal_rows_are_within_the_stated_error(n: int) -> None:
    """All roundings of a sum are to one side: a hundredth of the bound would not do."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        kinds = int(rng.integers(1, 4))
        x = rng.uniform(-1, 1, kinds)
        y = x * rng.uniform(0.1, 1) if seed % 2 else rng.uniform(-1, 1, kinds)
        counts = np.diff([0, *np.sort(rng.integers(0, n, kinds - 1)), n])
        radius, ridge = 10.0 ** rng.uniform(-2, 6), n * 10.0 ** rng.uniform(-9, 0)
        y_bound = float(np.abs(y).max())
        rows = Rows(x[:, None], y, counts, 1, 1.0, y_bound, float(radius), float(ridge))
        assert error_of(rows) <= 1.0
