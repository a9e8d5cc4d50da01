"""Families of removed sets: every set is searched or settled, and what is settled is true."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from designs import DESIGNS, Design, all_supports
from test_against_enumeration import check_levels, check_pool

from mipselect.losses.squared import PreparedSquared
from mipselect.search.collectors import BestSupport
from mipselect.search.least_squares import removed_families
from mipselect.search.least_squares.center import center_at
from mipselect.search.least_squares.persistence import Persistence
from mipselect.search.least_squares.removed_families import RemovedFamily, open_removed_sets
from mipselect.search.progress import Run


@pytest.mark.parametrize("trust", [0, 64])
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(60))
def test_every_removed_set_is_yielded_or_settled(
    seed: int, design: Design, trust: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removed_families, "TRUST", trust)
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
        run, persistence = Run.start(), Persistence(problem)
        open_sets = [
            tuple(removed)
            for removed in open_removed_sets(around, level, collector, run, persistence)
        ]
        every = set(itertools.combinations(center, level))
        assert set(open_sets) <= every
        assert len(set(open_sets)) == len(open_sets)
        assert run.reporter.done == len(every) - len(open_sets)
        for row in np.flatnonzero(here):
            if tuple(sorted(missing[row])) not in set(open_sets):
                assert values[row] >= collector.bound * (1.0 - 1e-9)


def test_families_are_divided_into_disjoint_ones() -> None:
    none = np.empty(0, dtype=np.intp)
    family = RemovedFamily(none, none, np.array([2, 3, 5, 7, 11]), 3)
    assert family.number == len(list(family.sets())) == 10
    leaves, stays = family.divided(1)
    assert {len(leaves.leaves), len(stays.stays)} == {1}
    parts = [{tuple(s) for s in part.sets()} for part in (leaves, stays)]
    assert parts[0] | parts[1] == {tuple(s) for s in family.sets()}
    assert not parts[0] & parts[1]
    assert all(3 in s for s in parts[0])


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(20))
def test_searches_by_families_are_exact(seed: int, design: Design) -> None:
    instance = design(seed, max_p=10, max_s=5)
    check_levels(instance, "native", 0.0, cheap=0)
    check_pool(instance, max(1, instance.number_of_supports // 4), "native", 0.0, cheap=0)
