"""Objective perturbation is private for the minimiser: what is left of the gradient is no noise."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from mipselect.regression import (
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    objective_perturbation,
)
from mipselect.regression.noise import product_laplace
from mipselect.regression.rows import Balls

Table = np.ndarray


def hinge_slopes(width: float, y: Table, u: Table) -> Table:
    return -y * np.clip((1.0 + width - y * u) / (2.0 * width), 0.0, 1.0)


def huber_slopes(threshold: float, y: Table, u: Table) -> Table:
    return np.clip(u - y, -threshold, threshold)


def logistic_slopes(y: Table, u: Table) -> Table:
    return -y / (1.0 + np.exp(y * u))


def left_over(monkeypatch: pytest.MonkeyPatch, model: Any, X: Table, y: Table, slopes: Any) -> Any:
    """Fit, and return what is left of the gradient at the minimiser, in units of the noise.

    By so much the noise that leads there exactly differs from the one that was drawn, so by so
    many nats a probability may differ from what it should be.
    """
    drawn: list[tuple[Balls, Table]] = []

    def recorded(source: random.Random, balls: Balls, scale: float) -> Table:
        drawn.append((balls, product_laplace(source, balls, scale)))
        return drawn[-1][1]

    monkeypatch.setattr(objective_perturbation, "product_laplace", recorded)
    monkeypatch.setattr(objective_perturbation, "STEPS", 2.0**200)  # No cell hides it.
    released = model.fit(X, y).release_
    ((balls, noise),) = drawn
    theta = np.append(released.coefficients, released.intercept)
    rows = np.column_stack([X, np.ones(len(X))])
    gradient = rows.T @ slopes(y, rows @ theta) + released.bounds["ridge"] * theta + noise
    radius = released.bounds["coef_bound"]
    if np.linalg.norm(theta) >= radius * (1.0 - 1e-12):
        gradient += max(0.0, -(gradient @ theta) / radius**2) * theta
    return float(balls.norms(gradient[None])[0]) / released.bounds["noise_scale"]


@pytest.mark.parametrize("seed", range(6))
def test_a_narrow_hinge(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng, width = np.random.default_rng(seed), 1e-5
    X = np.clip(rng.normal(size=(52, 5)), -1.0, 1.0)
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    model = ObjectivePerturbationClassifier(
        epsilon=20.0, x_bound=1.0, loss=f"smoothed-hinge({width!r})", relation="add-remove",
        ridge=1e-3, coef_bound=4.2, random_state=seed,
    )  # fmt: skip
    left = left_over(monkeypatch, model, X, y, lambda y, u: hinge_slopes(width, y, u))
    assert left <= 1e-4


@pytest.mark.parametrize("seed", range(6))
def test_a_narrow_part_of_huber(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng, threshold = np.random.default_rng(seed), 1e-5
    X = 0.05 * np.clip(rng.normal(size=(400, 2)), -1.0, 1.0)
    y = rng.normal(size=400)
    model = ObjectivePerturbationRegressor(
        epsilon=20.0, x_bound=0.05, y_bound=1.0, loss=f"huber({threshold!r})",
        relation="add-remove", coef_bound=2.0, random_state=seed,
    )  # fmt: skip
    left = left_over(monkeypatch, model, X, y, lambda y, u: huber_slopes(threshold, y, u))
    assert left <= 1e-4


@pytest.mark.parametrize("seed", range(6))
def test_columns_of_very_different_units(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng, bounds = np.random.default_rng(seed), [1e-9, 1e-3, 1.0, 1e6]
    X = rng.uniform(-1.0, 1.0, (400, 4)) * bounds
    y = np.where(X[:, 0] / bounds[0] + rng.normal(size=400) > 0.0, 1.0, -1.0)
    model = ObjectivePerturbationClassifier(epsilon=8.0, x_bound=bounds, random_state=seed)
    left = left_over(monkeypatch, model, X, y, logistic_slopes)
    assert left <= 1e-4
