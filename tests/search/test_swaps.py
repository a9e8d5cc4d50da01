"""The first incumbent: no swap improves it, and the search knows level 1 when it begins."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.swaps import best_by_swaps, offer_swapped
from mipselect.search.progress import Run
from tests.support.counted_searches import PROBLEMS
from tests.support.designs import all_supports, random_instance


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
