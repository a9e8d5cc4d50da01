"""Families of removed sets: every set is searched or settled, and what is settled is true."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import BestSupport
from mipselect.search.least_squares.center import center_at
from mipselect.search.least_squares.removed_families import open_removed_sets, removed_sets_of
from mipselect.search.node import Node
from mipselect.search.progress import Run
from tests.support.brute_force import check_levels, check_pool
from tests.support.designs import DESIGNS, Design, all_supports
from tests.support.searches import tree_of, tuned


@pytest.mark.parametrize("trust", [0, 64])
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(60))
def test_every_removed_set_is_yielded_or_settled(seed: int, design: Design, trust: int) -> None:
    instance = design(seed, max_p=9, max_s=5)
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    rng = np.random.default_rng(seed)
    center = supports[rng.choice([int(np.argmin(values)), int(rng.integers(len(values)))])]
    around = center_at(problem, center, instance.objective(center), Run.start())
    missing = [frozenset(center) - frozenset(row) for row in supports]
    for level in range(1, around.levels):
        here = np.array([len(gone) == level for gone in missing])
        collector = BestSupport(0.0)
        best = int(np.flatnonzero(here)[np.argmin(values[here])])
        collector.offer(supports[best][None], np.array([rng.uniform(0.9, 1.3) * values[best]]))
        tree = tree_of(problem, tuned(trust=trust), collector)
        open_sets = [tuple(removed) for removed in open_removed_sets(around, level, tree)]
        every = set(itertools.combinations(center, level))
        assert set(open_sets) <= every
        assert len(set(open_sets)) == len(open_sets)
        assert tree.run.reporter.done == len(every) - len(open_sets)
        for row in np.flatnonzero(here):
            if tuple(sorted(missing[row])) not in set(open_sets):
                assert values[row] >= collector.bound * (1.0 - 1e-9)


def test_families_are_divided_into_disjoint_ones() -> None:
    none = np.empty(0, dtype=np.intp)
    support, others = np.array([2, 3, 5, 7, 11]), np.array([0, 2, 3, 4])
    kept = Node(none, 2, support)
    assert kept.number == len(list(removed_sets_of(kept, support))) == 10
    leaves, stays = kept.restricted(others), kept.with_feature(1, others)
    assert (leaves.number, stays.number) == (6, 4)
    whole, *parts = ({tuple(s) for s in removed_sets_of(node, support)}
                     for node in (kept, leaves, stays))  # fmt: skip
    assert parts[0] | parts[1] == whole
    assert not parts[0] & parts[1]
    assert all(3 in s for s in parts[0])


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(20))
def test_searches_by_families_are_exact(seed: int, design: Design) -> None:
    instance = design(seed, max_p=10, max_s=5)
    check_levels(instance, "native", 0.0, cheap=0)
    check_pool(instance, max(1, instance.number_of_supports // 4), "native", 0.0, cheap=0)
