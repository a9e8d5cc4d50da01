"""Division of subproblems in every way there is: nothing below the threshold is left out."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.branch_and_bound import branch_and_bound, open_children
from mipselect.search.least_squares.children import children_of
from mipselect.search.least_squares.node import gains_alone, squared_node
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Tuning
from tests.support.designs import random_instance
from tests.support.searches import ENDLESS, tree_of, tuned


def instance_of(seed: int):
    return random_instance(seed, max_p=14, max_s=6)


SEEDS = [seed for seed in range(300) if instance_of(seed).p >= 9][:30]


def settle(seed: int, size: int, tuning: Tuning) -> Counter[str]:
    """Divide one subproblem, compare with the values of all its supports, count what helped."""
    instance = instance_of(seed)
    problem, rng = instance.prepared, np.random.default_rng(seed)
    assert isinstance(problem, PreparedSquared)
    base, others = np.split(rng.permutation(instance.p), [int(rng.integers(0, 3))])
    sets = np.array([np.sort([*base, *T]) for T in itertools.combinations(others, size)])
    values = problem.values(sets)
    count = int(rng.choice([1, 3, max(1, len(sets) // 3)]))
    collector = Collector(count, 0.0)
    known = rng.choice(len(sets), count, replace=False)
    collector.offer(sets[known], values[known])
    live = np.sort(others)
    tops = problem.gram.row_tops(live, size, lambda: None) if rng.random() < 0.5 else None
    sub = squared_node(problem, np.sort(base), size, live, 0.0, tops, tuning)
    tree = tree_of(problem, tuning, collector)
    branch_and_bound(sub, tree)
    _, found = collector.best()
    np.testing.assert_allclose(found, np.sort(values)[:count], rtol=1e-9)
    assert collector.settled >= np.sort(values)[count - 1] * (1.0 - 1e-9)
    return Counter({own.name: own.successes for own in tree.run.accounts.efforts()})


@pytest.mark.deep
@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("entries", [0, 30, 1000])
def test_nothing_below_the_threshold_is_left_out(entries: int, few: int) -> None:
    """However many sets of near columns may be listed, and families be looked at one by one."""
    near = replace(TUNING.near, entries=entries, open=few)
    helped: Counter[str] = Counter()
    for seed in SEEDS:
        for size in (2, 3, 4, 5):
            helped += settle(seed, size, tuned(cheap=-1, near=near, entries=200))
    if entries == 0:
        assert helped[Strategy.IN_OR_OUT] > 10
    elif few:
        assert helped[Strategy.CLUSTERS] > 50


@pytest.mark.parametrize("cheap", [-1, ENDLESS])
def test_pairs_by_the_bounds_of_many_children(cheap: int) -> None:
    """Where shares leave more pairs open than are worth a look, bounds around points decide."""
    far, helped = replace(TUNING.near, columns=0), Counter[str]()
    for seed in SEEDS:
        for size in (3, 4):
            helped += settle(seed, size, tuned(cheap=cheap, near=far, worth=0, entries=200))
    assert helped[Strategy.CHILDREN] > 30
    assert helped[Strategy.PAIRS] > 50


def test_features_that_bounds_of_children_drop_count_as_settled() -> None:
    """By them such a bound may pay where it prunes no child."""
    dropped = 0.0
    for seed in SEEDS:
        problem, nothing = instance_of(seed).prepared, np.empty(0, dtype=np.intp)
        assert isinstance(problem, PreparedSquared)
        node = squared_node(problem, nothing, 4, np.arange(problem.features.count), 0.0, None)
        supports = np.array(list(itertools.combinations(range(problem.features.count), 4)))
        collector = Collector(1, 0.0)
        collector.offer(supports, problem.values(supports))
        tree = tree_of(problem, TUNING, collector)
        children = children_of(node, np.argsort(-gains_alone(node)), 0, 3)
        convexity = tree.measures.cheap_curvature.of_children(children)
        shares = [
            1.0 - len(child.live) / (len(children.later) - k)
            for k, child in open_children(children, convexity, tree)
        ]
        dropped += sum(shares)
        settled = tree.run.accounts.of(Strategy.CHILDREN, 3).settled
        assert settled == pytest.approx(3 - len(shares) + sum(shares))
    assert dropped > 1.0


def test_many_families_are_divided_by_clusters_at_once() -> None:
    """Before cheap bounds have had their chance by number."""
    near = replace(TUNING.near, heavy=1)
    helped: Counter[str] = Counter()
    for seed in SEEDS:
        for size in (3, 4):
            helped += settle(seed, size, tuned(cheap=ENDLESS, near=near, entries=200))
    assert helped[Strategy.CLUSTERS] > 10
