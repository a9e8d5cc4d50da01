"""Scores with sensitivities of their own: laws, refusals, and who wins when."""

from __future__ import annotations

import math

import numpy as np
import pytest
from enumeration import log_law, normalized

from mipselect.errors import InvalidInput, NotPrivate
from mipselect.mechanisms import (
    GeneralizedExponential,
    HeterogeneousNoisyMax,
    NoisyMax,
    RandomizedResponse,
    RandomStopping,
    rule_of_thumb,
)
from mipselect.mechanisms.noise import NOISES
from mipselect.privacy import Ledger

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


def test_heterogeneous_noisy_max_promises_and_releases_nothing() -> None:
    mechanism = HeterogeneousNoisyMax(SCORES, WIDTHS, 1.0)
    ledger = Ledger(10.0)
    with pytest.raises(NotPrivate, match="largest sensitivity"):
        mechanism.release(ledger)
    assert not ledger.entries
    with pytest.raises(NotPrivate):
        _ = mechanism.guarantee
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


def mean_squared_errors(scores: np.ndarray, widths: np.ndarray, epsilon: float) -> dict[str, float]:
    """Exact, from the laws; equal items share their probability."""
    mechanisms = {
        "noisy max": NoisyMax(scores, epsilon, sensitivity=widths.max()),
        "optimistic": GeneralizedExponential(scores, widths, epsilon, optimistic=True),
        "stopping": RandomStopping(scores, widths, epsilon),
        "unsafe": HeterogeneousNoisyMax(scores, widths, epsilon),
    }
    losses = (scores.max() - scores) ** 2
    return {
        name: float(np.exp(log_law(mechanism, range(scores.size))) @ losses)
        for name, mechanism in mechanisms.items()
    } | {"uniform": float(losses.mean())}


def test_the_published_scenarios_with_constant_scores() -> None:
    """Figure 1: half of the items score 1 and half -1, with sensitivities 1.8 and 1."""
    high = np.arange(20) < 10
    scores = np.where(high, 1.0, -1.0)
    positive = mean_squared_errors(scores, np.where(high, 1.8, 1.0), 1.0)
    for name in ("optimistic", "stopping", "unsafe"):
        assert positive[name] < positive["noisy max"] < positive["uniform"]
    negative = mean_squared_errors(scores, np.where(high, 1.0, 1.8), 1.0)
    for name in ("optimistic", "stopping", "unsafe"):
        assert negative[name] > negative["uniform"] > negative["noisy max"]
    mixed = mean_squared_errors(scores, np.where(np.arange(20) % 2, 1.0, 1.8), 1.0)
    for name in ("optimistic", "stopping"):
        assert mixed["noisy max"] < mixed[name] < mixed["uniform"]


def test_the_pessimistic_sign_wins_where_the_best_items_move_little() -> None:
    high = np.arange(20) < 10
    scores = np.where(high, 1.0, -1.0)
    losses = (1.0 - scores) ** 2
    for widths, ahead in ((np.where(high, 1.0, 1.8), True), (np.where(high, 1.8, 1.0), False)):
        gem = np.exp(log_law(GeneralizedExponential(scores, widths, 1.0), range(20))) @ losses
        plain = NoisyMax(scores, 1.0, sensitivity=1.8)
        assert (gem < np.exp(log_law(plain, range(20))) @ losses) == ahead
