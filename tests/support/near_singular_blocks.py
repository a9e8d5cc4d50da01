"""Features of several columns of which, beside one another, next to nothing is left."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np

from mipselect import Instance
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.least_squares.node import SquaredNode, squared_node

Design = Callable[[np.random.Generator], list[np.ndarray]]


def columns(rng: np.random.Generator, count: int, n: int = 128) -> np.ndarray:
    return rng.choice([-1.0, 1.0], (n, count))


def near_copies(rng: np.random.Generator) -> list[np.ndarray]:
    """Copies at 1e-6, that is 1e-12 of G, whose difference is another feature."""
    X, moved = columns(rng, 3), columns(rng, 3)
    return [
        np.column_stack([X[:, 0], X[:, 0] + 1e-6 * moved[:, 0], X[:, 1]]),
        np.column_stack([moved[:, 0], X[:, 2]]),
        columns(rng, 2),
    ]


def nearly_the_intercept(rng: np.random.Generator) -> list[np.ndarray]:
    """Indicators of a category that all rows but a part of 1e-6 add up to."""
    left = columns(rng, 2)
    indicators = np.eye(4)[rng.integers(0, 4, len(left))]
    indicators[:, 0] += 1e-6 * left[:, 0]
    return [indicators, left, columns(rng, 3)]


def scales(rng: np.random.Generator) -> list[np.ndarray]:
    """Columns of sizes 1e-8 to 1e8 in one feature, mixed with those of another."""
    X = columns(rng, 8)
    X[:, 4:] = 0.7 * X[:, :4] + 0.3 * X[:, 4:]
    sizes = 10.0 ** np.array([-8.0, -3.0, 3.0, 8.0])
    return [X[:, :4] * sizes, X[:, 4:] * sizes[::-1], columns(rng, 2)]


def copies(rng: np.random.Generator) -> list[np.ndarray]:
    """Near-copies at 1e-12 across features and inside of one."""
    X = columns(rng, 4)
    moved = 1e-12 * columns(rng, 4)
    return [X[:, :2], np.column_stack([X[:, 0], X[:, 0]]) + moved[:, :2], X[:, 2:] + moved[:, 2:]]


def whole_of(
    blocks: list[np.ndarray], ridge: float, *, intercept: bool
) -> tuple[Instance, SquaredNode]:
    X = np.hstack(blocks)
    ends = np.cumsum([block.shape[1] for block in blocks])
    largest = 3.0 * float(np.abs(X).max())
    instance = Instance(
        X, X[:, 0] / largest, support_size=2, x_bound=largest, y_bound=1.0, coef_bound=1.0,
        ridge=ridge, groups=np.split(np.arange(X.shape[1]), ends[:-1]), intercept=intercept,
    )  # fmt: skip
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    everything = np.arange(problem.features.count)
    return instance, squared_node(problem, everything[:0], 1, everything, 0.0, None)


def left_of(instance: Instance, ridge: float) -> mpmath.matrix:
    """G + ρI on the columns of features, less what an intercept takes from it, from the rows."""
    X = instance.X
    if instance.intercept:
        X = np.hstack([X, np.ones((len(X), 1))])
    rows = mpmath.matrix(X.tolist())
    A = rows.T * rows + ridge * mpmath.eye(X.shape[1])
    p = instance.p
    H = A[:p, :p]
    return H - A[:p, p:] * A[p:, :p] / A[p, p] if instance.intercept else H


def dominates(H: mpmath.matrix, D: np.ndarray) -> bool:
    """Whether H ⪰ D, by the pivots of a Cholesky factorisation."""
    left, size = H - mpmath.matrix(D.tolist()), len(D)
    for k in range(size):
        if left[k, k] <= 0:
            return False
        for j in range(k + 1, size):
            factor = left[j, k] / left[k, k]
            for i in range(k + 1, size):
                left[j, i] -= factor * left[k, i]
    return True
