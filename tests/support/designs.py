"""Random designs that hurt, and brute force over all supports: the judge of every search."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from mipselect.losses import Loss, checked_loss
from mipselect.losses.base import wants_classes
from mipselect.problem.instance import Instance
from mipselect.problem.problem import LEAST_RIDGE


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


Design = Callable[[int], Instance]


def random_grouped_instance(seed: int, *, max_p: int = 9, max_s: int = 4) -> Instance:
    """Features of one to six columns, indicators and hostile columns among them.

    Some columns are always in, mostly with an intercept, and every feature has its own bound.
    """
    rng = np.random.default_rng([seed, 1])
    p = int(rng.integers(2, max_p + 1))
    widths = rng.integers(1, 7, p) if rng.random() < 0.8 else np.ones(p, dtype=int)
    base = random_instance(seed, max_p=max_p)
    n, unit = base.n, float(np.abs(base.X).max()) or 1.0
    blocks = []
    for width in widths:
        block = base.X[:, rng.integers(0, base.p, width)]
        if width > 2 and rng.random() < 0.5:
            block = unit * np.eye(width + 1)[rng.integers(0, width + 1, n)][:, :width]
        elif rng.random() < 0.7:
            block = block + unit * rng.standard_normal((n, width))
        blocks.append(block)
    if p > 2 and rng.random() < 0.3:
        blocks[-1] = blocks[0]
    always = int(rng.integers(0, 3))
    X = np.hstack([*blocks, unit * rng.standard_normal((n, always))])
    order = rng.permutation(X.shape[1])
    place = np.argsort(order).tolist()
    ends = np.cumsum([block.shape[1] for block in blocks]).tolist()
    starts = [0, *ends[:-1]]
    return Instance(
        X[:, order],
        base.y,
        support_size=int(rng.integers(1, min(max_s, p) + 1)),
        x_bound=(unit * rng.choice([0.3, 1.0, 3.0], p)).tolist(),
        y_bound=base.y_bound,
        coef_bound=base.coef_bound,
        ridge=base.ridge,
        groups=[place[start:end] for start, end in zip(starts, ends, strict=True)],
        always=place[ends[-1] :],
        # Ones beside columns of another scale and their ridge leave no digits to compare.
        intercept=bool(rng.random() < 0.7) and 0.1 < unit < 10.0,
    )


def random_block_instance(seed: int, *, max_p: int = 9, max_s: int = 4) -> Instance:
    """Blocks of rows of the same designs, of two to five rows and one to four partitions."""
    rng = np.random.default_rng([seed, 2])
    base = (random_instance if seed % 2 else random_grouped_instance)(
        seed, max_p=max_p, max_s=max_s
    )
    rows = int(rng.choice([2, 2, 3, 5]))
    times = -(-rows // base.n)
    radius, ridge = rng.choice([0.05, 0.5, 100.0]), rng.choice([1e-3, 1.0, 0.3 * base.n])
    stated = rng.random() < 0.5
    return Instance.from_blocks(
        np.tile(base.X, (times, 1)),
        np.tile(base.y, times),
        support_size=base.support_size,
        block_rows=rows,
        partitions=int(rng.choice([1, 3, 4])),
        partition_seed=seed,
        groups=base.layout.groups,
        always=base.layout.always,
        coef_bound=float(radius) if stated else None,
        ridge=float(ridge) if stated else None,
    )


def provable(instance: Instance, tolerance: float) -> float:
    """The tolerance, or what values from sums, known up to 1e-11 Δ or so, let be proven."""
    return tolerance if instance.data.has_rows else max(tolerance, 1e-9)


DESIGNS: list[Design] = [random_instance, random_grouped_instance, random_block_instance]


_RNG = np.random.default_rng(1)
SINGULAR: dict[str, np.ndarray] = {
    "zeros": np.zeros((3, 7)),
    "one row": np.ones((1, 7)),
    "constants": np.full((4, 7), 0.5),
    "copies": np.repeat(np.linspace(-1.0, 1.0, 9)[:, None], 7, axis=1),
    "rank two": np.vander(np.linspace(0.1, 1.0, 7), 2) @ np.vander(np.linspace(-1.0, 1.0, 7), 2).T,
    "near copies": np.repeat(_RNG.uniform(-1.0, 1.0, (20, 1)), 7, axis=1)
    + 1e-9 * _RNG.standard_normal((20, 7)),
    "three rows": _RNG.uniform(-1.0, 1.0, (3, 7)),
    "as many rows as columns": _RNG.uniform(-1.0, 1.0, (7, 7)),
    "scales": _RNG.uniform(-1.0, 1.0, (9, 7)) * 10.0 ** -np.arange(0, 42, 6),
    "one that is not zero": np.eye(7)[:, :1] * np.eye(7)[0],
}
"""Columns without a rank, or nearly so."""


def of_singular(design: str, support_size: int, ridge: float, always: int = 0) -> Instance:
    """A problem of one of these, whose first columns may always be in, with an intercept then."""
    X = SINGULAR[design]
    return Instance(
        X, np.linspace(1.0, 0.5, len(X)), support_size=support_size, x_bound=1.0, y_bound=1.0,
        coef_bound=1.0, ridge=ridge, always=list(range(always)) or None, intercept=always > 0,
    )  # fmt: skip


def of_classes(loss: str | Loss) -> bool:
    return wants_classes(checked_loss(loss))


def with_loss(base: Instance, loss: str | Loss, dtype: type | None = None) -> Instance:
    """The same problem with another loss; its classes, if it is of classes, by the sign of y."""
    X, y = base.X if dtype is None else base.X.astype(dtype), base.y
    if of_classes(loss):
        X, y = np.vstack([X, X[:1]]), np.where(y > 0.0, 1, 0)
        y = np.append(y, 1 - y[0])
    return Instance(
        X,
        y,
        support_size=base.support_size,
        x_bound=base.layout.bounds.tolist(),
        y_bound=base.y_bound,
        coef_bound=base.coef_bound,
        ridge=base.ridge,
        loss=loss,
        groups=base.layout.groups,
        always=base.layout.always,
        intercept=base.layout.intercept,
    )


LOSSES = ["hinge", "huber(0.3)", "huber(2.0)", "quantile(0.5)", "quantile(0.9)"]


def random_loss_instance(
    seed: int, loss: str | Loss, *, max_p: int = 7, max_s: int = 3
) -> Instance:
    """The same designs for another loss."""
    return with_loss(random_instance(seed, max_p=max_p, max_s=max_s), loss)


def all_supports(instance: Instance) -> np.ndarray:
    return np.array(
        list(itertools.combinations(range(instance.n_features), instance.support_size)),
        dtype=np.intp,
    )


def distances(supports: np.ndarray, center: np.ndarray) -> np.ndarray:
    return np.sum(~np.isin(supports, center), axis=1)


def least_ridge(n: int, s: int, x_bound: float) -> float:
    """A ridge just above the least one of n rows and s columns without an intercept."""
    return float(np.nextafter(LEAST_RIDGE * n * s * x_bound**2, np.inf)) * (1.0 + 1e-12)


def columns_of_every_scale(
    seed: int, dtype: type
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """X with zeros and a copy, |XᵀX| in long double, some candidates, and how many tops to ask."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 60)), int(rng.integers(3, 25))
    orders = 15 if dtype is np.float32 else 25
    X = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-orders, orders, p)
    X[:, rng.integers(p)] = 0.0
    X[:, rng.integers(p)] = X[:, rng.integers(p)]
    X = X.astype(dtype)
    wide = X.astype(np.longdouble)
    G = np.abs(wide.T @ wide)
    candidates = np.sort(rng.choice(p, int(rng.integers(2, p + 1)), replace=False))
    return X, G, candidates, int(rng.integers(1, len(candidates)))
