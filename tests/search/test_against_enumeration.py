"""Every search against brute force over all supports."""

from __future__ import annotations

import numpy as np
import pytest
from designs import DESIGNS, Design, all_supports, distances
from searches import ENDLESS, levels_by, supports_by

from mipselect.instance import Instance
from mipselect.search.least_squares.additions import Screening

SOLVERS = ["native", "highs"]


def check_pool(
    instance: Instance, pool_size: int | str, solver: str, tolerance: float, **tuned: object
) -> None:
    supports = all_supports(instance)
    values = instance.objectives(supports)
    pool = supports_by(instance, pool_size, solver, tolerance, **tuned)
    R = len(pool)
    assert len(np.unique(pool.supports, axis=0)) == R
    assert np.all(np.diff(pool.supports, axis=1) > 0)
    assert np.all(np.diff(pool.values) >= 0)
    assert instance.objectives(pool.supports) == pytest.approx(pool.values, rel=1e-9)
    assert pool.values == pytest.approx(np.sort(values)[:R], rel=1e-9)
    listed = np.array([pool.position(row) is not None for row in supports])
    assert listed.sum() == R
    assert pool.rest_bound <= np.min(values[~listed], initial=np.inf) * (1 + 1e-9)
    assert pool.rest_bound >= pool.values[-1] - tolerance * instance.sensitivity
    assert (pool.rest_bound == np.inf) == (len(values) == R)


def check_levels(instance: Instance, solver: str, tolerance: float, **tuned: object) -> None:
    supports = all_supports(instance)
    values = instance.objectives(supports)
    levels = levels_by(instance, solver, tolerance, **tuned)
    s = instance.support_size
    assert len(levels) == min(s, instance.n_features - s) + 1
    assert levels.values[0] == pytest.approx(values.min(), rel=1e-9)
    level_of = distances(supports, levels.supports[0])
    best = np.array([values[level_of == i].min() for i in range(len(levels))])
    assert levels.values == pytest.approx(best, rel=1e-9)
    assert np.all(levels.bounds <= best * (1 + 1e-9))
    assert np.all(levels.bounds >= levels.values - tolerance * instance.sensitivity)
    assert distances(levels.supports, levels.supports[0]).tolist() == list(range(len(levels)))
    assert instance.objectives(levels.supports) == pytest.approx(levels.values, rel=1e-9)
    if len(values) > 1:
        second = np.sort(values)[1]
        assert levels.gap <= second - levels.values[0] + 1e-9 * second
        assert levels.gap >= 0.0
    assert levels.sizes == tuple(np.bincount(level_of, minlength=len(levels)).tolist())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(0, 240, 8))
@pytest.mark.parametrize("design", DESIGNS)
def test_pools_and_levels(design: Design, solver: str, seed: int) -> None:
    for k in range(8):
        instance = design(seed + k, max_p=14)
        rng = np.random.default_rng(seed + k)
        C = instance.number_of_supports
        for pool_size in {1, int(rng.integers(1, C + 1)), C, "one-swap"}:
            check_pool(instance, pool_size, solver, float(rng.choice([0.0, 0.05])))
        check_levels(instance, solver, float(rng.choice([0.0, 0.05])))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(0, 60, 10))
@pytest.mark.parametrize("design", DESIGNS)
def test_bounds_alone(design: Design, solver: str, seed: int) -> None:
    """Without the shortcuts for few choices: division, the cheap shares and the masters decide."""
    settings = (
        {"patience": ENDLESS, "pairs": 2048},
        {"patience": 2, "screening": Screening(dense=0), "pairs": 3, "triples": 5, "columns": 4},
        {"patience": 2, "cheap": -1, "pairs": 3, "triples": 5, "columns": 4},
    )
    for k in range(10):
        instance = design(seed + k)
        R = max(1, instance.number_of_supports // 3)
        for tuned in settings:
            check_pool(instance, R, solver, 0.0, enumerated=0, **tuned)
            check_levels(instance, solver, 0.0, enumerated=0, **tuned)


@pytest.mark.parametrize("solver", SOLVERS)
def test_more_features_than_rows_and_large_pools(solver: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((8, 12))
    instance = Instance(
        X, X[:, 0] - X[:, 1], support_size=3, x_bound=2.0, y_bound=3.0, coef_bound=2.0, ridge=0.5
    )
    for pool_size in (5, 60, 219, 220):
        check_pool(instance, pool_size, solver, 0.0)
    check_levels(instance, solver, 0.0)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("support_size", [1, 5, 6])
def test_extreme_support_sizes(solver: str, support_size: int) -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((30, 6))
    instance = Instance(
        X, X @ np.arange(6), support_size=support_size,
        x_bound=2.0, y_bound=9.0, coef_bound=3.0, ridge=2.0,
    )  # fmt: skip
    check_pool(instance, "one-swap", solver, 0.05)
    check_levels(instance, solver, 0.05)


@pytest.mark.parametrize("solver", SOLVERS)
def test_many_ties(solver: str) -> None:
    """Four copies of each column: every value is shared by many supports."""
    rng = np.random.default_rng(11)
    X = np.repeat(rng.standard_normal((25, 3)), 4, axis=1)
    instance = Instance(
        X, X[:, 0] + X[:, 5], support_size=3, x_bound=2.0, y_bound=3.0, coef_bound=0.9, ridge=1.0
    )
    for pool_size in (1, 2, 29, 64, 65):
        check_pool(instance, pool_size, solver, 0.0)
    check_levels(instance, solver, 0.0)
