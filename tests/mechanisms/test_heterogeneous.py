"""Scores with sensitivities of their own: laws, refusals, and who wins when."""

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
    ScoreDistribution,
    rule_of_thumb,
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
    assert not one.exact
    for index in range(5):
        estimate = one.estimate(index)
        assert estimate.method == "Monte Carlo"
        difference = abs(estimate.log_probability - two.log_probability(index))
        assert difference < 2 * estimate.error


def test_what_never_came_up_has_no_finite_error_bar() -> None:
    estimate = HeterogeneousNoisyMax([0.0, 0.5], [0.0, 1.0], 1.0).estimate(0)
    assert (estimate.log_probability, estimate.error) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    "build", [GeneralizedExponential, RandomStopping, HeterogeneousNoisyMax, rule_of_thumb]
)
def test_sensitivities_are_checked(build: type) -> None:
    extra = () if build is rule_of_thumb else (1.0,)
    for widths in ([1.0] * 4, [-1.0] * 5, [np.inf] * 5, [np.nan] * 5):
        with pytest.raises(InvalidInput, match="sensitivities must be"):
            build(SCORES, widths, *extra)


def test_other_parameters_are_checked() -> None:
    for value in (0.0, 1.0, np.nan, -1.0, "x"):
        with pytest.raises(InvalidInput, match="beta"):
            GeneralizedExponential(SCORES, WIDTHS, 1.0, beta=value)
        with pytest.raises(InvalidInput, match="gamma"):
            RandomStopping(SCORES, WIDTHS, 1.0, gamma=value)


def test_the_rule_of_thumb() -> None:
    assert rule_of_thumb([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]).favours == "heterogeneous"
    opposite = rule_of_thumb([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])
    assert opposite.favours == "homogeneous"
    assert opposite.correlation == pytest.approx(-1.0)
    constant = rule_of_thumb([1.0, 2.0], [1.0, 1.0])
    assert math.isnan(constant.correlation)
    assert constant.favours == "homogeneous"


ITEMS = 100
HIGH = np.arange(ITEMS) < ITEMS // 2
CONSTANT = np.where(HIGH, 1.0, -1.0)
UNIFORM = 2.0
PUBLISHED = {
    "positive": np.where(HIGH, 1.8, 1.0),
    "negative": np.where(HIGH, 1.0, 1.8),
    "none": np.where(np.arange(ITEMS) % 2, 1.0, 1.8),
}
"""Sensitivities of the paper's Figure 1: scenarios 1, 2 and 3."""


def squared_error(mechanism: ScoreDistribution[int]) -> float:
    """The mean over the law: a low item misses by 2. Two of each kind stand for all."""
    return 4.0 * sum(ITEMS / 4 * math.exp(mechanism.log_probability(index)) for index in (50, 51))


def errors(scenario: str, epsilon: float) -> dict[str, float]:
    widths = PUBLISHED[scenario]
    return {
        name: squared_error(mechanism)
        for name, mechanism in {
            "noisy max": NoisyMax(CONSTANT, epsilon, sensitivity=1.8),
            "stopping": RandomStopping(CONSTANT, widths, epsilon),
            "pessimistic": GeneralizedExponential(CONSTANT, widths, epsilon),
            "optimistic": GeneralizedExponential(CONSTANT, widths, epsilon, optimistic=True),
        }.items()
    }


@pytest.mark.parametrize("scenario", PUBLISHED)
def test_two_low_items_and_two_high_ones_stand_for_all(scenario: str) -> None:
    for mechanism in (
        RandomStopping(CONSTANT, PUBLISHED[scenario], 2.0),
        GeneralizedExponential(CONSTANT, PUBLISHED[scenario], 2.0),
    ):
        law = np.exp(log_law(mechanism, range(ITEMS)))
        assert law.sum() == pytest.approx(1.0, rel=1e-9)
        assert squared_error(mechanism) == pytest.approx(4.0 * law[~HIGH].sum(), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0, 5.0, 10.0])
