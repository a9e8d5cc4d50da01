"""Least squares on a support against its conditions and 60 digits, and G by parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipselect import top_supports
from mipselect.errors import SolverFailure
from mipselect.problem.instance import Instance
from mipselect.restricted import columns as columns_module
from mipselect.restricted.columns import SUMMED_ROWS, Columns, looking
from mipselect.restricted.gram import MOVED, Gram, picked
from mipselect.restricted.normal_equations import solve_normal_equations
from tests.soak.squared_values import Rows, error_of, exact_value, hostile_rows, largest_loss
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


def data(seed: int, dtype: type) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((30, 12)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("held", [False, True])
def test_parts_of_it_are_its_parts(held: bool, dtype: type) -> None:
    X, rng = data(0, dtype), np.random.default_rng(1)
    gram, G = Gram(Columns(X)), X.astype(np.float64).T @ X.astype(np.float64)
    if held:
        gram.full()
    for _ in range(3):
        rows, columns = rng.permutation(12)[:4], rng.permutation(12)[:7]
        np.testing.assert_allclose(gram.rectangle(rows, columns), G[np.ix_(rows, columns)])
        np.testing.assert_allclose(gram.block(rows), G[np.ix_(rows, rows)])
        np.testing.assert_allclose(gram.columns(columns), G[:, columns])
        np.testing.assert_allclose(gram.entries(rows, 3), G[rows, 3])
        pairs = np.stack([rows, columns[:4]], axis=1)
        np.testing.assert_allclose(gram.blocks(pairs), [G[np.ix_(pair, pair)] for pair in pairs])


def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What products take for each row of X: multiplications, numbers read, numbers converted."""
    counts = {"multiplied": 0.0, "read": 0.0, "converted": 0.0}
    product = columns_module._summed

    def counting(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        counts["multiplied"] += A.shape[1] * B.shape[1]
        counts["read"] += A.shape[1] + B.shape[1]
        counts["converted"] += sum(M.shape[1] for M in (A, B) if M.dtype == np.float32)
        return product(A, B)

    monkeypatch.setattr(columns_module, "_summed", counting)
    return counts


def test_all_of_it_is_held_before_its_parts_are_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    p, rng = 400, np.random.default_rng(2)
    X = rng.standard_normal((20, p), dtype=np.float32)
    gram, counts = Gram(Columns(X)), counted(monkeypatch)
    whole, rounds = p * (0.5 * p + MOVED), 0
    while not gram.held:
        gram.rectangle(np.arange(4 * rounds, 4 * rounds + 4), np.arange(p // 2))
        rounds += 1
    work = counts["multiplied"] + MOVED * counts["read"]
    assert rounds > 1
    assert work <= 2.0 * (whole + 0.5 * p**2)
    assert counts["converted"] <= 3 * p


@pytest.mark.parametrize("n", [8000, 3 * SUMMED_ROWS])
def test_long_products_look_at_the_clock(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    X, looks, most = np.random.default_rng(3).standard_normal((n, 40)), 0, 2**17
    monkeypatch.setattr(columns_module, "BLOCK_WORK", most)

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise TimeoutError

    gram = Gram(Columns(X))
    with looking(look):
        with pytest.raises(TimeoutError):
            gram.full()
        assert not gram.held
        looks = 3
        np.testing.assert_allclose(gram.full(), X.T @ X, atol=1e-9)
    assert looks - 2 >= 0.5 * X.size * 40 / max(most, 40 * SUMMED_ROWS)
    gram.product(X)
    assert columns_module._look.get() is None


@pytest.mark.parametrize("width", [3, 70_000])
def test_rows_are_picked_before_columns(width: int) -> None:
    matrix = np.arange(5.0 * width).reshape(5, width)
    rows, columns = np.array([4, 0, 4, 2]), np.array([2, 0])
    assert (picked(matrix, rows, columns) == matrix[np.ix_(rows, columns)]).all()
