"""The Tukey mechanism: models of blocks, the shares of ε, and what is released."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mipselect.mechanisms.scores.depth import DepthLaw
from mipselect.mechanisms.scores.sample_aggregate import random_blocks
from mipselect.regression import TukeyRegressor
from mipselect.regression.tukey import block_model, block_models, on_integer_grid


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 1.0, 7.5])
def test_models_are_ridge_regression_whatever_the_units(intercept: bool, ridge: float) -> None:
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(9, 3)) + 2.0, rng.normal(size=9)
    centre, level = (X.mean(axis=0), y.mean()) if intercept else (np.zeros(3), 0.0)
    Z, units = X - centre, np.array([1e-9, 1.0, 1e12])
    penalty = ridge * np.diag((Z**2).mean(axis=0))
    expected = np.linalg.solve(Z.T @ Z + penalty, Z.T @ (y - level))
    if intercept:
        expected = np.append(expected, level - centre @ expected)
    found = block_model(X, y, np.ones(3), intercept, ridge)
    np.testing.assert_allclose(found, expected)
    scaled = block_model(X * units, y * 1e200, np.ones(3), intercept, ridge)
    scaled[:3] *= units
    np.testing.assert_allclose(scaled, expected * 1e200, rtol=1e-9)
    if ridge == 0.0:
        plain = np.column_stack([X, np.ones(9)]) if intercept else X
        np.testing.assert_allclose(found, np.linalg.lstsq(plain, y, rcond=None)[0])


def test_columns_that_are_constant_in_a_block_have_a_guess() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(9, 3)), rng.normal(size=9) + 5.0
    X[:, 2] = 3e7 / 7.0
    found = block_model(X, y, np.array([0.0, 0.0, -0.5]), True, 0.0)
    plain = np.linalg.lstsq(np.column_stack([X[:, :2], np.ones(9)]), y, rcond=None)[0]
    np.testing.assert_allclose(found[[0, 1, 3]], plain)
    assert found[2] == pytest.approx(-0.05 * y.std() / X[0, 2])
    level = block_model(np.zeros((4, 2)), y[:4], np.zeros(2), True, 1.0)
    np.testing.assert_allclose(level, [0.0, 0.0, y[:4].mean()])
    huge = block_model(
        np.full((3, 2), 1e308), np.array([1e308, -1e308, 0.0]), np.ones(2), True, 1.0
    )
    assert np.isfinite(huge).all()


def test_blocks_without_rows_have_zeros() -> None:
    rng = np.random.default_rng(7)
    X, y, guesses = rng.normal(size=(9, 3)), rng.normal(size=9), rng.normal(size=(4, 3))
    models = block_models(X, y, [[0, 1, 2, 3], [4, 5, 6], []], guesses, True, 1.0)
    np.testing.assert_allclose(models[0], block_model(X[:4], y[:4], guesses[0], True, 1.0))
    assert np.array_equal(models[2:], np.zeros((2, 4)))
    grid = on_integer_grid(np.array([[0.26, -7.0]]), np.array([1.0, 2.0]), np.array([0.1, 0.5]))
    assert grid.tolist() == [[3, -4]]


def test_a_column_that_is_rarely_not_zero_does_not_fail_the_test() -> None:
    """In many blocks it is constant: coefficients of 0 there would tie."""
    rng, n, m = np.random.default_rng(3), 16_000, 1600
    X = rng.normal(size=(n, 3))
    X[:, 2] = rng.random(n) < 0.05
    y = X @ [1.0, -1.0, 0.0] + 0.1 * rng.normal(size=n)
    blocks, guesses = random_blocks(n, m, n // m, random.Random(1)), rng.normal(size=(m, 3))
    distances = []
    for factor in (1.0, 0.0):
        models = block_models(X, y, blocks, factor * guesses, True, 1.0)
        grid = on_integer_grid(models, np.full(4, 2.0**26), np.full(4, 2.0**-34))
        distances.append(DepthLaw(grid, 0.1).distance(1e-6))
    assert distances[0] > 50
    assert distances[1] == -1


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_signal_is_found_without_bounds(relation: str) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(6000, 3)) * [1.0, 1000.0, 1e-3]
    y = X @ [2.0, 0.001, -500.0] + 30.0 + 0.1 * rng.normal(size=6000)
    model = TukeyRegressor(epsilon=2.0, delta=1e-5, relation=relation).fit(X, y)
    assert model.release_.private
    np.testing.assert_allclose(model.coef_, [2.0, 0.001, -500.0], rtol=0.1)
    assert model.score(X, y) > 0.98
    assert (model.guarantee_.epsilon, model.guarantee_.delta) == (2.0, 1e-5)
    constant = np.column_stack([X, np.full(6000, 3.0)])
    assert TukeyRegressor(epsilon=3.0, delta=1e-5).fit(constant, y).score(constant, y) > 0.98


@pytest.mark.parametrize("epsilon", [3.0, 20.0, 60.0, 1000.0])
def test_there_are_enough_blocks_whatever_epsilon_is(epsilon: float) -> None:
    """With 16 blocks, where so few would do by their noise, no distance is above 0."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(4000, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=4000)
    models = [TukeyRegressor(epsilon=epsilon, delta=1e-6).fit(X, y).release_ for _ in range(6)]
    assert sum(model.has_model for model in models) >= 4


def test_the_shares_of_epsilon() -> None:
    model = TukeyRegressor(epsilon=1.0, delta=1e-4, relation="add-remove")
    assert model._count_epsilon == pytest.approx(0.05)
    assert 2.0 * model._half + model._count_epsilon <= 1.0
    assert 2.0 * model._half == pytest.approx(0.95)


def test_where_the_test_fails_there_is_no_model() -> None:
    rng = np.random.default_rng(9)
    X, y = rng.uniform(-1.0, 1.0, (60, 2)), rng.uniform(-1.0, 1.0, 60)
    model = TukeyRegressor(epsilon=0.5).fit(X, y)
    assert not model.release_.has_model
    assert "no model" in str(model.release_)
    with pytest.raises(ValueError, match="no model was released"):
        model.predict(X)
    assert np.array_equal(model.coef_, np.zeros(2))


def test_the_number_of_blocks_costs_a_noisy_number_of_rows() -> None:
    source = random.Random(0)
    sure = TukeyRegressor(epsilon=1.0, delta=1e-5, block_size=10)
    assert sure._blocks(1234, 3, source, False) == (10, 123)
    noisy = TukeyRegressor(epsilon=20.0, delta=1e-5, block_size=10, relation="add-remove")
    counts = [noisy._blocks(1000, 3, source, False)[1] for _ in range(300)]
    assert len(set(counts)) > 1
    assert max(counts) <= 100
    height, count = TukeyRegressor(epsilon=1.0, delta=1e-5)._blocks(100_000, 4, source, False)
    assert height > 20
    assert count > 400