def test_positive_correlation(epsilon: float) -> None:
    """Scenario 1: the optimistic sign is ahead of noisy max throughout, stopping up to 4.26."""
    found = errors("positive", epsilon)
    assert found["optimistic"] < found["noisy max"] < found["pessimistic"]
    assert (found["stopping"] < found["noisy max"]) == (epsilon < 4.26)
    assert found["optimistic"] < found["stopping"] < UNIFORM
    assert (found["pessimistic"] > UNIFORM) == (epsilon < 6.0)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0, 5.0, 10.0])
def test_negative_correlation(epsilon: float) -> None:
    """Scenario 2: the same two are behind, at small ε behind a blind choice; the other is ahead."""
    found = errors("negative", epsilon)
    assert found["pessimistic"] < found["noisy max"] < found["stopping"]
    assert found["noisy max"] < found["optimistic"]
    assert (found["optimistic"] > UNIFORM) == (epsilon < 6.0)
    assert (found["stopping"] > UNIFORM) == (epsilon < 2.1)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0, 5.0, 10.0])
def test_no_correlation(epsilon: float) -> None:
    """Scenario 3: noisy max is ahead of them all, and they of a blind choice."""
    found = errors("none", epsilon)
    for name in ("stopping", "pessimistic", "optimistic"):
        assert found["noisy max"] < found[name] < UNIFORM


def test_random_stopping_is_ahead_until_it_meets_noisy_max() -> None:
    """The ε of the crossing, by γ: smaller is further, and none of the usual γ gets to 10."""
    for gamma, crossing in ((0.05, 4.26), (0.02, 6.42), (0.01, 7.91), (0.005, 9.3), (0.002, 11.05)):
        for epsilon in (0.99 * crossing, 1.01 * crossing):
            stopping = RandomStopping(CONSTANT, PUBLISHED["positive"], epsilon, gamma=gamma)
            plain = NoisyMax(CONSTANT, epsilon, sensitivity=1.8)
            assert (squared_error(stopping) < squared_error(plain)) == (epsilon < crossing)


@pytest.mark.parametrize("gamma", [0.05, 0.005])
@pytest.mark.parametrize("scenario", PUBLISHED)
def test_no_noise_saves_random_stopping_from_stopping_early(scenario: str, gamma: float) -> None:
    """Whatever the noise, with probability Σ γ(1-γ)^(n-1) 2^-n = γ/(1+γ) no high item is seen."""
    early = sum(gamma * (1.0 - gamma) ** (n - 1) * 0.5**n for n in range(1, 1100))
    least = 4.0 * gamma / (1.0 + gamma)
    assert least == pytest.approx(4.0 * early, rel=1e-12)
    for epsilon in (1.0, 10.0, 30.0):
        mechanism = RandomStopping(CONSTANT, PUBLISHED[scenario], epsilon, gamma=gamma)
        assert squared_error(mechanism) > least
    silent = RandomStopping(CONSTANT, PUBLISHED[scenario], 1e6, gamma=gamma)
    assert squared_error(silent) == pytest.approx(least, rel=1e-9)
    assert squared_error(NoisyMax(CONSTANT, 10.0, sensitivity=1.8)) < least


def test_noise_of_their_own_without_privacy() -> None:
    """The mechanism that is not private shows the published pattern too; with 20 of the items."""
    some = slice(40, 60)
    losses = (1.0 - CONSTANT[some]) ** 2

    def error(mechanism: ScoreDistribution[int]) -> float:
        return float(np.exp(log_law(mechanism, range(20))) @ losses)

    positive, negative, none = (
        error(HeterogeneousNoisyMax(CONSTANT[some], widths[some], 1.0))
        for widths in PUBLISHED.values()
    )
    plain = error(NoisyMax(CONSTANT[some], 1.0, sensitivity=1.8))
    assert positive < plain < UNIFORM < negative
    assert none < UNIFORM
