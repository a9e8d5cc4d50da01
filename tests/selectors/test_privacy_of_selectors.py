"""Exact audits of the estimators themselves: from raw tables to log probabilities."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from mipselect.privacy.audit import Law, worst_pair
from mipselect.selectors import ExponentialSelector, TopRSelector
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
