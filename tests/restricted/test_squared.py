from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipselect.problem.instance import Instance
from mipselect.restricted.gram import Gram
from mipselect.restricted.normal_equations import solve_normal_equations
from mipselect.restricted.squared import PreparedSquared
from tests.support.designs import all_supports, random_instance


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


@pytest.mark.parametrize("seed", range(40))
def test_batches_agree_with_single_fits(seed: int) -> None:
    instance = random_instance(seed)
    supports = all_supports(instance)[:200]
    single = [instance.fit(row).value for row in supports]
    assert instance.objectives(supports) == pytest.approx(single, rel=1e-12)


def test_few_supports_of_many_features_need_no_block_of_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At p = 22,000 that block takes longer to form than most searches, and 4 GB."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, (20, 3000)), rng.uniform(-1.0, 1.0, 20)
    instance = Instance(X, y, support_size=3, x_bound=1, y_bound=1, coef_bound=1, ridge=1)
    supports = np.sort(rng.permutation(3000).reshape(-1, 3), axis=1)
    single = [instance.fit(row).value for row in supports[::50]]
    formed: list[int] = []
    block = Gram.block
    monkeypatch.setattr(
        Gram, "block", lambda self, some: formed.append(len(some)) or block(self, some)
    )
    assert instance.objectives(supports)[::50] == pytest.approx(single, rel=1e-12)
    assert not formed


@pytest.mark.parametrize("seed", range(40))
def test_one_swap_neighbours_agree_with_single_fits(seed: int) -> None:
    instance = random_instance(seed)
    base = np.arange(instance.support_size - 1)
    additions = np.arange(instance.support_size - 1, instance.p)
    prepared = instance.prepared
    assert isinstance(prepared, PreparedSquared)
    values = prepared.values_of_additions(base, additions)
    single = [instance.fit(np.append(base, j)).value for j in additions]
    assert values == pytest.approx(single, rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_tiny_residuals_keep_their_relative_precision(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 3))
    coef = np.array([0.5, -0.25, 0.125])
    instance = Instance(
        X, X @ coef + 1e-7 * rng.standard_normal(50),
        support_size=3, x_bound=9.0, y_bound=9.0, coef_bound=5.0, ridge=1e-12,
    )  # fmt: skip
    coef, (residual,), *_ = np.linalg.lstsq(X, instance.y, rcond=None)
    exact = (residual + instance.ridge * coef @ coef) / 100
    assert instance.objective([0, 1, 2]) == pytest.approx(exact, rel=1e-6, abs=0.0)
    assert exact < 2e-14


def test_one_swap_neighbours_keep_it_too() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 4))
    y = X[:, :3] @ np.array([0.5, -0.25, 0.125]) + 1e-7 * rng.standard_normal(50)
    bounds = {"x_bound": 9.0, "y_bound": 9.0, "coef_bound": 5.0, "ridge": 1e-8}
    prepared = Instance(X, y, support_size=3, **bounds).prepared
    assert isinstance(prepared, PreparedSquared)
    values = prepared.values_of_additions(np.array([0, 1]), np.array([2, 3]))
    single = [prepared.fit(np.array([0, 1, j])).value for j in (2, 3)]
    assert values == pytest.approx(single, rel=1e-10, abs=0.0)
    assert values[0] < 1e-10


def test_no_ridge_and_a_singular_gram_matrix_give_the_shortest_solution() -> None:
    gram = np.ones((1, 2, 2)) * 4.0
    coef, multiplier = solve_normal_equations(gram, np.array([[4.0, 4.0]]), 0.0, 10.0)
    assert coef[0] == pytest.approx([0.5, 0.5])
    assert multiplier[0] == 0.0
    coef, multiplier = solve_normal_equations(gram, np.array([[4.0, 4.0]]), 0.0, 0.5)
    assert np.linalg.norm(coef[0]) == pytest.approx(0.5)
    assert multiplier[0] > 0.0


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


@pytest.mark.parametrize("seed", range(20))
def test_values_are_within_the_public_rounding_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 50, 3_000]))
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4)
    y = rng.choice([1.0, 1e-9]) * rng.standard_normal(n) + x / np.abs(x).max()
    instance = Instance(
        x[:, None], y, support_size=1, x_bound=float(np.abs(x).max()),
        y_bound=float(np.abs(y).max()), coef_bound=10.0 ** rng.integers(-4, 5),
        ridge=n * 10.0 ** rng.integers(-9, 1),
    )  # fmt: skip
    clipped = zip(instance.X[:, 0].tolist(), instance.y.tolist(), strict=True)
    rows = [(Fraction(a), Fraction(b)) for a, b in clipped]
    ridge, radius = Fraction(instance.ridge), Fraction(instance.coef_bound)
    curvature, slope = sum(a * a for a, _ in rows) + ridge, sum(a * b for a, b in rows)
    coef = max(-radius, min(radius, slope / curvature))
    exact = sum(b * b for _, b in rows) - 2 * coef * slope + coef * coef * curvature
    error = abs(Fraction(instance.objective([0])) - exact / (2 * n))
    assert float(error) <= instance.value_error <= 1e-8 * instance.sensitivity


@pytest.mark.parametrize("n", [8_192, 100_000])
def test_values_of_many_equal_rows_are_within_it_too(n: int) -> None:
    """All roundings of a sum are to one side: a hundredth of the bound would not do."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        kinds = int(rng.integers(1, 4))
        x = rng.uniform(-1, 1, kinds)
        y = x * rng.uniform(0.1, 1) if seed % 2 else rng.uniform(-1, 1, kinds)
        counts = np.diff([0, *np.sort(rng.integers(0, n, kinds - 1)), n])
        instance = Instance(
            np.repeat(x, counts)[:, None], np.repeat(y, counts), support_size=1, x_bound=1.0,
            y_bound=float(np.abs(y).max()), coef_bound=float(10.0 ** rng.uniform(-2, 6)),
            ridge=float(n * 10.0 ** rng.uniform(-9, 0)),
        )  # fmt: skip
        rows = [(Fraction(a), Fraction(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        many = list(zip(rows, counts.tolist(), strict=True))
        curvature = sum(k * a * a for (a, _), k in many) + Fraction(instance.ridge)
        slope, radius = sum(k * a * b for (a, b), k in many), Fraction(instance.coef_bound)
        coef = max(-radius, min(radius, slope / curvature))
        exact = sum(k * b * b for (_, b), k in many) - 2 * coef * slope + coef**2 * curvature
        error = abs(Fraction(instance.objective([0])) - exact / (2 * n))
        assert float(error) <= instance.value_error
