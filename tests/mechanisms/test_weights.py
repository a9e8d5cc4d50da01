from __future__ import annotations

import random
from math import comb, log

import numpy as np
import pytest
from enumeration import frequencies_agree
from hypothesis import given, settings
from hypothesis import strategies as st

from mipselect.errors import InvalidInput
from mipselect.mechanisms.weights import BinnedWeights
from mipselect.privacy.randomness import IntegerWeights


@given(st.lists(st.floats(-3000.0, 3000.0), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_the_law_is_that_of_integer_weights(logs: list[float]) -> None:
    one, two = BinnedWeights.from_logs(np.array(logs)), IntegerWeights.from_logs(logs)
    expected = [two.log_probability(k) for k in range(len(logs))]
    found = [one.log_probability(k) for k in range(len(logs))]
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-300)
    assert one.log_probabilities() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_weights_are_added_up_exactly() -> None:
    rng = np.random.default_rng(0)
    weights = BinnedWeights.from_logs(rng.normal(0.0, 300.0, 5000))
    pairs = zip(weights.mantissas.tolist(), weights.exponents.tolist(), strict=True)
    assert weights.total == sum(m << e for m, e in pairs)
    assert weights.total == sum(part << e for e, part in weights.bins)


def test_multiplicities_come_in_after_the_floor() -> None:
    size = comb(10_000, 50)
    weights = BinnedWeights.from_logs(
        np.array([0.0, -1.0, -np.inf]), np.log([1.0, 7.0, float(size)]), log_outcomes=log(size)
    )
    assert weights.log_probability(1) - weights.log_probability(0) == pytest.approx(log(7) - 1)
    floor = weights.log_probability(2) - log(size)
    assert -np.inf < floor < weights.log_probability(0) - log(size) - 700.0


def test_a_change_of_the_logs_by_a_moves_no_probability_by_more_than_2a() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.uniform(0.0, 500.0, 40)
    for scale in (1.0, 1e3, 1e6):
        logs = rng.normal(0.0, scale, 40)
        moved = logs + 0.5 * rng.uniform(-1.0, 1.0, 40)
        laws = [
            BinnedWeights.from_logs(x, sizes, log_outcomes=600.0).log_probabilities()
            for x in (logs, moved)
        ]
        assert np.abs(laws[0] - laws[1]).max() <= 1.0 + 1e-7


def test_draws_follow_the_weights() -> None:
    logs = np.array([0.0, -0.4, -1.0, -5.0, -1.0, -0.9])
    weights, source = BinnedWeights.from_logs(logs), random.Random(2)
    assert len(weights.bins) < len(logs)
    frequencies_agree(lambda: weights.draw(source), range(6), weights.log_probabilities())


def test_members_of_one_bin_are_told_apart() -> None:
    weights, source = BinnedWeights.from_logs(np.array([0.0, -0.34])), random.Random(2)
    assert len(weights.bins) == 1
    frequencies_agree(lambda: weights.draw(source), range(2), weights.log_probabilities())


@pytest.mark.parametrize("logs", [[], [np.nan, 0.0], [np.inf], [-np.inf]])
def test_logs_that_are_no_logs_are_refused(logs: list[float]) -> None:
    with pytest.raises(InvalidInput):
        BinnedWeights.from_logs(np.array(logs))
