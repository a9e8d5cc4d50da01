"""Intervals from released numbers: coverage, units, and what happens where nothing is known."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from mipselect.errors import InvalidInput
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    SelectThenRegress,
    TukeyRegressor,
)
from mipselect.regression.coefficients import CoefficientTable, NoisyNormalEquations, fieller
from mipselect.selectors import ExponentialSelector
from tests.support.all_regressors import REGRESSORS, all_models, stored_again
from tests.support.patients import SCHEMA, patients

RELATIONS = ["add-remove", "replace-one"]
BETA = np.array([0.3, -0.2, 0.0])


def sample(n: int, seed: int, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 3))
    return X, X @ BETA + 0.1 + noise * rng.standard_normal(n)


def ends_of(release: ModelRelease, level: float = 0.95) -> np.ndarray:
    """Both ends of every interval, the intercept last; shape (2, m)."""
    rows = CoefficientTable.of(release, level).rows
    return np.array([[row.low, row.high] for row in (*rows[1:], rows[0])]).T


def released(n: int, epsilon: float, seed: int, **options: Any) -> ModelRelease:
    X, y = sample(n, seed)
    model = AdaSSPRegressor(epsilon=epsilon, x_bound=1.0, y_bound=1.2, random_state=seed, **options)
    release: ModelRelease = model.fit(X, y).release_
    return release


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("n", "epsilon"), [(2000, 1.0), (400, 50.0)])
def test_intervals_hold_the_truth_as_often_as_they_say(
    n: int, epsilon: float, relation: str
) -> None:
    """Mostly privacy noise, and mostly sampling error; 150 data sets, two levels."""
    truth, sets = np.array([*BETA, 0.1]), 150
    hits = {0.95: 0.0, 0.7: 0.0}
    for seed in range(sets):
        release = released(n, epsilon, seed, relation=relation)
        for level in hits:
            lower, upper = ends_of(release, level)
            inside = (lower <= truth) & (truth <= upper)
            hits[level] += inside.mean() / sets
    print(hits)
    for level, share in hits.items():
        # The four intervals of a data set are nearly independent.
        allowed = 4.0 * math.sqrt(level * (1.0 - level) / (4 * sets))
        assert abs(share - level) <= allowed


def test_the_widths_are_those_of_a_bootstrap_of_what_is_released() -> None:
    """Draw G̃, g̃ and the sampling error again at the estimate, and solve."""
    release = released(5000, 1.0, 3)
    known = NoisyNormalEquations.of(release)
    rng, size = np.random.default_rng(0), 4
    theta = np.linalg.solve(known.gram, known.gradient)
    left = known.squares - known.gradient @ theta
    root = np.linalg.cholesky(known.gram * left / known.rows)
    draws = []
    for _ in range(4000):
        beside = np.triu(rng.standard_normal((size, size)), 1) / math.sqrt(2.0)
        noise = beside + beside.T + np.diag(rng.standard_normal(size))
        gram = known.gram + known.gram_deviation * noise
        gradient = known.gram @ theta + root @ rng.standard_normal(size)
        gradient += known.gradient_deviation * rng.standard_normal(size)
        draws.append(np.linalg.solve(gram, gradient) / release.bounds["row_norm"])
    drawn = np.quantile(draws, [0.025, 0.975], axis=0)
    lower, upper = ends_of(release)
    widths = upper - lower
    np.testing.assert_allclose(widths, drawn[1] - drawn[0], rtol=0.06)
    # Of the privacy noise alone they would be shorter.
    silent = NoisyNormalEquations(
        known.gram, known.gradient, 0.0, 0.0, known.squares, known.rows, known.target_bound
    )
    shorter = silent.ends(np.eye(size) / release.bounds["row_norm"], 0.95)
    assert np.all(shorter[:, 1] - shorter[:, 0] < 0.6 * widths)


def test_the_ridge_is_no_bias() -> None:
    """Where the ridge is large, released coefficients are too short and intervals are not."""
    estimates, middles = [], []
    for seed in range(60):
        release = released(400, 1.0, seed, relation="add-remove")
        assert release.coefficients is not None
        estimates.append(release.coefficients[0])
        lower, upper = ends_of(release, 0.05)
        middles.append(0.5 * lower[0] + 0.5 * upper[0] if np.isfinite(lower[0]) else np.nan)
    assert np.median(estimates) < 0.24
    assert np.isfinite(middles).sum() > 50
    assert abs(np.nanmedian(middles) - 0.3) < 0.04


def test_without_noise_they_are_the_usual_ones() -> None:
    X, y = sample(60, 1)
    gram, gradient = X.T @ X, X.T @ y
    ends = NoisyNormalEquations(gram, gradient, 0.0, 0.0, y @ y, 60.0, 5.0).ends(np.eye(3), 0.9)
    inverse = np.linalg.inv(gram)
    theta = inverse @ gradient
    variance = float((y - X @ theta) @ (y - X @ theta)) / 57.0
    half = t.ppf(0.95, 57) * np.sqrt(variance * np.diag(inverse))
    np.testing.assert_allclose(ends, np.column_stack([theta - half, theta + half]))


def test_the_inequality_of_fieller_by_trying_all_x() -> None:
    rng = np.random.default_rng(4)
    x = np.linspace(-40.0, 40.0, 800_001)
    for _ in range(20):
        q, s, c = rng.uniform(1.0, 6.0), rng.uniform(0.0, 0.15), rng.uniform(0.5, 2.0)
        line = rng.uniform(-1.0, 1.0) * math.sqrt(s * c)
        inside = x[x * x <= q * (s * x * x + 2.0 * line * x + c)]
        np.testing.assert_allclose(fieller(q, s, line, c), [inside[0], inside[-1]], atol=2e-4)
    assert np.isinf(fieller(4.0, 0.25, 0.0, 1.0)).all()
    assert np.isinf(fieller(4.0, math.nan, 0.0, 1.0)).all()


def test_they_are_in_units_of_the_columns_and_come_from_the_release_alone() -> None:
    X, y = sample(2000, 5)
    units = np.array([1.0, 1000.0, 1e-3])
    options: dict[str, Any] = {"y_bound": 1.0, "random_state": 5}
    one = AdaSSPRegressor(x_bound=1.0, **options).fit(X, y).release_
    other = AdaSSPRegressor(x_bound=units, **options).fit(X * units, y).release_
    np.testing.assert_allclose(ends_of(other) * [*units, 1.0], ends_of(one), rtol=1e-3)
    read = stored_again(other)
    found = CoefficientTable.of(read)
    assert found == CoefficientTable.of(other)
    assert "per unit of x1" in str(found)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 30.0, 1e3])
def test_degenerate_tables_have_wide_intervals_and_never_nan(epsilon: float, relation: str) -> None:
    X, y = sample(50, 8)
    tables = {
        "one row": (X[:1], y[:1]),
        "fewer rows than coefficients": (X[:3], y[:3]),
        "all rows equal": (np.repeat(X[:1], 50, axis=0), np.repeat(y[:1], 50)),
        "a column of zeros": (X * [1.0, 0.0, 1.0], y),
        "a copy": (X[:, [0, 0, 1]], y),
        "far beyond the bounds": (X * 1e300, y * 1e300),
    }
    for name, (rows, target) in tables.items():
        for intercept in (True, False):
            model = AdaSSPRegressor(
                epsilon=epsilon, x_bound=1.0, y_bound=1.0, relation=relation,
                fit_intercept=intercept, random_state=1,
            )  # fmt: skip
            found = CoefficientTable.of(model.fit(rows, target).release_)
            assert all(row.low < row.high for row in found.rows)
            if epsilon <= 0.1:
                assert all(row.is_open for row in found.rows), name
    for name in ("one row", "fewer rows than coefficients", "a column of zeros", "a copy"):
        model = AdaSSPRegressor(epsilon=epsilon, x_bound=1.0, y_bound=1.0, random_state=2)
        # Some coefficient is not determined by these rows, whatever ε is.
        lower, upper = ends_of(model.fit(*tables[name]).release_)
        assert math.isinf(max(upper)) or max(upper) - min(lower) > 0.5, name


def test_a_gram_that_cannot_be_inverted_leaves_open_what_it_does_not_see() -> None:
    gram, functions = np.diag([9.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    equations = NoisyNormalEquations(gram, np.ones(2), 0.1, 0.1, 3.0, 9.0, 1.0)
    ends = equations.ends(functions, 0.95)
    assert np.isfinite(ends[0]).all()
    assert np.isinf(ends[1:]).all()
    tiny = np.full((2, 2), 5e-324)
    ends = NoisyNormalEquations(tiny, np.ones(2), 0.1, 0.1, 3.0, 9.0, 1.0).ends(np.eye(2), 0.95)
    assert np.isinf(ends).all()


@pytest.mark.parametrize("name", [name for name in REGRESSORS if name != "adassp"])
def test_what_has_no_intervals_says_why(name: str) -> None:
    X, y = sample(9000, 9)
    release = all_models(epsilon=3.0)[name].fit(X, y).release_
    found = CoefficientTable.of(release)
    assert re.match("No intervals: .* not released", found.reason)
    assert all(row.low is None for row in found.rows)


def test_no_model_and_no_level() -> None:
    X, y = sample(50, 10)
    without = TukeyRegressor(epsilon=0.1).fit(X, y).release_
    with pytest.raises(InvalidInput, match="no model was released"):
        CoefficientTable.of(without)
    with pytest.raises(InvalidInput, match="level"):
        CoefficientTable.of(released(100, 1.0, 0), 1.0)


def test_the_residual_variance_is_found_at_a_hundredth_of_the_budget() -> None:
    """And n, where it is not public."""
    for relation in RELATIONS:
        errors = []
        for seed in range(40):
            release = released(4000, 1.0, seed, relation=relation)
            known = NoisyNormalEquations.of(release)
            inverse = np.linalg.inv(known.gram)
            found = known._residual_variance(inverse, inverse @ known.gradient, 4)
            errors.append(found - 0.04)
            assert abs(known.rows - 4000) < (1e-9 if relation == "replace-one" else 400)
        assert abs(np.mean(errors)) < 0.01
        assert ("rows" in release.bounds) == (relation == "replace-one")
        assert ("rows" in release.statistics) == (relation == "add-remove")


def test_a_table_has_intervals_in_its_units() -> None:
    """Categories beside an intercept, and columns for values that are never missing."""
    truth = {"ward is b and not a": 30.0, "ward is c and not a": 15.0, "sex is m and not f": 8.0,
             "sex is missing, compared with its middle": -4.0, "intercept": 10.0}  # fmt: skip
    held = []
    for seed in range(40):
        regressor = AdaSSPRegressor(delta=1e-6, random_state=seed)
        model = SelectThenRegress(ExponentialSelector(1, random_state=seed), regressor, epsilon=5.0)
        model.fit_table(patients(4000, seed), SCHEMA, target="stay", always=["sex"], never=["died"])
        found = CoefficientTable.of(model.release_)
        ends = {row.term.meaning: (row.low, row.high) for row in found.rows}
        for name, low_and_high in ends.items():
            if name in truth:
                held.append(low_and_high[0] <= truth[name] <= low_and_high[1])
        # No row has such a value, so nothing can be said of it.
        for name in ("ward is missing, compared with a", "ward is in no list, compared with a"):
            assert ends[name] == (-math.inf, math.inf)
    assert 0.9 <= np.mean(held) < 1.0
    assert len(held) == 40 * len(truth)
