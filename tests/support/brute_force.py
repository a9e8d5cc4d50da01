"""Pools and levels of a search, judged by the values of all supports."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.problem.instance import Instance
from tests.support.designs import all_supports, distances, provable
from tests.support.searches import levels_by, supports_by

SOLVERS = ["native", "highs"]


def check_pool(
    instance: Instance, pool_size: int | str, solver: str, tolerance: float, **tuned: object
) -> None:
    supports = all_supports(instance)
    values = instance.objectives(supports)
    tolerance = provable(instance, tolerance)
    pool = supports_by(instance, pool_size, solver, tolerance, **tuned)
    R = len(pool)
    assert len(np.unique(pool.supports, axis=0)) == R
    assert np.all(np.diff(pool.supports, axis=1) > 0)
    assert np.all(np.diff(pool.values) >= 0)
    assert instance.objectives(pool.supports) == pytest.approx(pool.values, rel=1e-9)
    assert pool.values == pytest.approx(np.sort(values)[:R], rel=1e-9)
    listed = np.array([pool.position(row) is not None for row in supports])
    assert listed.sum() == R
    assert pool.rest_bound <= np.min(values[~listed], initial=np.inf) * (1 + 1e-9)
    assert pool.rest_bound >= pool.values[-1] - tolerance * instance.sensitivity
    assert (pool.rest_bound == np.inf) == (len(values) == R)


def check_levels(instance: Instance, solver: str, tolerance: float, **tuned: object) -> None:
    supports = all_supports(instance)
    values = instance.objectives(supports)
    tolerance = provable(instance, tolerance)
    levels = levels_by(instance, solver, tolerance, **tuned)
    s = instance.support_size
    assert len(levels) == min(s, instance.n_features - s) + 1
    assert levels.values[0] == pytest.approx(values.min(), rel=1e-9)
    level_of = distances(supports, levels.supports[0])
    best = np.array([values[level_of == i].min() for i in range(len(levels))])
    assert levels.values == pytest.approx(best, rel=1e-9)
    assert np.all(levels.bounds <= best * (1 + 1e-9))
    assert np.all(levels.bounds >= levels.values - tolerance * instance.sensitivity)
    assert distances(levels.supports, levels.supports[0]).tolist() == list(range(len(levels)))
    assert instance.objectives(levels.supports) == pytest.approx(levels.values, rel=1e-9)
    if len(values) > 1:
        second = np.sort(values)[1]
        assert levels.gap <= second - levels.values[0] + 1e-9 * second
        assert levels.gap >= 0.0
    assert levels.sizes == tuple(np.bincount(level_of, minlength=len(levels)).tolist())
