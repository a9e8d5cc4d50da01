"""Division of subproblems in every way there is, and pairs and triples in closed form.

Nothing below the threshold is left out.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from mipselect.backends.cuts import Budget, ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.branch_and_bound import branch_and_bound, open_children
from mipselect.search.least_squares.closed_form import ClosedForm, better_pairs, pair_products
from mipselect.search.least_squares.curvature import UniformCurvature
from mipselect.search.least_squares.expansion import NodeExpansion
from mipselect.search.least_squares.near_columns import LiveSets, near_columns
from mipselect.search.least_squares.node import SquaredNode, children_of, itself, squared_node
from mipselect.search.least_squares.shares import gain_shares
from mipselect.search.progress import Run
from mipselect.search.tuning import TUNING, Strategy, Tuning
from tests.support.counted_searches import PROBLEMS
from tests.support.designs import random_instance
from tests.support.searches import ENDLESS, tree_of, tuned


def columns_of(seed: int) -> int:
    return random_instance(seed, max_p=14, max_s=6).p


def has_six_features(seed: int) -> bool:
    return columns_of(seed) >= 6


SIX = list(filter(has_six_features, range(400)))[:200]
NINE = [seed for seed in range(300) if columns_of(seed) >= 9][:30]


class Subproblem:
    """Additions to a base of a random instance, some supports as offered, and all their values."""

    def __init__(self, seed: int, size: int, tuning: Tuning = TUNING) -> None:
        instance = random_instance(seed, max_p=14, max_s=6)
        problem, rng = instance.prepared, np.random.default_rng(seed)
        base, others = np.split(rng.permutation(instance.p), [int(rng.integers(0, 3))])
        sets = np.array([np.sort([*base, *T]) for T in itertools.combinations(others, size)])
        values = problem.values(sets)
        count = int(rng.choice([1, 3, rng.integers(1, len(sets) + 1)]))
        self.best, self.problem, self.rng = np.sort(values)[:count], problem, rng
        self.collector = Collector(count, 0.0)
        # With a threshold from the start, as in any search: some supports, whatever they are worth.
        known = rng.choice(len(sets), count, replace=False)
        self.collector.offer(sets[known], values[known])
        live = np.sort(others)
        tops = problem.gram.row_tops(live, size, lambda: None) if rng.random() < 0.5 else None
        self.node = squared_node(problem, np.sort(base), size, live, 0.0, tops, tuning)

    def check(self) -> None:
        """The best are found, and what is settled is true."""
        _, found = self.collector.best()
        np.testing.assert_allclose(found, self.best, rtol=1e-9)
        assert self.collector.settled >= self.best[-1] * (1.0 - 1e-9)


def divided(tuning: Tuning, *sizes: int) -> Counter[str]:
    """Divide subproblems of these sizes, and count what helped."""
    helped: Counter[str] = Counter()
    for seed, size in itertools.product(NINE, sizes):
        given = Subproblem(seed, size, tuning)
        tree = tree_of(given.problem, tuning, given.collector)
        branch_and_bound(given.node, tree)
        given.check()
        helped += Counter({own.name: own.successes for own in tree.run.accounts.efforts()})
    return helped


@pytest.mark.deep
@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("entries", [0, 30, 1000])
def test_nothing_below_the_threshold_is_left_out(entries: int, few: int) -> None:
    """However many sets of near columns may be listed, and families be looked at one by one."""
    near = replace(TUNING.near, entries=entries, open=few)
    helped = divided(tuned(cheap=-1, near=near, entries=200), 2, 3, 4, 5)
    if entries and few:
        assert helped[Strategy.CLUSTERS] > 50


@pytest.mark.parametrize("cheap", [-1, ENDLESS])
def test_pairs_by_the_bounds_of_many_children(cheap: int) -> None:
    """Where shares leave more pairs open than are worth a look, bounds around points decide."""
    far = replace(TUNING.near, columns=0)
    helped = divided(tuned(cheap=cheap, near=far, worth=0, entries=200), 3, 4)
    assert helped[Strategy.CHILDREN] > 10
    assert helped[Strategy.PAIRS] > 50


def test_features_that_bounds_of_children_drop_count_as_settled() -> None:
    """By them such a bound may pay where it prunes no child."""
    dropped = 0.0
    for seed in NINE:
        node = whole_of(seed, 4)
        supports = np.array(list(itertools.combinations(range(len(node.live)), 4)))
        collector = Collector(1, 0.0)
        collector.offer(supports, node.problem.values(supports))
        tree = tree_of(node.problem, TUNING, collector)
        children = children_of(node, np.argsort(-node.gains_alone()), 0, 3)
        convexity = tree.measures.cheap_curvature.of_children(children)
        shares = [
            1.0 - len(child.live) / (len(children.later) - k)
            for k, child in open_children(children, [convexity], tree)
        ]
        dropped += sum(shares)
        settled = tree.run.accounts.of(Strategy.CHILDREN, 3).settled
        assert settled == pytest.approx(3 - len(shares) + sum(shares))
    assert dropped > 1.0


def test_many_families_are_divided_by_clusters_at_once() -> None:
    """Before cheap bounds have had their chance by number."""
    near = replace(TUNING.near, heavy=1)
    assert divided(tuned(cheap=ENDLESS, near=near, entries=200), 3, 4)[Strategy.CLUSTERS] > 10


def test_near_columns_wait_until_the_search_took_as_much_work() -> None:
    node = whole_of(1, 4)
    tree = tree_of(node.problem, replace(TUNING, patience=-1))
    assert tree.informed(node, 0).near is None
    tree.run.accounts.work = TUNING.near.work * node.problem.features.count + 1.0
    assert tree.informed(node, 0).near is not None


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("seed", SIX)
def test_every_set_below_the_threshold_is_offered(seed: int, size: int) -> None:
    given = Subproblem(seed, size)
    sub, rng = given.node, given.rng
    if rng.random() < 0.5:
        near = replace(TUNING.near, degree=int(rng.integers(1, 5)))
        sub = replace(sub, near=LiveSets(near_columns(given.problem, near)))
    sub = replace(sub, tuning=tuned(entries=int(rng.choice([1, 200, 2**19]))))
    bound = ModularBound(0.0, gain_shares(sub)) if size == 3 or rng.random() < 0.5 else None
    sub = replace(sub, bound=bound)
    assert ClosedForm().takes(sub)
    assert ClosedForm().settle(sub, given.collector, Run())
    given.check()


def whole_of(seed: int, size: int) -> SquaredNode:
    instance = random_instance(seed, max_p=14, max_s=6)
    none, everything = np.empty(0, dtype=np.intp), np.arange(instance.p)
    return squared_node(instance.prepared, none, size, everything, 0.0, None)


@pytest.mark.parametrize("seed", SIX[:60])
def test_better_pairs_are_those_that_gain_more(seed: int) -> None:
    node, rng = whole_of(seed, 3), np.random.default_rng(seed)
    children = children_of(node, rng.permutation(len(node.live)), 0, 2)
    k = int(rng.integers(2))
    first, g, H = children.first[k, 0], node.g, node.dense()
    row = H[first, children.later] / H[first, first]
    H = H[np.ix_(children.later, children.later)] - H[first, first] * np.outer(row, row)
    g = g[children.later] - g[first] * row

    def gain(*both: int) -> float:
        return float(g[list(both)] @ np.linalg.solve(H[np.ix_(both, both)], g[list(both)]))

    may = np.flatnonzero(children.after[k])
    j = may[::2]
    pairs = [(one, other) for one in j.tolist() for other in may.tolist() if one != other]
    slack = node.slack
    gains = np.array([gain(*pair) for pair in pairs])
    for needed in [*rng.uniform(0.0, gains.max(), 5), *gains]:
        rows = node.rectangle(children.later[j], children.later)
        taken, w = pair_products(children, np.full(2, needed))
        row, other = better_pairs(rows, j, taken[k], w[k])
        found = set(zip(j[row].tolist(), other.tolist(), strict=True))
        assert found >= {pair for pair, x in zip(pairs, gains, strict=True) if x > needed + slack}
        least = {pair for pair, x in zip(pairs, gains, strict=True) if x >= needed - slack}
        assert {pair for pair in found if pair in pairs} <= least


@pytest.mark.parametrize("needed", [0.0, -1.0, -np.inf, np.nan])
def test_every_pair_is_better_than_what_is_no_number(needed: float) -> None:
    node = whole_of(SIX[0], 2)
    j = np.arange(len(node.live))
    taken, w = pair_products(itself(node), np.array([needed]))
    rows, _ = better_pairs(node.rectangle(j, j), j, taken[0], w[0])
    assert len(rows) == len(j) ** 2


@pytest.mark.parametrize(("size", "few"), [(2, True), (3, False)])
def test_points_of_many_columns_are_for_many_additions(size: int, few: bool) -> None:
    """Their systems would take longer than pairs do: at n = p = 1,000 most of the whole search."""
    problem = PROBLEMS["correlated, nearly as many rows"]().prepared
    everything = np.arange(problem.features.count)
    node = squared_node(problem, everything[:0], size, everything, 0.0, None)
    budgets = [Budget(everything, size)]
    bound = NodeExpansion(node, UniformCurvature(0.0).at(node), budgets, 0.0, 0.0)
    bound.admit(everything[:2])
    bound.improve(np.where(everything < 2, 0.5 * size, 0.0)[None])
    assert (len(bound.members) <= 2 + 4 * (size + TUNING.expanding.promising)) == few
