"""Pairs and triples of additions in closed form: what they offer, and nothing is left out."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mipselect.search.bounds.modular import ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.children import children_of, itself
from mipselect.search.least_squares.closed_form import ClosedForm, better_pairs, pair_products
from mipselect.search.least_squares.near_columns import LiveSets, near_columns
from mipselect.search.least_squares.node import squared_node
from mipselect.search.least_squares.shares import gain_shares
from mipselect.search.progress import Run
from mipselect.search.tuning import TUNING
from tests.support.designs import random_instance
from tests.support.searches import tuned


def has_six_features(seed: int) -> bool:
    return random_instance(seed, max_p=14, max_s=5).p >= 6


SEEDS = list(filter(has_six_features, range(400)))[:200]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_set_below_the_threshold_is_offered(seed: int, size: int) -> None:
    instance = random_instance(seed, max_p=14, max_s=5)
    problem, rng = instance.prepared, np.random.default_rng(seed)
    base, others = np.split(rng.permutation(instance.p), [int(rng.integers(0, 3))])
    sets = [np.sort([*base, *added]) for added in itertools.combinations(others, size)]
    values = problem.values(np.array(sets))
    count = int(rng.integers(1, len(sets) + 1))
    collector = Collector(count, 0.0)
    # With a threshold from the start, as in any search: some supports, whatever they are worth.
    known = rng.choice(len(sets), count, replace=False)
    collector.offer(np.array(sets)[known], values[known])
    live = np.sort(others)
    tops = problem.gram.row_tops(live, size, lambda: None) if rng.random() < 0.5 else None
    sub = squared_node(problem, np.sort(base), size, live, 0.0, tops)
    if rng.random() < 0.5:
        near = replace(TUNING.near, degree=int(rng.integers(1, 5)))
        sub = replace(sub, near=LiveSets(near_columns(problem, near)))
    sub = replace(sub, tuning=tuned(entries=int(rng.choice([1, 200, 2**19]))))
    engine = ClosedForm()
    bound = ModularBound(0.0, gain_shares(sub)) if size == 3 or rng.random() < 0.5 else None
    sub = replace(sub, bound=bound)
    assert engine.takes(sub)
    assert engine.settle(sub, collector, Run.start())
    _, found = collector.best()
    np.testing.assert_allclose(found, np.sort(values)[:count], rtol=1e-9)
    assert collector.settled >= np.sort(values)[count - 1] * (1.0 - 1e-9)


@pytest.mark.parametrize("seed", SEEDS[:60])
def test_better_pairs_are_those_that_gain_more(seed: int) -> None:
    instance = random_instance(seed, max_p=14, max_s=5)
    problem, rng = instance.prepared, np.random.default_rng(seed)
    node = squared_node(problem, np.empty(0, dtype=np.intp), 3, np.arange(instance.p), 0.0, None)
    children = children_of(node, rng.permutation(instance.p), 0, 2)
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
    instance = random_instance(SEEDS[0], max_p=14, max_s=5)
    p, problem = instance.p, instance.prepared
    node = squared_node(problem, np.empty(0, dtype=np.intp), 2, np.arange(p), 0.0, None)
    j = np.arange(p)
    taken, w = pair_products(itself(node), np.array([needed]))
    rows, _ = better_pairs(node.rectangle(j, j), j, taken[0], w[0])
    assert len(rows) == p**2
