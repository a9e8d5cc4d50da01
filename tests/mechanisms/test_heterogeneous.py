"""Scores with sensitivities of their own: laws and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.mechanisms import (
    Distribution,
    GeneralizedExponential,
    HeterogeneousNoisyMax,
    Mechanism,
    NoisyMax,
    RandomizedResponse,
    RandomStopping,
)
from mipselect.mechanisms.noise.noise import NOISES
from tests.support.enumeration import log_law, normalized

SCORES = np.array([3.0, 1.0, 2.5, -4.0, 2.5])
WIDTHS = np.array([0.5, 2.0, 0.0, 1.0, 0.0])


@pytest.mark.parametrize("optimistic", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_generalized_exponential_is_its_formula(epsilon: float, optimistic: bool) -> None:
    widths = WIDTHS + 0.1
    t = 2 / epsilon * math.log(5 / 0.2) * (-1 if optimistic else 1)
    shifted = [t * width - score for score, width in zip(SCORES, widths, strict=True)]
    losses = [
        max((shifted[a] - shifted[b]) / (widths[a] + widths[b]) for b in range(5)) for a in range(5)
    ]
    mechanism = GeneralizedExponential(SCORES, widths, epsilon, beta=0.2, optimistic=optimistic)
    expected = normalized([-epsilon * loss / 2 for loss in losses])
    np.testing.assert_allclose(log_law(mechanism, range(5)), expected, rtol=1e-11)


def test_generalized_exponential_with_items_that_cannot_move() -> None:
    law = np.exp(log_law(GeneralizedExponential([1.0, 0.0, 1.0], [0.0, 0.0, 0.0], 1.0), range(3)))
    assert law == pytest.approx([0.5, 0.0, 0.5])


@pytest.mark.parametrize(
    ("widths", "epsilon"),
    [([1.0, 1e-250], 1e100), ([1e-240, 0.0], 1e70), ([1e250, 1.0], 1e-60), ([1.0, 0.0], 1e-305)],
)
def test_a_score_that_moves_gets_noise_or_nothing_is_paid(
    widths: list[float], epsilon: float
) -> None:
    """Noise too small for doubles was none, and noise too large was refused after it was paid."""
    with pytest.raises(InvalidInput, match="must lie between 1e-300 and 1e\\+300"):
        RandomStopping([1.0, 2.0], widths, epsilon)
    assert RandomStopping([1.0, 2.0], [0.0, 0.0], epsilon).sample(rng=0) in (0, 1)


def test_randomized_response_is_its_formula() -> None:
    law = np.exp(log_law(RandomizedResponse(SCORES, 1.5), range(5)))
    e = math.exp(1.5)
    assert law == pytest.approx([e / (e + 4), *[1 / (e + 4)] * 4], rel=1e-12)
    ties = RandomizedResponse([0.0, 1.0, 1.0], 1.0)
    assert ties.log_probability(1) > ties.log_probability(2)


def test_random_stopping_by_counting_looks() -> None:
    """Two items without noise: the worse wins only if it is all that was seen."""
    gamma = 0.3
    mechanism = RandomStopping([0.0, 1.0], [0.0, 0.0], 1.0, gamma=gamma)
    worse = sum(gamma * (1 - gamma) ** (n - 1) * 0.5**n for n in range(1, 200))
    assert math.exp(mechanism.log_probability(0)) == pytest.approx(worse, rel=1e-12)
    assert RandomStopping([0.0, 1.0], [1.0, 1.0], 1e7, gamma=gamma).log_probability(
        0
    ) == pytest.approx(math.log(worse), abs=1e-9)
    alone = RandomStopping([2.0], [1.0], 1.0)
    assert alone.log_probability(0) == pytest.approx(0.0, abs=1e-12)


def test_heterogeneous_noisy_max_is_a_distribution_only() -> None:
    mechanism = HeterogeneousNoisyMax(SCORES, WIDTHS, 1.0)
    assert isinstance(mechanism, Distribution)
    assert not isinstance(mechanism, Mechanism)
    for promise in ("guarantee", "release", "name"):
        assert not hasattr(mechanism, promise)
    assert mechanism.sample(1) in range(5)


@pytest.mark.parametrize("noise", NOISES)
def test_with_equal_sensitivities_it_is_noisy_max(noise: str) -> None:
    one = HeterogeneousNoisyMax(SCORES, np.full(5, 2.0), 3.0, noise=noise)
    two = NoisyMax(SCORES, 3.0, sensitivity=2.0, noise=noise)
    for index in range(5):
        estimate = one.estimate(index)
        assert estimate.method == "Monte Carlo"
        difference = abs(estimate.log_probability - two.log_probability(index))
        assert difference < 2 * estimate.error


def test_what_never_came_up_has_no_finite_error_bar() -> None:
    estimate = HeterogeneousNoisyMax([0.0, 0.5], [0.0, 1.0], 1.0).estimate(0)
    assert (estimate.log_probability, estimate.error) == (-math.inf, math.inf)


@pytest.mark.parametrize("build", [GeneralizedExponential, RandomStopping, HeterogeneousNoisyMax])
def test_sensitivities_are_checked(build: type) -> None:

    for widths in ([1.0] * 4, [-1.0] * 5, [np.inf] * 5, [np.nan] * 5):
        with pytest.raises(InvalidInput, match="sensitivities must be"):
            build(SCORES, widths, 1.0)


def test_other_parameters_are_checked() -> None:
    for value in (0.0, 1.0, np.nan, -1.0, "x"):
        with pytest.raises(InvalidInput, match="beta"):
            GeneralizedExponential(SCORES, WIDTHS, 1.0, beta=value)
        with pytest.raises(InvalidInput, match="gamma"):
            RandomStopping(SCORES, WIDTHS, 1.0, gamma=value)
