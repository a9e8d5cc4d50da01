"""H ⪰ D of features of several columns, in 60 digits, where what is left of G nearly vanishes."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from scipy.linalg import block_diag

from mipselect import Instance
from mipselect.losses.squared import PreparedSquared
from mipselect.search.least_squares.additions import Additions, additions_to
from mipselect.search.least_squares.measured_curvature import curvature_of

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
) -> tuple[Instance, Additions]:
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
    return instance, additions_to(problem, everything[:0], 1, everything, 0.0, None)


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


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("design", [near_copies, nearly_the_intercept, scales, copies])
@pytest.mark.parametrize("seed", range(2))
def test_no_direction_is_given_more_than_is_there(
    seed: int, design: Design, intercept: bool
) -> None:
    blocks = design(np.random.default_rng(seed))
    unit = float(np.abs(np.hstack(blocks)).max()) ** 2
    with mpmath.workdps(60):
        for ridge in unit * np.array([1e-9, 1e-6, 1e-3, 1.0]):
            instance, whole = whole_of(blocks, float(ridge), intercept=intercept)
            convexity = curvature_of(whole).at(whole)
            D = convexity.block(np.arange(instance.n_features))
            assert np.linalg.eigvalsh(D)[0] >= 0.999 * convexity.least > 0.4 * ridge
            H = left_of(instance, whole.ridge)
            assert dominates(H, D * (1.0 - 1e-12))


def test_directions_of_which_nothing_is_left_cost_the_others_next_to_nothing() -> None:
    """The indicators of a category add up to the intercept; κ of the other directions stays."""
    rng = np.random.default_rng(0)
    blocks = [np.eye(4)[rng.integers(0, 4, 400)], columns(rng, 3, 400), columns(rng, 2, 400)]
    _, whole = whole_of(blocks, 1.0, intercept=True)
    convexity = curvature_of(whole).at(whole)
    D, H = convexity.block(np.arange(3)), whole.dense()
    own = block_diag(*(H[some, some] for some in (slice(0, 4), slice(4, 7), slice(7, 9))))
    scaled = np.linalg.eigvalsh(np.linalg.solve(own, D))
    assert convexity.least > 0.999
    assert np.sort(scaled)[1] > 0.5
