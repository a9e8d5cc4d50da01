"""Auditors find what is there, fail what is broken, and do not cry wolf."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from mipselect.errors import InvalidInput
from mipselect.privacy.audit import ScoreVectors, largest_loss, worst_pair
from tests.support.hockey_stick import (
    Box,
    Density,
    MixedLaw,
    hockey_stick,
    largest_delta,
    log_gaussian_delta,
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


def by_all_events(one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    events = chain.from_iterable(combinations(range(len(one)), k) for k in range(len(one) + 1))
    rate = math.exp(epsilon)
    return max(
        max(p[list(event)].sum() - rate * q[list(event)].sum() for p, q in pairs)
        for event in events
        for pairs in [((one, other), (other, one))]
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_the_worst_of_all_events(epsilon: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        one, other = rng.dirichlet(np.full(7, 0.5), 2)
        expected = by_all_events(one, other, epsilon)
        assert hockey_stick(one, other, epsilon) == pytest.approx(expected, abs=1e-14)
        laws = {0: np.log(one), 1: np.log(other), 2: np.log(one)}
        found = largest_delta(laws.__getitem__, [(0, 2), (0, 1)], epsilon)
        assert found.delta == pytest.approx(expected, abs=1e-14)
        assert found.error == 0.0
        assert found.loss == pytest.approx(np.abs(np.log(one / other)).max())


def test_impossible_outcomes_and_large_epsilons() -> None:
    with np.errstate(divide="ignore"):
        laws = {1: np.log([0.5, 0.5, 0.0]), 2: np.log([0.5, 0.4, 0.1]), 3: np.log([0.5, 0.5, 0.0])}
    for epsilon in (5.0, 1e3):
        found = largest_delta(laws.__getitem__, [(1, 2)], epsilon)
        assert found.delta == pytest.approx(0.1)
        assert found.loss == math.inf
        assert hockey_stick([Fraction(1), Fraction(0)], [Fraction(9, 10), Fraction(1, 10)],
                            epsilon) == pytest.approx(0.1)  # fmt: skip
    assert largest_delta(laws.__getitem__, [(1, 3)], 0.0).loss == 0.0


def test_what_is_added_up_exactly_is_never_below_the_truth() -> None:
    """Where P is e^ε Q but for a few units in the last place."""
    rng = np.random.default_rng(3)
    for epsilon in rng.uniform(0.01, 6.0, 50).tolist():
        q = Fraction(float(rng.uniform(1e-6, 1e-4)))
        p = q * Fraction(math.exp(epsilon)) * (1 + Fraction(int(rng.integers(1, 9)), 1 << 53))
        with mpmath.workdps(60):
            exact = (
                mpmath.mpf(p.numerator) / p.denominator
                - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.mpf(q.numerator) / q.denominator
            )
            found = hockey_stick([p, 1 - p], [q, 1 - q], epsilon)
            assert found >= exact
            assert found <= max(exact, 0) + 1e-15 * float(p)


def uniform(low: float, high: float) -> MixedLaw:
    def log_density(points: np.ndarray) -> np.ndarray:
        return np.full(len(points), -math.log(high - low))

    return MixedLaw(np.zeros(0), (Density(log_density, Box((low,), (high,))),))


def laplace(epsilon: float) -> Any:
    def law(centre: float) -> MixedLaw:
        def log_density(points: np.ndarray) -> np.ndarray:
            return math.log(epsilon / 2.0) - epsilon * np.abs(points[:, 0] - centre)

        return MixedLaw(np.zeros(0), (Density(log_density, Box((-60.0,), (61.0,))),))

    return law


@pytest.mark.parametrize("below", [0.0, 0.4, 0.9, 1.0])
def test_the_laplace_mechanism_needs_what_is_known(below: float) -> None:
    """δ(ε') = 1 - e^{(ε' - ε)/2}, and none from ε on."""
    found = largest_delta(laplace(1.0), [(0.0, 1.0)], below)
    expected = 1.0 - math.exp((below - 1.0) / 2.0)
    assert abs(found.delta - expected) <= found.error + 1e-8
    assert found.error <= 1e-6
    assert found.loss == pytest.approx(1.0)
    broken = largest_delta(laplace(1.1), [(0.0, 1.0)], 1.0)
    assert broken.delta > 0.04
    assert broken.delta > 10.0 * broken.error


@pytest.mark.parametrize("d", [1, 2])
def test_normal_noise_needs_what_its_curve_says(d: int) -> None:
    moved = np.full(d, 0.7 / math.sqrt(d))

    def law(sign: float) -> MixedLaw:
        def log_density(points: np.ndarray) -> np.ndarray:
            return norm.logpdf(points - sign * moved / 2.0).sum(axis=1)

        return MixedLaw(np.zeros(0), (Density(log_density, Box((-9.0,) * d, (9.0,) * d)),))

    for epsilon in (0.1, 1.0):
        found = largest_delta(law, [(-1.0, 1.0)], epsilon, tolerance=1e-5 if d == 2 else 1e-9)
        expected = math.exp(log_gaussian_delta(0.7, epsilon))
        assert abs(found.delta - expected) <= found.error + 1e-9
        assert found.error <= (1e-5 if d == 2 else 1e-9)


def test_no_probability_of_normal_noise_is_too_small_to_be_bounded() -> None:
    """δ is near exp(-10²⁰/2), below all decimals: the bound is a number all the same."""
    assert -(1e20) / 2 < log_gaussian_delta(1e-10, 1.0) < -1e17
