"""Exact audits of the estimators themselves: from raw tables to log probabilities."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from mipselect.errors import ConditionNotMet
from mipselect.privacy.audit import Law, worst_pair
from mipselect.selectors import ExponentialSelector, MistakesSelector, TopRSelector
from tests.support.replaced_row import ReplacedRow

EPSILON, DELTA = 1.0, 0.05
ROWS, COLUMNS = 5, 4
COUNTS = (1, 2)
# Tables reach beyond the bounds, as real ones do: clipping is part of what is audited.
SPACE = ReplacedRow(ROWS, lower=np.full(COLUMNS + 1, -1.5), upper=np.full(COLUMNS + 1, 1.5))

BOUNDS: dict[str, float] = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 0.7, "ridge": 0.1}


def law(selector: Any) -> Law:
    outcomes = list(combinations(range(COLUMNS), selector.n_features_to_select))

    def of(table: np.ndarray) -> np.ndarray:
        mechanism = clone(selector).mechanism(table[:, :-1], table[:, -1])
        return np.array([mechanism.log_probability(outcome) for outcome in outcomes])

    return of


@pytest.mark.parametrize("k", COUNTS)
@pytest.mark.parametrize("kind", [TopRSelector, ExponentialSelector])
def test_no_neighbours_lose_more_than_epsilon(kind: Any, k: int) -> None:
    selector = kind(k, epsilon=EPSILON, **BOUNDS)
    worst = worst_pair(law(selector), SPACE, starts=2, rounds=1)
    assert worst.pairs > 200
    assert 0.15 * EPSILON < worst.epsilon <= EPSILON * (1.0 + 1e-9)


@pytest.mark.parametrize("kind", [TopRSelector, ExponentialSelector])
def test_half_of_the_sensitivity_is_found(kind: Any) -> None:
    """Half of the sensitivity is twice the ε."""
    selector = kind(1, epsilon=2.0 * EPSILON, **BOUNDS)
    assert worst_pair(law(selector), SPACE, starts=2, rounds=2).epsilon > EPSILON


@pytest.mark.parametrize("k", COUNTS)
def test_the_tested_mistakes_selector_keeps_epsilon_and_delta(k: int) -> None:
    selector = MistakesSelector(k, epsilon=EPSILON, test_epsilon=0.5, delta=DELTA, **BOUNDS)
    of = law(selector)
    rng = np.random.default_rng(0)
    for _ in range(40):
        one, other = (np.exp(of(table)) for table in SPACE.pair(SPACE.start(rng)))
        for p, q in ((one, other), (other, one)):
            assert np.maximum(p - np.exp(EPSILON + 0.5) * q, 0.0).sum() <= DELTA


def test_the_published_mistakes_selector_on_data_that_meet_its_condition() -> None:
    rng = np.random.default_rng(1)
    selector = MistakesSelector(1, epsilon=EPSILON, random_state=0, **BOUNDS)
    compared = 0
    for _ in range(40):
        X = rng.choice([-1.0, 1.0], (60, COLUMNS))
        table = np.column_stack([X, np.where(rng.random(60) < 0.9, X[:, 2], -X[:, 2])])
        neighbour = np.vstack([rng.choice([-1.5, 1.5], COLUMNS + 1), table[1:]])
        laws = []
        for data in (table, neighbour):
            try:
                selector.fit(data[:, :-1], data[:, -1])
            except ConditionNotMet:
                continue
            laws.append(law(selector)(data))
        if len(laws) == 2:
            compared += 1
            assert np.abs(laws[0] - laws[1]).max() <= EPSILON * (1.0 + 1e-9)
    assert compared > 10
