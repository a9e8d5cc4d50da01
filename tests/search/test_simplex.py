"""Weights of centres: the nearest ones that are allowed, a row at a time or many."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.search.bounds.expansion import ascended
from mipselect.search.bounds.modular import Budget
from mipselect.search.simplex import (
    largest_sum,
    on_capped_simplices,
    steps_along,
)


@pytest.mark.parametrize("seed", range(100))
def test_the_nearest_weights(seed: int) -> None:
    """Optimality: z = v - t where 0 < z < 1, v ≤ t where z = 0, v ≥ t + 1 where z = 1."""
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(1, 6)), int(rng.integers(2, 12))
    count = int(rng.integers(1, width))
    v = rng.choice([0.01, 1.0, 1e6]) * rng.standard_normal((rows, width)).round(2)
    z = on_capped_simplices(v, count)
    np.testing.assert_allclose(z.sum(axis=1), count, rtol=1e-9)
    size = np.abs(v).max() + 1.0
    for row, weights in zip(v, z, strict=True):
        shift = row - weights
        low = shift[weights < 1.0].max(initial=-np.inf)
        high = shift[weights > 0.0].min(initial=np.inf)
        assert low <= high + 1e-9 * size


def test_what_is_not_allowed_has_no_weight() -> None:
    v = np.array([[3.0, -np.inf, 1.0, 2.0], [-np.inf, 5.0, -np.inf, -1e200]])
    z = on_capped_simplices(v, 2)
    assert z[0, 1] == z[1, 0] == z[1, 2] == 0.0
    np.testing.assert_allclose(z.sum(axis=1), 2.0)
    assert on_capped_simplices(np.array([[1.0, -np.inf]]), 2).tolist() == [[1.0, 0.0]]
    assert on_capped_simplices(np.array([[0.3, -7.0]]), 2).tolist() == [[1.0, 1.0]]


def test_steps_are_those_of_single_rows() -> None:
    rng = np.random.default_rng(0)
    z, shares, z0, shares0 = rng.random((4, 5, 9))
    together = steps_along(z, shares, (z0, shares0))
    alone = [steps_along(z[[k]], shares[[k]], (z0[[k]], shares0[[k]]))[0] for k in range(5)]
    np.testing.assert_allclose(together, alone)
    assert steps_along(np.zeros((1, 3)), np.zeros((1, 3)), None).tolist() == [1.0]


def test_sums_of_the_largest() -> None:
    shares = np.array([3.0, 1.0, 2.0])
    assert [largest_sum(shares, count) for count in range(5)] == [0.0, 3.0, 5.0, 6.0, 6.0]


def test_a_step_stays_within_budgets_and_goes_up() -> None:
    rng = np.random.default_rng(0)
    budgets = [Budget(np.arange(0, 12, 2), 2), Budget(np.arange(1, 12, 2), 3)]
    z, terms = np.tile([2 / 6, 3 / 6], (4, 6)), rng.random((4, 12))
    admitted = rng.random((4, 12)) < 0.8
    admitted[:, :8] = True
    moved = ascended(z, terms, None, budgets, admitted)
    assert not moved[~admitted].any()
    for budget in budgets:
        np.testing.assert_allclose(moved[:, budget.positions].sum(axis=1), budget.count)
        gained = ((moved - z) * terms)[:, budget.positions].sum(axis=1)
        assert (gained[admitted[:, budget.positions].all(axis=1)] > 0.0).all()
