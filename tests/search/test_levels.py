"""Levels around a support: cuts at it, families of removed sets, and level 1 by swaps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mipselect.problem.instance import Instance
from mipselect.restricted.squared import PreparedSquared
from mipselect.search import mistake_levels, top_supports
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.center import center_at
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.method import LeastSquaresNeighbourhood
from mipselect.search.least_squares.removed_families import open_nodes
from mipselect.search.least_squares.root_cuts import lean_cut, level_bound, root_cut
from mipselect.search.least_squares.swaps import best_by_swaps, offer_swapped
from mipselect.search.progress import Run
from mipselect.search.removed_sets import removed_sets
from tests.support.counted_searches import PROBLEMS
from tests.support.designs import DESIGNS, Design, all_supports, distances, random_instance
from tests.support.searches import tree_of, tuned


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(60))
def test_root_cut_holds_at_every_distance(seed: int, design: Design) -> None:
    instance = design(seed)
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    support = supports[np.random.default_rng(seed).integers(len(supports))]
    center = center_at(problem, support, instance.objective(support), Run.start())
    tree = tree_of(problem)
    level_of = distances(supports, support)
    for level in range(1, min(len(center.support), len(center.candidates)) + 1):
        cuts = []
        for known in (False, True):
            if known and problem.features.singles:
                center.tops.find(lambda: None)
            around = LeastSquaresNeighbourhood(center, ClosedForm(), tree.measures)
            plain = root_cut(center, level)
            cuts.append(plain)
            if problem.features.singles:
                cuts.append(lean_cut(center, root_cut(center, 1), level))
            first = cuts[-1] if center.lean and level > 1 else plain
            # G may have been held since, whose columns are rounded in another order.
            assert around.level_bound(level) == pytest.approx(
                level_bound(center, first, level), rel=1e-9
            )
        for cut in cuts:
            for row, value in zip(
                supports[level_of == level], values[level_of == level], strict=True
            ):
                out = ~np.isin(support, row)
                into = np.isin(center.candidates, row)
                changed = np.concatenate([out, into])
                assert -cut.constant - cut.terms[changed].sum() <= value * (1 + 1e-9)
            assert level_bound(center, cut, level) <= values[level_of == level].min() * (1 + 1e-9)


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_removed_sets_come_in_order_and_completely(count: int) -> None:
    costs = np.array([3.0, 1.0, 1.0, 0.0, 7.0, 2.5])
    found = list(removed_sets(costs, count))
    totals = [total for total, _ in found]
    assert totals == sorted(totals)
    assert {tuple(positions) for _, positions in found} == set(
        itertools.combinations(range(6), count)
    )
    assert all(total == costs[positions].sum() for total, positions in found)


def test_a_pair_that_is_only_jointly_strong_is_not_cut_off() -> None:
    """Features 2 and 3 are nearly opposite, weak alone, and together explain y almost wholly."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    X[:, 3] = -X[:, 2] + 0.2 * rng.standard_normal(400)
    y = 3.0 * (X[:, 2] + X[:, 3]) + 0.02 * X[:, 0]
    bounds = {"x_bound": 9.0, "y_bound": 9.0, "coef_bound": 50.0, "ridge": 1.0}
    instance = Instance(X, y, support_size=2, **bounds)
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    weak = np.array([0, 1])
    center = center_at(problem, weak, instance.objective(weak), Run.start())
    bound = level_bound(center, root_cut(center, 2), 2)
    assert bound <= instance.objective([2, 3]) < 0.2 * center.value
    for solver in ("native", "highs"):
        assert top_supports(instance, 1, solver=solver).supports.tolist() == [[2, 3]]
        levels = mistake_levels(instance, solver=solver)
        assert levels.supports[0].tolist() == [2, 3]


@pytest.mark.parametrize("cheap", [0, 10**9])
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(60))
def test_every_removed_set_is_yielded_or_settled(seed: int, design: Design, cheap: int) -> None:
    instance = design(seed, max_p=9, max_s=5)
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    rng = np.random.default_rng(seed)
    center = supports[rng.choice([int(np.argmin(values)), int(rng.integers(len(values)))])]
    around = center_at(problem, center, instance.objective(center), Run.start())
    missing = [frozenset(center) - frozenset(row) for row in supports]
    for level in range(1, min(len(around.support), len(around.candidates)) + 1):
        here = np.array([len(gone) == level for gone in missing])
        collector = Collector(1, 0.0)
        best = int(np.flatnonzero(here)[np.argmin(values[here])])
        collector.offer(supports[best][None], np.array([rng.uniform(0.9, 1.3) * values[best]]))
        tree = tree_of(problem, tuned(cheap=cheap), collector)
        nodes = [node for _, _, node in open_nodes(around, level, 0.0, tree)]
        open_sets = [tuple(np.setdiff1d(center, node.base)) for node in nodes]
        every = set(itertools.combinations(center, level))
        assert set(open_sets) <= every
        assert len(set(open_sets)) == len(open_sets)
        assert tree.run.done == len(every) - len(open_sets)
        entering = {removed: set(node.live) for removed, node in zip(open_sets, nodes, strict=True)}
        for row in np.flatnonzero(here):
            removed = tuple(sorted(missing[row]))
            if not set(supports[row]) - set(center) <= entering.get(removed, set()):
                assert values[row] >= collector.bound * (1.0 - 1e-9)
        for node in nodes:
            if node.bound is None:
                continue
            for (T,) in (node.supports(places) for places in node.sets(1)):
                gain = node.bound.constant + float(node.bound.terms[np.isin(node.live, T)].sum())
                assert node.lower_bound(gain) <= instance.objective(T) * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_level_1_is_what_swaps_make_of_the_incumbent(seed: int) -> None:
    instance = random_instance(seed)
    problem, s = instance.prepared, instance.support_size
    assert isinstance(problem, PreparedSquared)
    best = best_by_swaps(problem, s, Run.start())
    if s == instance.p:
        assert best.swapped is None
        return
    assert best.swapped is not None
    every = all_supports(instance)
    level = every[np.isin(every, best.support).sum(axis=1) == s - 1]
    assert best.swapped.size == len(level)
    collector = Collector(len(level), 0.0)
    offer_swapped(best.support, best.swapped, collector)
    supports, values = collector.best()
    assert sorted(map(tuple, supports.tolist())) == sorted(map(tuple, level.tolist()))
    assert instance.objectives(supports) == pytest.approx(values, rel=1e-9)
    assert best.value <= values[0]


def test_a_value_that_is_no_number_leaves_level_1_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = PROBLEMS["easy"]()
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    for bad in (np.nan, np.inf):
        found = PreparedSquared.values_of_additions

        def spoilt(self, base, additions, bad=bad, found=found):
            values = found(self, base, additions)
            values[0] = bad
            return values

        with monkeypatch.context() as patched:
            patched.setattr(PreparedSquared, "values_of_additions", spoilt)
            assert best_by_swaps(problem, instance.support_size, Run.start()).swapped is None
