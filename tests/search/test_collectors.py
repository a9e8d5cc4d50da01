"""The collector against sorting all that was offered, with ties and repeats."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mipselect.search.collectors import Collector


@pytest.mark.parametrize("count", [1, 2, 7, 100, 300])
@pytest.mark.parametrize("seed", range(20))
def test_the_best_are_kept_and_all_others_bounded(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    supports = np.array(list(itertools.combinations(range(10), 3)))
    values = rng.integers(0, 60, len(supports)) / 8.0
    collector, seen = Collector(count, 0.25), set[int]()
    for _ in range(30):
        batch = rng.choice(len(supports), int(rng.integers(1, 40)))
        collector.offer(supports[batch], values[batch])
        seen |= set(batch.tolist())
        known = np.sort(values[list(seen)])
        assert collector.value == known[0]
        assert collector.threshold >= (known[count - 1] if len(known) >= count else math.inf)
        if count == 1:
            assert collector.threshold == known[0]
    rows, found = collector.best()
    assert found.tolist() == known[:count].tolist()
    assert len({tuple(row) for row in rows.tolist()}) == len(rows) == len(found)
    places = [int(np.flatnonzero((supports == row).all(axis=1))[0]) for row in rows]
    assert values[places].tolist() == found.tolist()
    left = values[list(seen - set(places))]
    assert collector.settled <= np.min(left, initial=math.inf)
    assert collector.settled >= (found[-1] if len(found) == count else math.inf)
    assert collector.target == collector.threshold - 0.25
    assert collector.bound == found[0]


def test_the_target_stops_at_the_floor() -> None:
    collector = Collector(1, 0.5, floor=0.8)
    for value, target in ((2.0, 1.5), (1.0, 0.8), (0.7, 0.7)):
        collector.offer(np.array([[0, 1]]), np.array([value]))
        assert collector.target == target
