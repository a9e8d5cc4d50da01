"""Every search against brute force over all supports."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.problem.instance import Instance
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import Screening
from tests.support.brute_force import SOLVERS, check_levels, check_pool
from tests.support.designs import DESIGNS, Design
from tests.support.searches import ENDLESS

CLOSED = (Strategy.PAIRS, Strategy.TRIPLES)


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


@pytest.mark.deep
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(0, 60, 10))
@pytest.mark.parametrize("design", DESIGNS)
def test_bounds_alone(design: Design, solver: str, seed: int) -> None:
    """Without the shortcuts for few choices: division, the cheap shares and the masters decide."""
    settings = (
        {"patience": ENDLESS},
        {"patience": 2, "screening": Screening(dense=0), "without": CLOSED, "columns": 4},
        {"patience": 2, "cheap": -1, "without": CLOSED, "columns": 4},
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
