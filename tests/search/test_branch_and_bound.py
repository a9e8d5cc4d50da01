"""Division of subproblems in every way there is: nothing below the threshold is left out."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import BestSupports
from mipselect.search.least_squares import branch_and_bound as module
from mipselect.search.least_squares.branch_and_bound import branch_and_bound
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.node import squared_node
from mipselect.search.tuning import TUNING, Tuning
from tests.support.designs import random_instance
from tests.support.searches import ENDLESS, tree_of, tuned


def instance_of(seed: int):
    return random_instance(seed, max_p=14, max_s=6)


SEEDS = [seed for seed in range(300) if instance_of(seed).p >= 9][:30]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[object]]:
    """What the functions that divide have returned."""
    seen: dict[str, list[object]] = {}

    def watch(owner: object, name: str) -> None:
        original, returned = getattr(owner, name), seen.setdefault(name, [])

        def watched(*given):
            result = original(*given)
            returned.append(result)
            return result

        monkeypatch.setattr(owner, name, watched)

    for name in ("branch_in_or_out", "divided_by_clusters", "bound_at_once"):
        watch(module, name)
    watch(ClosedForm, "_settle_pairs_by_clusters")
    return seen


def settle(seed: int, size: int, tuning: Tuning) -> None:
    """Divide one subproblem and compare with the values of all its supports."""
    instance = instance_of(seed)
    problem, rng = instance.prepared, np.random.default_rng(seed)
    assert isinstance(problem, PreparedSquared)
    base, others = np.split(rng.permutation(instance.p), [int(rng.integers(0, 3))])
    sets = np.array([np.sort([*base, *T]) for T in itertools.combinations(others, size)])
    values = problem.values(sets)
    count = int(rng.choice([1, 3, max(1, len(sets) // 3)]))
    collector = BestSupports(count, size + len(base), 0.0)
    known = rng.choice(len(sets), count, replace=False)
    collector.offer(sets[known], values[known])
    live = np.sort(others)
    tops = problem.gram.row_tops(live, size, lambda: None) if rng.random() < 0.5 else None
    sub = squared_node(problem, np.sort(base), size, live, 0.0, tops, tuning)
    branch_and_bound(sub, tree_of(problem, tuning, collector))
    _, found, rest = collector.result()
    np.testing.assert_allclose(found, np.sort(values)[:count], rtol=1e-9)
    assert rest >= np.sort(values)[count - 1] * (1.0 - 1e-9)


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("entries", [0, 30, 1000])
def test_nothing_below_the_threshold_is_left_out(
    entries: int, few: int, calls: dict[str, list[object]]
) -> None:
    """However many sets of near columns may be listed, and families be looked at one by one."""
    near = replace(TUNING.near, entries=entries, open=few)
    for seed in SEEDS:
        for size in (2, 3, 4, 5):
            settle(seed, size, tuned(cheap=-1, near=near, entries=200))
    assert len(calls["_settle_pairs_by_clusters"]) > 10
    if entries == 0:
        assert len(calls["branch_in_or_out"]) > 10
    elif few:
        assert sum(map(bool, calls["divided_by_clusters"])) > 50


def test_many_families_are_divided_by_clusters_at_once(
    calls: dict[str, list[object]],
) -> None:
    """Before cheap bounds have had their chance by number."""
    near = replace(TUNING.near, heavy=1)
    for seed in SEEDS:
        for size in (3, 4):
            settle(seed, size, tuned(cheap=ENDLESS, near=near, entries=200))
    assert sum(map(bool, calls["divided_by_clusters"])) > 10
