"""Searches on every back end against brute force, and against each other where it is too large."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mipselect.backends.discovery import solver_by_name
from mipselect.problem.instance import Instance
from mipselect.problem.stored import load_instance
from mipselect.search import mistake_levels
from tests.soak.certificates import Liar, check, grouped_problem, problem
from tests.support.back_ends import BY_PYOMO, back_ends
from tests.support.designs import (
    DESIGNS,
    Design,
    random_grouped_instance,
    with_loss,
)
from tests.support.searches import ENDLESS, check_search, levels_by

SLOW = ("cbc", "glpk", BY_PYOMO)
"""Each solve goes through Pyomo, or starts a process: fewer instances do."""


@pytest.fixture(params=back_ends())
def name(request: pytest.FixtureRequest) -> str:
    return request.param


MASTERS_ONLY = {"enumerated": 0, "patience": ENDLESS}
"""Small subproblems go to a master too, and it is not given up."""


def correlated(seed: int, p: int, s: int, n: int = 60) -> Instance:
    """Nearly pure noise on correlated columns: the bounds decide little, the masters much."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.49) * X[:, j]
    return Instance(
        X, X[:, 0] + 2.0 * rng.standard_normal(n), support_size=s,
        x_bound=2.0, y_bound=3.0, coef_bound=2.0, ridge=4.0,
    )  # fmt: skip


CORRELATED = correlated(1, p=11, s=3)


def grouped(base: Instance) -> Instance:
    """The same columns: features of one to three, one that is always in, an intercept."""
    groups = [[0, 1], [2], [3, 4, 5], [6], [7, 8], [9], *([j] for j in range(10, base.p - 1))]
    return Instance(
        base.X, base.y, support_size=base.support_size, x_bound=2.0, y_bound=3.0, coef_bound=2.0,
        ridge=4.0, groups=groups, always=[base.p - 1], intercept=True,
    )  # fmt: skip


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(4))
def test_small_instances_that_hurt(name: str, seed: int, design: Design) -> None:
    masters = 0
    for k in range(2 if name in SLOW else 12):
        tolerance = float(np.random.default_rng(k).choice([0.0, 0.05]))
        masters += check_search(design(100 * seed + k), name, tolerance, **MASTERS_ONLY)
    if name not in SLOW:
        assert masters > 0


def test_instances_that_need_many_cuts(name: str) -> None:
    for seed in range(1 if name in SLOW else 3):
        for instance in (correlated(seed, p=11, s=4), grouped(correlated(seed, p=15, s=4))):
            assert check_search(instance, name, 0.05, [20], **MASTERS_ONLY) > 0


@pytest.mark.parametrize("loss", ["huber(0.3)", "hinge"])
def test_grouped_instances_of_other_losses(name: str, loss: str) -> None:
    masters = 0
    for seed in range(1 if name in SLOW else 4):
        base = random_grouped_instance(seed + 20, max_p=6, max_s=3) if seed else grouped(CORRELATED)
        masters += check_search(with_loss(base, loss), name, 0.05, **MASTERS_ONLY)
    if name not in SLOW:
        assert masters > 0


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_the_paper_setting_with_a_hundred_features(name: str, tolerance: float) -> None:
    """All 75 million supports were enumerated once; the file says with which result."""
    instance = load_instance("paper-p100")
    levels = mistake_levels(instance, solver=name, tolerance=tolerance)
    known = mistake_levels(instance, solver="native", tolerance=0.0)
    slack = tolerance * instance.sensitivity
    assert levels.supports[0].tolist() == known.supports[0].tolist() == [1, 3, 5, 7, 9]
    assert np.all(levels.values >= known.values * (1 - 1e-9))
    assert np.all(levels.values <= known.values * (1 + 1e-9) + slack)
    assert np.all(levels.bounds <= known.values * (1 + 1e-9))
    assert levels.effort.masters > 0


def test_threads_and_seeds_reach_the_search(name: str) -> None:
    instance = correlated(5, p=9, s=3)
    solvers = [solver_by_name(name, threads=threads, seed=3) for threads in (1, 2)]
    found = [levels_by(instance, solver, 0.0, **MASTERS_ONLY) for solver in solvers]
    for levels in found:
        assert levels.values == pytest.approx(found[0].values, rel=1e-9)
        assert levels.effort.solver == name


def test_no_certificate_is_wrong(name: str) -> None:
    solver = solver_by_name(name, threads=1)
    for number in range(2):
        check(solver, 1, number, largest=38)
    assert check(solver, 1, 2, largest=38, make=grouped_problem) > 0


@pytest.mark.parametrize(("seed", "make"), [(1, problem), (2, grouped_problem)])
def test_a_back_end_that_lies_certifies_nothing_false(
    seed: int, make: Callable[..., Instance]
) -> None:
    """Of every master it says that nothing is left; each claim is then proven or disproved."""
    assert sum(check(Liar(), seed, number, largest=45, make=make) for number in range(20)) > 10
