"""What crosses the boundary is frozen and checked; collectors against sorting what was offered."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from mipselect import MistakeLevels, SupportPool, TopR, mistake_levels, top_supports
from mipselect.errors import InvalidInput
from mipselect.search.collectors import Collector
from tests.support.designs import random_instance


def pool() -> SupportPool:
    return top_supports(random_instance(3), 4)


def levels() -> MistakeLevels:
    return mistake_levels(random_instance(3))


CERTIFICATES = [(pool, ("supports", "values")), (levels, ("supports", "values", "bounds"))]


@pytest.mark.parametrize(("make", "arrays"), CERTIFICATES)
def test_arrays_cannot_be_written(make, arrays: tuple[str, ...]) -> None:
    found = make()
    for again in (found, replace(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert again.certified
        for name in arrays:
            array = getattr(again, name)
            with pytest.raises(ValueError, match="read-only"):
                array[0] = -1
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
            base = array
            while isinstance(base, np.ndarray):
                assert not base.flags.writeable
                base = base.base
            assert isinstance(base, bytes)


@pytest.mark.parametrize(("make", "arrays"), CERTIFICATES)
def test_the_arrays_that_were_given_are_copied(make, arrays: tuple[str, ...]) -> None:
    found = make()
    given = {name: getattr(found, name).copy() for name in arrays}
    held = replace(found, **given)
    for array in given.values():
        array[:] = 0
    assert held.certified
    for name in arrays:
        assert np.array_equal(getattr(held, name), getattr(found, name))


def test_a_value_that_was_changed_moves_no_probability() -> None:
    found = pool()
    mechanism = TopR(found, 1.0)
    before = mechanism.log_probability(found.supports[1])
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = -1e9
    assert TopR(found, 1.0).log_probability(found.supports[1]) == before


def test_the_formulas_of_the_tolerance() -> None:
    for found in (pool(), levels()):
        loose = replace(found, tolerance=0.5, sensitivity=3.0)
        assert loose.allowance == 1.5
        assert loose.widened_sensitivity == 4.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"supports": [[0, 1], [1, 0]]}, "distinct features of 0..8, sorted"),
        ({"supports": [[0, 1], [2, 2]]}, "distinct features of 0..8, sorted"),
        ({"supports": [[0, 1], [-1, 2]]}, "distinct features of 0..8, sorted"),
        ({"supports": [[0, 1], [2, 9]]}, "distinct features of 0..8, sorted"),
        ({"supports": [0, 1]}, "supports must be an array of integers in 2 dimensions"),
        ({"supports": [[0.0, 1.0], [0.0, 2.0]]}, "array of integers .* of float64"),
        ({"values": [1.0]}, "values must be 2 numbers, one for each support"),
        ({"values": [1.0, np.nan]}, "values must be 2 numbers"),
        ({"values": ["1", "2"]}, "values must be an array of real numbers"),
        ({"values": [1 + 1j, 2]}, "values must be an array of real numbers"),
        ({"rest_bound": np.nan}, "rest_bound must be a number, got nan"),
        ({"tolerance": -0.1}, "tolerance must be a finite number ≥ 0, got -0.1"),
        ({"tolerance": np.inf}, "tolerance must be a finite number ≥ 0, got inf"),
        ({"sensitivity": 0.0}, "sensitivity must be a finite number > 0, got 0.0"),
        ({"feature_names": ("a",)}, "feature_names must have 9 entries, got 1"),
    ],
)
def test_what_is_no_certificate_is_refused(changes: dict[str, object], message: str) -> None:
    fields = {
        "supports": [[0, 1], [0, 2]], "values": [1.0, 2.0], "rest_bound": 2.0, "tolerance": 0.05,
        "sensitivity": 1.0, "n_features": 9, "feature_names": tuple("abcdefghi"),
    }  # fmt: skip
    assert SupportPool(**fields).certified
    with pytest.raises(InvalidInput, match=message):
        SupportPool(**{**fields, **changes})


def test_bounds_are_one_for_each_level() -> None:
    found = levels()
    with pytest.raises(InvalidInput, match="bounds must be"):
        replace(found, bounds=found.bounds[:-1])
    with pytest.raises(InvalidInput, match="bounds must be"):
        replace(found, bounds=np.full(len(found), np.nan))


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
