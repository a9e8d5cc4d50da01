"""Bounds and ridges of any accepted size, on designs without a rank, end in a proof or an error.

Warnings are errors in these tests.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from mipselect import Instance, mistake_levels, top_supports
from mipselect.errors import InvalidInput
from mipselect.mechanisms import ExponentialMechanism
from mipselect.restricted.gram import KnownGram, roundings_of_sum
from mipselect.restricted.squared import EPS, PreparedSquared
from mipselect.search.least_squares.node import definite_multiplier, squared_node
from mipselect.selectors import MistakesSelector
from tests.support.designs import SINGULAR, all_supports, least_ridge, of_singular
from tests.support.searches import levels_by, search_by, supports_by

RIDGES = [1.0, 1e-9, least_ridge(20, 8, 1.0)]


@pytest.mark.parametrize("solver", ["native", "highs"])
@pytest.mark.parametrize("design", SINGULAR)
@pytest.mark.parametrize("tuned", [{}, {"cheap": 0}])
def test_searches_on_singular_designs_prove_what_all_values_say(
    tuned: dict[str, int], design: str, solver: str
) -> None:
    """Curvature is measured late, or at once."""
    for ridge, always in product(RIDGES, (0, 2)):
        instance = of_singular(design, 3, ridge, always)
        with np.errstate(all="ignore"):
            values = np.sort(instance.objectives(all_supports(instance)))
            pool = supports_by(instance, 4, solver, **tuned)
            levels = levels_by(instance, solver, **tuned)
        rounding = 1e-9 * instance.sensitivity
        assert pool.certified
        assert np.all(pool.values <= values[:4] + pool.allowance + rounding)
        assert pool.rest_bound <= values[4] + rounding
        assert levels.certified
        assert levels.values[0] <= values[0] + rounding


@pytest.mark.parametrize("n", [7, 100_000])
def test_equations_are_definite_whatever_the_sums_are_rounded_by(n: int) -> None:
    """G of copies, with all entries off the diagonal rounded up as often as sums may be."""
    G = np.full((6, 6), float(n)) * (1.0 + 0.5 * EPS * roundings_of_sum(n))
    np.fill_diagonal(G, float(n))
    problem = PreparedSquared(KnownGram(G), np.ones(6), float(n), n, ridge=1e-30, radius=1.0)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(G + problem.ridge * np.eye(6))
    sub = squared_node(problem, np.arange(4), 1, np.array([4, 5]), 0.0, None)
    assert sub.ridge == problem.ridge + definite_multiplier(problem, 5, 0.0)
    assert np.isfinite(sub.h).all()


def test_a_tiny_ridge_and_huge_bounds_do_not_break_selectors() -> None:
    X, y = [[-3.5e99, 0.0, -1.5e154, 1.1e308, 0.6]], [1e200]
    bounds = {"x_bound": 1e8, "y_bound": 1e-3, "coef_bound": 1e8, "ridge": 1e4}
    tested = {"test_epsilon": 1.0, "delta": 1e-6}
    for solver in ("auto", "highs"):
        selector = MistakesSelector(3, epsilon=10.0, solver=solver, **bounds, **tested)
        assert selector.fit(X, y).support_.sum() == 3


def test_draws_on_singular_designs_by_cells() -> None:
    for design, ridge in product(SINGULAR, RIDGES):
        mechanism = ExponentialMechanism(of_singular(design, 4, ridge), 1.0, most_listed=0)
        assert len(mechanism.sample()) == 4


def test_the_root_bound_of_a_level_survives_cancellation() -> None:
    """A sum of squares that is left after most of it is taken away may not be negative."""
    rng = np.random.default_rng(21)
    X = rng.standard_normal((8, 6)) * [1.0, 1e-3, 1e-6, 0.0, 0.0, 0.0]
    y = np.where(rng.standard_normal(8) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    bounds = {"x_bound": 5.0, "y_bound": 1.0, "coef_bound": 0.5, "ridge": 1.0}
    instance = Instance(X, y, support_size=3, loss="hinge", **bounds)
    search = search_by(instance)
    center = search.method.center(3, search.run)
    supports = all_supports(instance)
    level_of = np.sum(~np.isin(supports, center.support), axis=1)
    values = instance.objectives(supports)
    for level in range(1, search.levels):
        assert center.level_bound(level) <= values[level_of == level].min() + 1e-12


@pytest.mark.parametrize("pool_size", ["all", 10**14])
def test_a_pool_that_no_memory_holds_is_refused_at_once(pool_size: str | int) -> None:
    bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    instance = Instance(np.ones((2, 60)), np.ones(2), support_size=20, **bounds)
    with pytest.raises(InvalidInput, match="at most 10,000,000"):
        top_supports(instance, pool_size, time_limit=1.0)
    assert (
        len(top_supports(Instance(np.eye(6), np.ones(6), support_size=3, **bounds), 10**14)) == 20
    )


@pytest.mark.parametrize("call", ["pool", "levels", "prepare", "sample"])
def test_public_calls_let_numpy_say_nothing_about_the_data(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PreparedSquared, "values", loudly(PreparedSquared.values))
    instance = of_singular("as many rows as columns", 4, 1.0)
    before = np.geterr()
    with pytest.raises(RuntimeWarning):
        instance.objectives([[0, 1, 2, 3]])
    if call == "pool":
        assert top_supports(instance).certified
    elif call == "levels":
        assert mistake_levels(instance).certified
    else:
        mechanism = ExponentialMechanism(instance, 1.0, most_listed=0)
        mechanism.prepare()
        if call == "sample":
            assert len(mechanism.sample()) == 4
    assert np.geterr() == before


def loudly(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The same, with an overflow that NumPy would warn of."""

    def loud(*arguments: object) -> np.ndarray:
        assert np.isinf(np.array([1e308]) * 10.0).all()
        return function(*arguments)

    return loud
