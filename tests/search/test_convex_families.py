"""Dual points for families of supports: every bound at every support of the family."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mipselect.problem.instance import Instance
from mipselect.restricted.fenchel import ScaledFenchelLoss
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.convex.expansion import (
    DualExpansion,
    proven,
    screened_by_family_point,
)
from mipselect.search.convex.node import (
    FenchelNode,
    fenchel_nodes,
    largest_after,
)
from mipselect.search.progress import Run
from mipselect.search.tuning import TUNING
from tests.support.brute_force import check_levels, check_pool
from tests.support.designs import (
    LOSSES,
    all_supports,
    random_grouped_instance,
    random_loss_instance,
    with_loss,
)


def scaled(instance: Instance) -> ScaledFenchelLoss:
    problem = instance.prepared
    assert isinstance(problem, ScaledFenchelLoss)
    return problem


def check_family(instance: Instance, seed: int) -> None:
    """A base, some features that may be added, and all supports that agree with them."""
    problem, rng = scaled(instance), np.random.default_rng(seed)
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
    found = DualExpansion(node, problem, np.inf).improved()
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
    return fenchel_nodes(scaled(instance), bases, size, [live])[0]


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
        smaller = screened_by_family_point(sub, collector, limit, Run.start(None, None))
        alive = np.append(smaller.live, base)
        dropped = ~np.isin(supports, alive).all(axis=1)
        assert np.all(values[dropped] >= collector.bound * (1 - 1e-9)), seed
        assert np.all(values[dropped] >= limit * (1 - 1e-9)), seed
        for k, bound in enumerate(smaller.family_bounds):
            rest = np.append(smaller.live[k:], base)
            here = np.isin(supports, rest).all(axis=1) & (supports == smaller.live[k]).any(axis=1)
            assert np.all(bound <= values[here] * (1 + 1e-9)), seed


def test_sums_of_credits() -> None:
    rng = np.random.default_rng(0)
    for size in range(1, 6):
        for credits in (rng.random(5), np.round(3 * rng.random(9)), np.zeros(6)):
            best = ModularBound(0.0, credits).with_each(size)
            after = largest_after(credits, size)
            for k in range(len(credits)):
                others = np.sort(np.delete(credits, k))[::-1][: size - 1].sum()
                assert best[k] == pytest.approx(credits[k] + others)
                assert after[k] == pytest.approx(np.sort(credits[k + 1 :])[::-1][:size].sum())


@pytest.mark.parametrize("loss", LOSSES)
def test_a_centre_settles_what_the_optimum_of_the_base_leaves_open(loss: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 30))
    for j in range(1, 30):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(0.19) * X[:, j]
    y = X[:, [3, 13, 23]].sum(axis=1) + 0.5 * rng.standard_normal(400)
    instance = Instance(
        X, y > 0.0 if loss == "hinge" else y, support_size=3, x_bound=2.0, y_bound=3.0,
        coef_bound=3.0, ridge=8.0, loss=loss,
    )  # fmt: skip
    sub = subproblem(instance, [13], 2)
    value = instance.objective([3, 13, 23])
    found = DualExpansion(sub, scaled(instance), value).improved()
    assert value - proven(found, sub) < 0.1 * (value - proven(sub.bounds, sub))


@pytest.mark.parametrize("loss", LOSSES)
def test_pools_and_levels_with_centres_everywhere(loss: str) -> None:
    tuned = {"bases": 3, "supports": 4}
    for seed in range(6):
        for instance in (
            random_loss_instance(seed, loss, max_s=4),
            with_loss(random_grouped_instance(seed, max_p=6, max_s=3), loss),
        ):
            check_pool(instance, max(1, instance.number_of_supports // 3), "native", 0.0, **tuned)
            check_levels(instance, "native", 0.05, **tuned)
