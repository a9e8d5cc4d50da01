"""Pools and levels of a search, judged by the values of all supports."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from mipselect.backends.protocols import Solver
from mipselect.problem.instance import Instance
from tests.support.designs import all_supports, distances, provable
from tests.support.searches import levels_by, supports_by

SOLVERS = ["native", "highs"]


def check_search(
    instance: Instance,
    solver: str | Solver,
    tolerance: float,
    pool_sizes: Collection[int | str] | None = None,
    **tuned: object,
) -> int:
    """Judge the levels and pools of these sizes, or of a third of all; count the masters."""
    tolerance = provable(instance, tolerance)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    sizes = {max(1, len(values) // 3)} if pool_sizes is None else pool_sizes
    masters = _check_levels(instance, supports, values, (solver, tolerance), tuned)
    for size in sizes:
        masters += _check_pool(instance, supports, values, (size, solver, tolerance), tuned)
    return masters


def _check_pool(instance, supports, values, given, tuned) -> int:
    pool, slack = supports_by(instance, *given, **tuned), given[-1] * instance.sensitivity
    R = len(pool)
    assert pool.certified
    assert len(np.unique(pool.supports, axis=0)) == R
    assert np.all(np.diff(pool.supports, axis=1) > 0)
    assert np.all(np.diff(pool.values) >= 0)
    assert instance.objectives(pool.supports) == pytest.approx(pool.values, rel=1e-9)
    assert pool.values == pytest.approx(np.sort(values)[:R], rel=1e-9)
    listed = np.array([pool.position(row) is not None for row in supports])
    assert listed.sum() == R
    assert pool.rest_bound <= np.min(values[~listed], initial=np.inf) * (1 + 1e-9)
    assert pool.rest_bound >= pool.values[-1] - slack
    assert (pool.rest_bound == np.inf) == (len(values) == R)
    return pool.effort.masters


def _check_levels(instance, supports, values, given, tuned) -> int:
    levels, slack = levels_by(instance, *given, **tuned), given[-1] * instance.sensitivity
    s = instance.support_size
    assert levels.certified
    assert len(levels) == min(s, instance.n_features - s) + 1
    assert levels.values[0] == pytest.approx(values.min(), rel=1e-9)
    level_of = distances(supports, levels.supports[0])
    best = np.array([values[level_of == i].min() for i in range(len(levels))])
    assert levels.values == pytest.approx(best, rel=1e-9)
    assert np.all(levels.bounds <= best * (1 + 1e-9))
    assert np.all(levels.bounds >= levels.values - slack)
    assert distances(levels.supports, levels.supports[0]).tolist() == list(range(len(levels)))
    assert instance.objectives(levels.supports) == pytest.approx(levels.values, rel=1e-9)
    if len(values) > 1:
        second = np.sort(values)[1]
        assert 0.0 <= levels.gap <= second - levels.values[0] + 1e-9 * second
    assert levels.sizes == tuple(np.bincount(level_of, minlength=len(levels)).tolist())
    return levels.effort.masters
