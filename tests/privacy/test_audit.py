"""The auditor finds what is there, fails what is broken, and does not cry wolf."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.privacy.audit import (
    ScoreVectors,
    largest_loss,
    worst_pair,
)
from tests.support.replaced_row import ReplacedRow


def exponential_mechanism(epsilon: float):
    def law(scores: np.ndarray) -> np.ndarray:
        u = epsilon * scores / 2
        return u - np.logaddexp.reduce(u)

    return law


def mean_mechanism(epsilon: float):
    """The exponential mechanism on column sums of a table with entries in [0, 1]."""

    def law(table: np.ndarray) -> np.ndarray:
        u = epsilon * table.sum(axis=0) / 2
        return u - np.logaddexp.reduce(u)

    return law


def test_it_looks_at_all_outcomes_of_all_pairs() -> None:
    laws = {"a": [0.5, 0.3, 0.2], "b": [0.5, 0.2, 0.3], "c": [0.25, 0.25, 0.5]}
    loss = largest_loss(lambda data: np.log(laws[data]), [("a", "b"), ("a", "c"), ("b", "b")])
    assert loss.epsilon == pytest.approx(math.log(2.5))
    assert (loss.outcome, loss.data, loss.other, loss.pairs) == (2, "a", "c", 3)
    assert "0.916" in str(loss)


def test_impossible_outcomes() -> None:
    with np.errstate(divide="ignore"):
        laws = {k: np.log(v) for k, v in {1: [0.5, 0.5, 0.0], 2: [0.5, 0.5, 0.0]}.items()}
        laws[3] = np.log([0.5, 0.4, 0.1])
    assert largest_loss(laws.__getitem__, [(1, 2)]).epsilon == 0.0
    assert largest_loss(laws.__getitem__, [(1, 3)]).epsilon == math.inf


@pytest.mark.parametrize(
    ("one", "two"),
    [([0.5, 0.2], [0.5, 0.5]), ([np.nan, 1.0], [0.5, 0.5]), ([1.0], [0.5, 0.5]), ([], [])],
)
def test_what_is_no_law_is_refused(one: list[float], two: list[float]) -> None:
    with pytest.raises(InvalidInput, match="law"):
        largest_loss(lambda data: np.log(data), [(one, two)])


def test_no_pairs_are_no_audit() -> None:
    with pytest.raises(InvalidInput, match="at least one pair"):
        largest_loss(lambda data: [0.0], [])
    with pytest.raises(InvalidInput, match="starts"):
        worst_pair(exponential_mechanism(1.0), ScoreVectors(2, 0.0, 1.0), starts=0)


@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_the_search_comes_close_to_the_truth_and_never_passes_it(epsilon: float) -> None:
    law = exponential_mechanism(epsilon)
    space = ScoreVectors(4, 0.0, 20.0 / epsilon)
    loss = worst_pair(law, space, starts=3, rounds=4)
    assert 0.99 * epsilon < loss.epsilon <= epsilon * (1 + 1e-12)
    assert np.abs(loss.data - loss.other).max() <= 1.0
    random_pairs = [space.pair(space.start(np.random.default_rng(k))) for k in range(loss.pairs)]
    assert largest_loss(law, random_pairs).epsilon < loss.epsilon


def test_monotone_scores_cost_half_as_much() -> None:
    law = exponential_mechanism(1.0)
    loss = worst_pair(law, ScoreVectors(4, 0.0, 20.0, monotone=True), starts=3)
    assert 0.49 < loss.epsilon <= 0.5 * (1 + 1e-12)


def test_tables_with_a_replaced_row() -> None:
    """The worst rows are at the bounds: all for one column against all for the others."""
    space = ReplacedRow(12, np.zeros(3), np.ones(3))
    loss = worst_pair(mean_mechanism(4.0), space, starts=4, rounds=6)
    assert 3.5 < loss.epsilon <= 4.0 * (1 + 1e-12)
    assert np.array_equal(loss.data[1:], loss.other[1:])
    assert set(np.concatenate([loss.data[0], loss.other[0]])) <= {0.0, 1.0}


@pytest.mark.parametrize("bad", [(1.0, 0.0), (np.nan, 1.0)])
def test_spaces_are_checked(bad: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="low"):
        ScoreVectors(3, *bad)
