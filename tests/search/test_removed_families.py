"""Families of removed sets: every set is searched or settled, and what is settled is true."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.center import center_at
from mipselect.search.least_squares.removed_families import open_nodes
from mipselect.search.progress import Run
from tests.support.designs import DESIGNS, Design, all_supports
from tests.support.searches import tree_of, tuned


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
