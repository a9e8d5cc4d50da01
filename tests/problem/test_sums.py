"""Sums in place of rows, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mipselect import Instance
from mipselect.problem.data import ExactSums
from mipselect.tables.moments import Moments


def test_units_of_a_feature_are_no_longer_than_its_bound() -> None:
    """Sensitivities of scores rest on squares that are 1 together at most."""
    ends = np.cumsum([1, 3, 6, 24])
    groups = [list(some) for some in np.split(np.arange(34), ends[:-1])]
    for seed in range(100):
        rng = np.random.default_rng(seed)
        bounds = np.append(10.0 ** rng.uniform(-3, 3, 4), np.full(30, rng.uniform(1, 2)))
        rows = rng.uniform(-1, 1, (3, 34)), np.ones(3)
        moments = Moments.of(rows, x_bound=bounds, y_bound=1.0)
        settings = {"support_size": 1, "coef_bound": 1.0, "ridge": 1.0, "groups": groups}
        sums = Instance.from_moments(moments, **settings).data
        assert isinstance(sums, ExactSums)
        for share in np.split(sums.shares, ends[:-1]):
            square = sum(Fraction(part) ** 2 for part in share.tolist())
            assert 1 - Fraction(1e-14) <= square <= 1
