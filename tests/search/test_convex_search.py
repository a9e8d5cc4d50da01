"""The search by Fenchel bounds against brute force, for every loss."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

from mipselect import NotCertified, mistake_levels, top_supports
from mipselect.problem.instance import Instance
from mipselect.restricted.fenchel import FenchelLoss
from mipselect.search.convex import node
from mipselect.search.convex.cuts import fenchel_cut
from mipselect.search.convex.method import ConvexNeighbourhood
from mipselect.search.neighbourhood import Engine
from mipselect.search.progress import Run
from tests.support.brute_force import SOLVERS, check_levels, check_pool
from tests.support.by_cvxpy import value_by_cvxpy
from tests.support.designs import (
    LOSSES,
    all_supports,
    distances,
    of_classes,
    random_grouped_instance,
    random_loss_instance,
    with_loss,
)
from tests.support.searches import ENDLESS, levels_by, run_of


@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_pool_and_levels_by_an_independent_solver(loss: str) -> None:
    rng = np.random.default_rng(17)
    X = rng.standard_normal((40, 6))
    y = X[:, 0] - 0.5 * X[:, 3] + 0.3 * rng.standard_normal(40)
    instance = Instance(
        X, np.sign(y) if of_classes(loss) else y, support_size=2, x_bound=2.0, y_bound=1.5,
        coef_bound=0.9, ridge=3.0, loss=loss,
    )  # fmt: skip
    supports = all_supports(instance)
    values = np.array([value_by_cvxpy(instance, support) for support in supports])
    pool = top_supports(instance, 7)
    assert pool.values == pytest.approx(np.sort(values)[:7], rel=1e-7)
    assert pool.rest_bound <= np.sort(values)[7] * (1 + 1e-7)
    levels = mistake_levels(instance)
    assert levels.supports[0].tolist() == supports[np.argmin(values)].tolist()
    level_of = distances(supports, levels.supports[0])
    best = [values[level_of == level].min() for level in range(3)]
    assert levels.values == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(0, 20, 5))
def test_pools_and_levels(loss: str, solver: str, seed: int) -> None:
    for k in range(seed, seed + 5):
        instance = random_loss_instance(k, loss)
        rng = np.random.default_rng(k)
        C = instance.number_of_supports
        for pool_size in {1, int(rng.integers(1, C + 1)), "one-swap"}:
            check_pool(instance, pool_size, solver, float(rng.choice([0.0, 0.05])))
        check_levels(instance, solver, float(rng.choice([0.0, 0.05])))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_features_of_several_columns(loss: str, solver: str) -> None:
    for k in range(5):
        instance = with_loss(random_grouped_instance(k, max_p=7, max_s=3), loss)
        R = max(1, instance.number_of_supports // 3)
        tuned = {"enumerated": 0, "bases": 3, "supports": 4, "columns": 6, "patience": 4}
        check_pool(instance, R, solver, 0.0, **tuned)
        check_levels(instance, solver, 0.05, **tuned)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_bounds_alone(loss: str, solver: str) -> None:
    """Without shortcuts for few choices, in tiny batches: masters and divisions decide."""
    batches = {"bases": 2, "supports": 2}
    for k in range(5):
        instance = random_loss_instance(k, loss)
        for columns, patience in ((64, ENDLESS), (4, 2)):
            tuned = {"columns": columns, "patience": patience, "enumerated": 0, **batches}
            R = max(1, instance.number_of_supports // 3)
            check_pool(instance, R, solver, 0.0, **tuned)
            check_levels(instance, solver, 0.0, **tuned)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(12))
def test_level_bounds_and_fenchel_cuts_hold(loss: str, seed: int) -> None:
    instance = random_loss_instance(seed, loss)
    problem = instance.prepared
    assert isinstance(problem, FenchelLoss)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    rng = np.random.default_rng(seed)
    k = int(rng.integers(len(supports)))
    center = ConvexNeighbourhood(problem, Engine(), supports[k], float(values[k]))
    level_of = distances(supports, supports[k])
    for level in range(int(level_of.max()) + 1):
        assert center.level_bound(level) <= values[level_of == level].min() * (1 + 1e-9)
    weights = center.root.weights[0]
    own = float(np.sqrt(weights[supports[k]].sum()))
    for length in (own, 0.3 * own, 2.0 * own + 1.0):
        cut = fenchel_cut(center.root, 0, 0.0, weights, length)
        assert np.all(-cut.at(supports) <= values * (1 + 1e-9))
        if length == own:
            assert -cut.at(supports[k]) == pytest.approx(values[k], rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_ties_more_features_than_rows_and_extreme_sizes(loss: str, solver: str) -> None:
    rng = np.random.default_rng(11)
    for X, s in (
        (np.repeat(rng.standard_normal((12, 2)), 3, axis=1), 2),
        (rng.standard_normal((5, 8)), 2),
        (rng.standard_normal((15, 4)), 1),
        (rng.standard_normal((15, 4)), 3),
        (rng.standard_normal((15, 4)), 4),
    ):
        y = X[:, 0] + 0.1 * rng.standard_normal(len(X))
        instance = Instance(
            X, y > 0.0 if of_classes(loss) else y, support_size=s, x_bound=2.0, y_bound=3.0,
            coef_bound=0.9, ridge=1.0, loss=loss,
        )  # fmt: skip
        check_pool(instance, "one-swap", solver, 0.0)
        check_levels(instance, solver, 0.05)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_time_limit_is_kept_and_tells_what_was_proven(solver: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 40))
    instance = Instance(
        X, rng.standard_normal(300), support_size=5, x_bound=2.0, y_bound=3.0,
        coef_bound=2.0, ridge=0.5, loss="quantile(0.5)",
    )  # fmt: skip
    with pytest.raises(NotCertified) as refusal:
        levels_by(instance, solver, run=run_of(100))
    assert refusal.value.bound <= refusal.value.incumbent == refusal.value.partial.values[0]


def test_no_step_is_taken_where_no_bound_is_asked_for() -> None:
    """One-more steps bound supports from below; without a cutoff every one is evaluated."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, (50, 8)), rng.uniform(-1.0, 1.0, 50)
    bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    instance = Instance(X, y, support_size=2, loss="quantile(0.5)", **bounds)
    problem = copy(instance.prepared)
    asked = []
    problem.bounds_with_one_more = lambda base, point, some: asked.append(1) or np.zeros(len(some))
    base = np.empty((1, 0), dtype=np.intp)
    (root,) = node.fenchel_nodes(problem, base, 1, [np.arange(problem.p)])
    assert (node.last_bounds(root, np.inf, Run.start()) == root.best_bounds).all()
    assert not asked
    node.last_bounds(root, 1e300, Run.start())
    assert asked
