"""The search by Fenchel bounds: dual points and cuts at every support, and another solver."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from mipselect import Instance, mistake_levels, top_supports
from mipselect.backends.cuts import least_value
from mipselect.search.collectors import Collector
from mipselect.search.convex import (
    ConvexNeighbourhood,
    DualExpansion,
    FenchelNode,
    by_evaluation,
    by_the_best_dual_point,
    fenchel_cut,
    fenchel_nodes,
    last_bounds,
    proven,
)
from mipselect.search.progress import Run
from mipselect.search.tree import Engine, TreeSearch
from mipselect.search.tuning import TUNING
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
@pytest.mark.parametrize("seed", range(12))
def test_level_bounds_and_fenchel_cuts_hold(loss: str, seed: int) -> None:
    instance = random_loss_instance(seed, loss)
    problem = instance.prepared
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
        least = pytest.approx((-cut.at(supports)).min(), rel=1e-9, abs=1e-12)
        assert least_value(cut, instance.support_size) == least
        if length == own:
            assert -cut.at(supports[k]) == pytest.approx(values[k], rel=1e-7, abs=1e-10)


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
    (root,) = fenchel_nodes(problem, base, 1, [np.arange(problem.p)])
    assert (last_bounds(root, np.inf, Run()) == root.best_bounds).all()
    assert not asked
    last_bounds(root, 1e300, Run())
    assert asked


def check_family(instance: Instance, seed: int) -> None:
    """A base, some features that may be added, and all supports that agree with them."""
    problem, rng = instance.prepared, np.random.default_rng(seed)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    support = supports[int(rng.integers(len(supports)))]
    base = support[: int(rng.integers(0, len(support)))]
    left = np.setdiff1d(np.arange(problem.p), base)
    size = len(support) - len(base)
    live = rng.permutation(left)[: int(rng.integers(size, len(left) + 1))]
    family = np.array([set(base) <= set(row) <= {*base, *live} for row in supports])
    dual_points = replace(TUNING.dual_points, steps=int(rng.integers(1, 6)))
    tuning = replace(TUNING, dual_points=dual_points)
    node = fenchel_nodes(problem, base[None], size, [live], tuning)[0]
    first = node.bounds.only(0)
    found = DualExpansion(node, np.inf).improved()
    assert proven(found, node) >= proven(first, node)
    assert proven(found, node) <= values[family].min() * (1 + 1e-9), seed
    assert np.all(found.at(0, supports) <= values * (1 + 1e-9)), seed


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_of_families_hold_at_every_support(loss: str) -> None:
    for seed in range(60):
        check_family(random_loss_instance(seed, loss), seed)
    for seed in range(20):
        check_family(with_loss(random_grouped_instance(seed, max_p=6, max_s=3), loss), seed)


def subproblem(instance: Instance, base: list[int], size: int) -> FenchelNode:
    live = np.setdiff1d(np.arange(instance.n_features), base)
    bases = np.array([base], dtype=np.intp).reshape(1, -1)
    return fenchel_nodes(instance.prepared, bases, size, [live])[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_screened_subproblem_keeps_what_matters_and_bounds_the_rest(loss: str) -> None:
    for seed in range(25):
        instance = random_loss_instance(seed, loss, max_s=4)
        s = instance.support_size
        if s < 2:
            continue
        base = [] if s == 2 else [0]
        sub = subproblem(instance, base, s - len(base))
        supports = all_supports(instance)
        supports = supports[np.isin(supports, base).sum(axis=1) == len(base)]
        values = instance.objectives(supports)
        limit = float(np.quantile(values, 0.3)) * (1 + 1e-6)
        collector = Collector(1, 0.0)
        collector.offer(supports[:1], np.array([limit]))
        smaller = by_the_best_dual_point(sub, TreeSearch(collector, Engine(), Run(), TUNING))
        alive = np.append(smaller.live, base)
        dropped = ~np.isin(supports, alive).all(axis=1)
        assert np.all(values[dropped] >= collector.settled * (1 - 1e-9)), seed
        assert np.all(values[dropped] >= limit * (1 - 1e-9)), seed
        for k, bound in enumerate(smaller.family_bounds):
            rest = np.append(smaller.live[k:], base)
            here = np.isin(supports, rest).all(axis=1) & (supports == smaller.live[k]).any(axis=1)
            assert np.all(bound <= values[here] * (1 + 1e-9)), seed


@pytest.mark.parametrize("loss", LOSSES)
def test_few_open_completions_are_evaluated_and_many_are_left_to_be_divided(loss: str) -> None:
    done = np.zeros(2, dtype=int)
    for seed in range(25):
        instance = random_loss_instance(seed, loss, max_s=4)
        supports = all_supports(instance)
        values = instance.objectives(supports)
        node = subproblem(instance, [], instance.support_size)
        for share in (0.0, 1.0):
            collector = Collector(1, 0.0)
            collector.offer(supports[:1], np.array([np.quantile(values, share) * (1 + 1e-6)]))
            limit = collector.threshold
            every = np.concatenate(list(node.sets(len(supports))))
            open_ = np.count_nonzero(node.bound(node.credits[every].sum(axis=1)) < limit)
            left = by_evaluation(node, TreeSearch(collector, Engine(), Run(), TUNING))
            few = (
                open_ <= node.size * node.extent(limit) and len(every) <= TUNING.masters.enumerated
            )
            assert (left is None) == few
            done[int(few)] += 1
            if left is None:
                assert min(collector.threshold, collector.settled) <= values.min() * (1 + 1e-9)
                assert np.isclose(collector.threshold, min(values.min(), limit), rtol=1e-6)
    assert done.min() > 0
