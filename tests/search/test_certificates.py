"""What crosses the boundary is frozen, checked and proven once."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from mipselect import MistakeLevels, SupportPool, TopR, mistake_levels, top_supports
from mipselect.errors import InvalidInput
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
