"""Random designs that hurt, and brute force over all supports: the judge of every search."""

from __future__ import annotations

import itertools

import numpy as np

from mipselect.instance import Instance


def random_instance(seed: int, *, max_p: int = 9, max_s: int = 4) -> Instance:
    """A small problem: correlated, collinear, duplicated or constant columns, any norm bound."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, max_p + 1))
    s = int(rng.integers(1, min(max_s, p) + 1))
    n = int(rng.choice([1, 3, p, 20, 60]))
    rho = rng.choice([0.0, 0.3, 0.9])
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    kind = rng.integers(6)
    if kind == 1:
        X[:, -1] = X[:, 0]
    elif kind == 2:
        X[:, 0] = 0.3
    elif kind == 3:
        X[:, -1] = X[:, 0] + 1e-6 * rng.standard_normal(n)
    elif kind == 4:
        X = np.round(X)
    elif kind == 5:
        X[:, 1] = 0.0
    beta = np.where(np.arange(p) < s, rng.choice([0.0, 0.3, 1.0]), 0.0)
    y = X @ rng.permutation(beta) + rng.choice([0.0, 0.2, 1.0]) * rng.standard_normal(n)
    scale = float(rng.choice([1e-6, 1.0, 1e6]))
    return Instance(
        X * scale,
        y,
        support_size=s,
        x_bound=float(rng.choice([0.7, 3.0])) * scale,
        y_bound=float(rng.choice([0.5, 4.0])),
        coef_bound=float(rng.choice([0.05, 0.5, 1.5, 100.0])) / scale,
        ridge=float(rng.choice([1e-3, 1.0, 0.3 * n])) * scale**2,
    )


LOSSES = ["hinge", "huber(0.3)", "huber(2.0)", "quantile(0.5)", "quantile(0.9)"]


def random_loss_instance(seed: int, loss: str, *, max_p: int = 7, max_s: int = 3) -> Instance:
    """The same designs for another loss; for the hinge with classes that y's sign decides."""
    base = random_instance(seed, max_p=max_p, max_s=max_s)
    X, y = base.X, base.y
    if loss == "hinge":
        X, y = np.vstack([X, X[:1]]), np.where(y > 0.0, 1, 0)
        y = np.append(y, 1 - y[0])
    return Instance(
        X,
        y,
        support_size=base.support_size,
        x_bound=base.x_bound,
        y_bound=base.y_bound,
        coef_bound=base.coef_bound,
        ridge=base.ridge,
        loss=loss,
    )


def all_supports(instance: Instance) -> np.ndarray:
    return np.array(
        list(itertools.combinations(range(instance.p), instance.support_size)), dtype=np.intp
    )


def distances(supports: np.ndarray, center: np.ndarray) -> np.ndarray:
    return np.sum(~np.isin(supports, center), axis=1)
