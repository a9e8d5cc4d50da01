"""Random restricted problems that are meant to hurt, and what could not be proven of them.

A problem is one support of one data set.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from mipselect import Instance, MipselectError
from mipselect.problem.problem import LARGEST_RIDGE, SMALLEST_RIDGE
from mipselect.restricted.box_dual import PreparedBoxDual
from mipselect.validation import LARGEST_SCALE, SMALLEST_SCALE
from tests.support.designs import least_ridge

LOSSES = ("hinge", "huber", "quantile")
SUPPORTS = 8
"""Supports of every data set."""

Array = NDArray[np.float64]


def hostile_columns(rng: Generator, n: int, p: int) -> Array:
    """Gaussian, 0/1, rounded, heavy-tailed; some of them constant, zero, copies or sums."""
    X = rng.standard_normal((n, p))
    kinds = rng.integers(9, size=p) if rng.random() < 0.6 else np.full(p, rng.integers(9))
    for j, kind in enumerate(kinds):
        other = X[:, rng.integers(p)]
        if kind == 1:
            X[:, j] = X[:, j] > rng.choice([-1.0, 0.0, 2.0])
        elif kind == 2:
            X[:, j] = np.round(X[:, j])
        elif kind == 3:
            X[:, j] = rng.choice([0.0, 1.0, -0.3])
        elif kind == 4:
            X[:, j] = other
        elif kind == 5:
            X[:, j] = other + rng.choice([1e-3, 1e-7, 1e-12]) * X[:, j]
        elif kind == 6:
            X[:, j] = X @ rng.standard_normal(p)
        elif kind == 7:
            X[:, j] = rng.standard_cauchy(n)
    if rng.random() < 0.4:
        X *= 10.0 ** rng.uniform(-6.0, 3.0, p)
    return X * 10.0 ** rng.choice([-8.0, -3.0, 0.0, 0.0, 0.0, 4.0, 8.0])


def hostile_responses(rng: Generator, X: Array, labels: bool) -> Array:
    """Exactly linear, noisy, separable, constant or zero; two classes for the hinge loss."""
    n = len(X)
    scale = np.maximum(np.abs(X).max(axis=0), 1e-300)
    signal = (X / scale) @ rng.choice([0.0, 1.0, -1.0, 0.1], X.shape[1])
    y = signal + rng.choice([0.0, 0.0, 0.1, 1.0]) * rng.standard_normal(n)
    kind = rng.integers(6)
    if kind == 0:
        y = rng.standard_normal(n)
    elif kind == 1:
        y = np.full(n, rng.choice([0.0, 1.0, -0.7]))
    elif kind == 2:
        y = np.round(y)
    elif kind == 3:
        y = rng.standard_cauchy(n)
    if not labels:
        return np.asarray(y * 10.0 ** rng.choice([-6.0, 0.0, 0.0, 0.0, 5.0]))
    classes = np.where(y > rng.choice([np.median(y), 0.0]), 1.0, -1.0)
    if (classes == classes[0]).all():
        classes[rng.integers(n)] *= -1.0
    return np.asarray(classes)


def hostile_instance(rng: Generator, loss: str) -> Instance:
    n = int(
        rng.choice(
            [1, 2, 3, 5, 20, 100, 400, 2_000, 10_000], p=[0.1] * 5 + [0.25, 0.18, 0.05, 0.02]
        )
    )
    if loss == "hinge":
        n = max(n, 2)
    s = int(rng.integers(1, 9))
    p = s + int(rng.integers(0, 4))
    X = hostile_columns(rng, n, p)
    y = hostile_responses(rng, X, loss == "hinge")
    x_bound = float(max(np.abs(X).max(), 1e-30) * rng.choice([0.01, 0.5, 1.0, 1.0, 100.0]))
    x_bound = float(np.clip(x_bound, SMALLEST_SCALE, LARGEST_SCALE))
    y_bound = float(max(np.abs(y).max(), 1e-6) * rng.choice([0.1, 1.0, 10.0]))
    y_size = 1.0 if loss == "hinge" else y_bound
    radius = y_size / x_bound * 10.0 ** rng.choice([-6.0, -2.0, -1.0, 0.0, 0.0, 0.5, 2.0, 8.0])
    radius = float(np.clip(radius, SMALLEST_SCALE, LARGEST_SCALE))
    ridge = n * 10.0 ** rng.choice([-12.0, -6.0, -3.0, -1.0, 1.0]) * rng.choice([1.0, x_bound**2])
    least = least_ridge(n, s, x_bound)
    ridge = float(np.clip(max(ridge, least), SMALLEST_RIDGE, LARGEST_RIDGE))
    parameter = ""
    if loss == "quantile":
        parameter = f"({rng.choice([1e-9, 1e-3, 0.1, 0.5, 0.5, 0.75, 0.999, 1.0 - 1e-9])!s})"
    elif loss == "huber":
        parameter = f"({y_bound * 10.0 ** rng.choice([-8.0, -3.0, -1.0, 0.0, 4.0])!s})"
    return Instance(
        X, y, support_size=s, x_bound=x_bound, y_bound=y_bound, coef_bound=radius,
        ridge=ridge, loss=loss + parameter,
    )  # fmt: skip


def failures_of(loss: str, seed: int) -> list[str]:
    """What could not be solved, or has a larger gap than is allowed, of one data set."""
    rng = np.random.default_rng(seed)
    instance = hostile_instance(rng, loss)
    problem = instance.prepared
    assert isinstance(problem, PreparedBoxDual)
    rows = [rng.permutation(instance.p)[: instance.support_size] for _ in range(SUPPORTS)]
    found = []
    for supports in np.array(rows)[None] if instance.n > 1 else np.array(rows)[:, None]:
        try:
            with np.errstate(all="raise", under="ignore"):
                solutions = problem.solved(np.sort(supports, axis=1))
                worst = float(np.max(solutions.gaps)) / (instance.n * instance.value_error)
            if not (np.isfinite(solutions.values).all() and worst <= 1.0):
                found.append(f"{loss}, seed {seed}: {instance}: gap {worst:.2g}")
        except (MipselectError, ArithmeticError, np.linalg.LinAlgError, RuntimeWarning) as error:
            found.append(f"{loss}, seed {seed}: {instance}: {error}")
    return found


def failures(seed: int) -> list[str]:
    return [line for loss in LOSSES for line in failures_of(loss, seed)]
