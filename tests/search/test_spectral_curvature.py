"""E ⪯ G + aI in 60 digits, also where columns that are always in leave nothing but rounding."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from mipselect import Instance
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.least_squares.children import children_of
from mipselect.search.least_squares.measured_curvature import spectral_curvatures
from mipselect.search.least_squares.node import SquaredNode, squared_node
from tests.support.designs import all_supports, least_ridge
from tests.support.searches import levels_by, supports_by

RNG = np.random.default_rng(4)
DESIGNS = {
    "zeros": np.zeros((3, 9)),
    "one row": np.ones((1, 9)),
    "two rows": RNG.uniform(-1.0, 1.0, (2, 9)),
    "three rows": RNG.uniform(-1.0, 1.0, (3, 9)),
    "constants": np.full((4, 9), 0.5),
    "copies": np.repeat(RNG.uniform(-1.0, 1.0, (20, 3)), 3, axis=1),
    "near copies": np.repeat(RNG.uniform(-1.0, 1.0, (20, 3)), 3, axis=1)
    + 1e-9 * RNG.standard_normal((20, 9)),
    "one that is not zero": np.eye(9)[:, :1] * np.eye(9)[0],
}
RIDGES = [*10.0 ** -np.arange(0.0, 11.0, 2.0), least_ridge(20, 8, 1.0)]


def instance_of(X: np.ndarray, always: int, ridge: float) -> Instance:
    return Instance(
        X, np.linspace(1.0, 0.5, len(X)), support_size=5, x_bound=1.0, y_bound=1.0, coef_bound=1.0,
        ridge=ridge, always=list(range(always)) or None, intercept=always > 0,
    )  # fmt: skip


def additions(instance: Instance, base: np.ndarray, size: int) -> SquaredNode:
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    others = np.setdiff1d(np.arange(problem.features.count), base)
    return squared_node(problem, base, size, others, 0.0, None)


@pytest.mark.parametrize("always", [0, 2])
@pytest.mark.parametrize("design", DESIGNS)
def test_a_spectrum_of_rounding_is_none(design: str, always: int) -> None:
    """Whatever is found is at most what is there, and leaves every base a Cholesky factor."""
    for ridge in RIDGES:
        instance = instance_of(DESIGNS[design], always, float(ridge))
        whole = additions(instance, np.empty(0, dtype=np.intp), 1)
        for curvature in spectral_curvatures(whole):
            slack = float(curvature.slack)
            assert np.linalg.eigvalsh(curvature.E)[0] >= -slack
            assert least_eigenvalue(left_of(instance), curvature.E) >= -slack
            for base in ([], [0], [0, 1, 2]):
                sub = additions(instance, np.array(base, dtype=np.intp), 5 - len(base))
                order = np.arange(len(sub.live))
                assert np.isfinite(curvature.at(sub).D).all()
                assert np.isfinite(curvature.of_children(children_of(sub, order, 0, 3)).D).all()


def left_of(instance: Instance) -> mpmath.matrix:
    """What the columns that are always in leave of G, from the rows in 60 digits."""
    with mpmath.workdps(60):
        X = instance.X
        count = X.shape[1] - instance.n_features
        keep = list(range(count, X.shape[1]))
        fixed = list(range(count)) + ([X.shape[1]] if instance.intercept else [])
        rows = mpmath.matrix(np.hstack([X, np.ones((len(X), 1))])[:, keep + fixed].tolist())
        A, k = rows.T * rows, len(keep)
        for j in range(k, len(keep + fixed)):
            A[j, j] += mpmath.mpf(instance.ridge)
        if not fixed:
            return A
        return A[:k, :k] - A[:k, k:] * mpmath.inverse(A[k:, k:]) * A[k:, :k]


def least_eigenvalue(G: mpmath.matrix, E: np.ndarray) -> float:
    with mpmath.workdps(60):
        return float(min(mpmath.eigsy(G - mpmath.matrix(E.tolist()), eigvals_only=True)))


@pytest.mark.parametrize("design", DESIGNS)
def test_searches_that_measure_curvature_at_once_are_right(design: str) -> None:
    for always in (0, 2):
        for ridge in (1.0, 1e-6, 1e-9):
            solver = "native" if ridge != 1e-6 else "highs"
            instance = instance_of(DESIGNS[design], always, ridge)
            with np.errstate(all="ignore"):
                values = np.sort(instance.objectives(all_supports(instance)))
                pool = supports_by(instance, 4, solver, cheap=0)
                levels = levels_by(instance, solver, cheap=0)
            rounding = 1e-9 * instance.sensitivity
            assert pool.certified
            assert levels.certified
            assert np.all(pool.values <= values[:4] + pool.allowance + rounding)
            assert pool.rest_bound <= values[4] + rounding
            assert levels.values[0] <= values[0] + rounding
