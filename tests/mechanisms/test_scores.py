"""Every mechanism of one table on scores: draws, digits, what it states, and what it refuses."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.mechanisms import (
    AdaptivePeeling,
    CanonicalLipschitz,
    GeneralizedExponential,
    HeterogeneousNoisyMax,
    JointExponential,
    NoisyMax,
    OneShotTopK,
    Peeling,
    RandomStopping,
    SampleAggregate,
)
from mipselect.mechanisms.scores.base import (
    accumulated,
    checked_scores,
    differences,
    reach,
    spendable,
)
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.audit import largest_loss
from mipselect.privacy.concentrated import bounded_range_rho, pure_rho
from tests.support.enumeration import MECHANISMS, UNEQUAL, frequencies_agree, log_law
from tests.support.exact_audit import largest_rho

ROUNDING = 1.0 + 1e-8
"""Of the logs that are compared; a quadrature is good to about 1e-12."""

ALL = MECHANISMS | UNEQUAL
SCORES = np.array([3.0, 1.0, 2.5, -4.0, 2.5, 0.0])
EXTREMES = (1e-12, 1e-3, 40.0, 1e7)


@pytest.mark.parametrize("name", ALL)
def test_probabilities_sum_to_one(name: str) -> None:
    for epsilon in (1.5, *EXTREMES):
        logs = log_law(ALL[name](SCORES, epsilon), ALL[name].of(6))
        assert logsumexp(logs) == pytest.approx(0.0, abs=1e-9)
        assert np.all(logs > -np.inf)


@pytest.mark.parametrize("name", ALL)
def test_draws_follow_the_probabilities(name: str) -> None:
    mechanism, outcomes, source = ALL[name](SCORES, 2.0), ALL[name].of(6), random.Random(20)
    logs = log_law(mechanism, outcomes)
    frequencies_agree(lambda: mechanism.sample(source), outcomes, logs)
    if name in ("max-exponential", "peeling-exponential", "stopping"):
        # By the samplers of OpenDP.
        frequencies_agree(mechanism.sample, outcomes, logs, 1000)


@pytest.mark.parametrize("name", ALL)
def test_releases(name: str) -> None:
    mechanism, outcomes = ALL[name](SCORES, 0.75), ALL[name].of(6)
    assert mechanism.guarantee == Guarantee(0.75)
    ledger = Ledger(1.0)
    release = mechanism.release(ledger)
    assert release.private
    assert release.guarantee == mechanism.guarantee
    assert release.mechanism == mechanism.name
    assert all(type(j) is int for j in release.support)
    assert release.support in outcomes or release.support[0] in outcomes
    assert str(release).startswith(f"{mechanism.name} selected {release.support[0]}")
    with pytest.raises(BudgetExceeded):
        mechanism.release(ledger)
    assert not mechanism.release(rng=3).private
    assert mechanism.sample(3) == mechanism.sample(random.Random(3))


@pytest.mark.parametrize("name", ALL)
def test_bad_scores_and_outcomes_are_refused(name: str) -> None:
    build = ALL[name]
    for bad in (np.nan, np.inf, -np.inf):
        scores = SCORES.copy()
        scores[3] = bad
        with pytest.raises(InvalidInput, match=r"finite; scores\[3\]"):
            build(scores, 1.0)
    for scores in (np.empty(0), np.zeros((3, 2)), ["a"] * 6):
        with pytest.raises(InvalidInput, match="scores must be"):
            build(scores, 1.0)
    for epsilon in (0.0, -1.0, np.nan, np.inf, True, "1"):
        with pytest.raises(InvalidInput, match="epsilon"):
            build(SCORES, epsilon)
    mechanism, wrong = build(SCORES, 1.0), [6, -1, 1.0, (1,)]
    if not isinstance(build.of(6), range):
        wrong = [(0,) * 2, tuple(range(3)), (6, 1), (0.5,) * 2, 3]
    for outcome in wrong:
        with pytest.raises(InvalidInput, match="an outcome is"):
            mechanism.log_probability(outcome)


def loss(name: str, one: Any, other: Any, epsilon: float = 1.0, **more: Any) -> float:
    build = MECHANISMS[name]
    law = lambda q: log_law(build(q, epsilon, **more), build.of(4))  # noqa: E731
    return largest_loss(law, [(one, other)]).epsilon


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_stated_holds_on_neighbours_at_their_bounds(name: str) -> None:
    """ε, and the ρ of whatever is of bounded range."""
    build, rng, epsilon, worst = MECHANISMS[name], np.random.default_rng(5), 2.0, 0.0
    for k in range(36):
        q = rng.uniform(-3, 3, 5) if k % 3 else rng.integers(-2, 3, 5).astype(float)
        moved = q + (rng.choice([-1.0, 1.0], 5) if k % 4 else rng.uniform(-1.0, 1.0, 5))
        logs = [log_law(build(each, epsilon), build.of(5)) for each in (q, moved)]
        assert np.abs(np.subtract(*logs)).max() <= epsilon * ROUNDING
        worst = max(worst, largest_rho(*logs))
    guarantee = build(np.arange(5.0), epsilon).guarantee
    assert guarantee.rho == build.rho(epsilon)
    assert guarantee.concentrated == (guarantee.rho or pure_rho(epsilon))
    assert 0.03 * guarantee.concentrated < worst <= guarantee.concentrated * (1.0 + 1e-6)


@pytest.mark.parametrize("name", ["max-exponential", "response"])
def test_what_is_not_of_bounded_range_would_be_noticed(name: str) -> None:
    """They are ε-private, and ε²/8 is not true of them."""
    build, worst, apart = MECHANISMS[name], 0.0, 0.0
    for pair in [([0.0, 0.0], [1.0, -1.0]), ([1.0, 0.0], [0.0, 1.0])]:
        logs = [log_law(build(q, 2.0), range(2)) for q in pair]
        worst, apart = max(worst, largest_rho(*logs)), max(apart, np.ptp(np.subtract(*logs)))
    assert apart > 1.2 * 2.0
    assert worst > 1.2 * bounded_range_rho(2.0)


def message_of(call: Callable[..., Any], *given: Any, **options: Any) -> str:
    with pytest.raises(InvalidInput) as refused:
        call(*given, **options)
    return str(refused.value)


K_ITEMS = (OneShotTopK, Peeling, CanonicalLipschitz, JointExponential)
WRONG: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    *((NoisyMax, (1.0,), {"sensitivity": x}, "sensitivity") for x in (0.0, -1.0, np.nan, "1")),
    *((kind, (2, 1.0), {"sensitivity": x}, "sensitivity") for kind in K_ITEMS
      for x in (0.0, -1.0, np.inf, np.nan, "1", True)),
    *((kind, (k, 1.0), {}, "k must be an integer in 1..6") for kind in K_ITEMS
      for k in (0, 7, 2.5)),
    *((kind, (2, 1e-14), {}, "epsilon must be at least") for kind in K_ITEMS),
    *((kind, (2, 1.0), {"noise": "gauss"}, "noise") for kind in K_ITEMS[:3]),
    *((kind, (2, 1.0), {"relation": "swap"}, "relation") for kind in K_ITEMS),
    *((kind, (np.ones(6), 1.0), {"relation": "swap"}, "relation")
      for kind in (GeneralizedExponential, RandomStopping)),
    *((kind, (widths, 1.0), {}, "sensitivities must be")
      for kind in (GeneralizedExponential, RandomStopping, HeterogeneousNoisyMax)
      for widths in ([1.0] * 4, [-1.0] * 6, [np.inf] * 6, [np.nan] * 6)),
    *((CanonicalLipschitz, (2, 1.0), {"gamma": x}, "gamma") for x in (-0.1, 1.1, np.nan)),
    *((GeneralizedExponential, (np.ones(6), 1.0), {"beta": x}, "beta") for x in (0.0, 1.0, "x")),
    *((RandomStopping, (np.ones(6), 1.0), {"gamma": x}, "gamma") for x in (0.0, 1.0, np.nan)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given", "options", "words"), WRONG)
def test_other_parameters_are_checked(
    kind: Any, given: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        kind(SCORES, *given, **options)


def test_parameters_of_rounds_and_events_are_checked() -> None:
    build = partial(AdaptivePeeling, lambda chosen: SCORES)
    for k in (0, 7, 1.5, True):
        assert "k must be an integer" in message_of(build, k, 1.0, sensitivities=[1.0])
    for widths in ([1.0], 1.0, [1.0] * 3):
        assert "2 numbers, one for each" in message_of(build, 2, 1.0, sensitivities=widths)
    for value in (0.0, -1.0, np.nan, np.inf):
        assert "a sensitivity must" in message_of(build, 2, 1.0, sensitivities=[1.0, value])
    assert "relation" in message_of(build, 2, 1.0, sensitivities=[1.0, 1.0], relation="swap")
    shrinking = AdaptivePeeling(
        lambda chosen: np.zeros(4 - len(chosen)), 2, 1.0, sensitivities=[1.0, 1.0]
    )
    assert "4 numbers in every round, got 3 after 1" in message_of(shrinking.sample)
    assert "GOOD" in message_of(CanonicalLipschitz(SCORES, 2, 1.0).event_probability, "top")


def test_what_a_noisy_number_of_rows_costs_is_no_longer_there_for_the_votes() -> None:
    rows, least = (np.zeros((1, 5)), np.zeros(1), 1), 7.2e-15
    given: dict[str, Any] = {"ballot": lambda *_: (), "relation": "add-remove"}
    assert SampleAggregate(*rows, least, n_blocks=4, **given).guarantee.epsilon == least
    assert "epsilon" in message_of(SampleAggregate, *rows, least, **given)
    assert "n_blocks" in message_of(SampleAggregate, *rows, 1.0, n_blocks=0, **given)


LOST = {
    "beside 1e18, joint": ([1e18, 65.0, 64.0, 64.0], [1e18, 64.0, 63.0, 65.0]),
    "beside 1e18, peeling": ([1e18, 192.25, 192.25, 191.25], [1e18, 191.25, 191.25, 190.25]),
    "beside -1e18": ([-1e18, 65.0, 64.0, 63.5], [-1e18, 64.0, 65.0, 64.5]),
    "between": ([1e18, 65.0, 64.0, -1e18], [1e18, 64.0, 65.0, -1e18]),
    "beside 1e300": ([1e300, 0.25, 1.0, 1e300], [1e300, 1.25, 0.0, 1e300]),
    "at 2^53": (
        [2.0**53, 2.0**53 - 1.0, 2.0**53 - 2.0, 0.0],
        [2.0**53 - 1.0, 2.0**53, 2.0**53 - 1.0, 0.0],
    ),
    "integers beyond 2^53": (
        [2**53 + 1, 2**53 + 2, 2**53 + 3, 2**53],
        [2**53 + 2, 2**53 + 1, 2**53 + 2, 2**53 + 1],
    ),
    "integers of 64 bits": (
        np.array([2**62 + 1, 2**62 + 2, -(2**62), 3]),
        np.array([2**62 + 2, 2**62 + 1, -(2**62) + 1, 2]),
    ),
    "integers beyond 64 bits": (
        [10**400, 10**30 + 1, 10**30, -(10**400)],
        [10**400 - 1, 10**30, 10**30 + 1, 1 - 10**400],
    ),
    "integers and doubles": ([2**53 + 1, 0.5, 1.5, 1e300], [2**53 + 2, 1.5, 0.5, 1e300]),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_digit_is_lost_beside_a_large_score(name: str) -> None:
    for pair in LOST.values():
        assert loss(name, *pair) <= ROUNDING


@pytest.mark.parametrize("name", MECHANISMS)
def test_differences_that_overflow_before_they_are_divided(name: str) -> None:
    """In units of 1e250, the largest sensitivity, and beyond it nothing is built, on both sides."""
    scores, move = np.array([1.0, -1.0, 0.5, 0.0]), np.array([-1.0, 1.0, -1.0, 1.0])
    huge = 1.7e308 * scores
    assert loss(name, huge, 1e250 * move / 2 + huge, sensitivity=1e250) <= ROUNDING
    near = 1e250 * scores
    assert loss(name, near, near + 0.999e250 * move, sensitivity=1e250) <= ROUNDING
    if name != "response":
        for sensitivity in (8e307, 1e-310):
            for side in (1.2 * scores, 1.2 * scores + move):
                with pytest.raises(InvalidInput, match="choose other units"):
                    MECHANISMS[name](sensitivity * side, 1.0, sensitivity=sensitivity)


def hostile(rng: np.random.Generator, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours with scores of all sizes, exact in doubles, that move by 1 or not at all."""
    sizes = 2.0 ** rng.integers(0, 60, 4) if rng.random() < 0.5 else rng.choice([1.0, 1e18], 4)
    scores = np.rint(rng.uniform(-1.0, 1.0, 4) * sizes * rng.choice([1.0, 100.0 / epsilon]))
    moved = scores + rng.integers(-1, 2, 4)
    # Where a double cannot move by 1 its neighbour is itself.
    return scores, np.where(np.abs(scores) < 2.0**52, moved, scores)


@pytest.mark.parametrize("name", MECHANISMS)
def test_hostile_pairs(name: str) -> None:
    rng = np.random.default_rng(len(name))
    for _ in range(8):
        epsilon = float(rng.choice([1e-3, 0.1, 1.0, 30.0]))
        pair = hostile(rng, epsilon)
        # At a small ε the error of a quadrature, and of a log, is what is seen.
        assert loss(name, *pair, epsilon=epsilon) <= epsilon * ROUNDING + 1e-11


@pytest.mark.parametrize("name", ["max-gumbel", "max-exponential", "joint", "canonical-1"])
@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-6])
def test_a_small_epsilon(name: str, epsilon: float) -> None:
    """Utilities that are large against ε: their own rounding, not that of scores, could cost it."""
    rng = np.random.default_rng(3)
    for spread in (1.0, 1e3, 1e9, 1e15):
        one = np.rint(rng.uniform(-spread, spread, 4))
        other = one + rng.choice([-1.0, 1.0], 4)
        assert loss(name, one, other, epsilon=epsilon) <= epsilon + 2e-15


def test_the_smallest_epsilon() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        one = np.rint(rng.uniform(-6e17, 6e17, 4) / 256.0) * 256.0
        small = np.rint(rng.uniform(0.0, 2.0**50, 4))
        scores = np.where(rng.random(4) < 0.5, one, small)
        other = np.where(np.abs(scores) < 2.0**52, scores + rng.choice([-1.0, 1.0], 4), scores)
        assert loss("max-gumbel", scores, other, epsilon=1e-13) <= 1e-13
    with pytest.raises(InvalidInput, match="epsilon must be at least"):
        NoisyMax([1.0, 2.0], 1e-15)


def test_what_can_be_spent() -> None:
    for epsilon in (1e-13, 1e-9, 1e-3, 1.0, 1e6):
        left = spendable(epsilon)
        assert epsilon / 2 <= left < epsilon
        cost = Fraction(epsilon) - Fraction(left)
        assert cost >= Fraction(28, 2**53) * Fraction(reach(epsilon))
    assert 1.0 - spendable(1.0) < 1e-11
    assert spendable(1.0, 600.0) < spendable(1.0)


@pytest.mark.parametrize("noise", ["exponential", "laplace", "logistic", "half-logistic"])
def test_rounding_of_noise_is_paid_for(noise: str) -> None:
    """Eight nats more than what utilities alone lose (docs/mathematics/score-mechanisms.md)."""
    epsilon = 1e-9
    best, other = NoisyMax([1.0, 0.0], epsilon, noise=noise)._utilities
    assert best - other == pytest.approx(spendable(epsilon, 8.0) / 2.0, rel=1e-12, abs=0.0)
    assert spendable(epsilon, 8.0) < (1.0 - 1e-8) * spendable(epsilon)


def test_differences_are_rounded_once() -> None:
    scores = checked_scores([2**60 + 1, 0.5, -(2**60)])
    expected = [float(Fraction(q) - Fraction(1, 2)) for q in (2**60 + 1, 0.5, -(2**60))]
    assert differences(scores, 0.5).tolist() == expected
    assert differences(scores, scores[0]).tolist() == [0.0, 0.5 - 2.0**60, -(2.0**61)]
    assert differences(checked_scores([10**400, 1]), 0).tolist() == [1e300, 1.0]


def test_sums_of_logs_of_sizes_do_not_drift() -> None:
    terms = np.log1p(1.0 / np.arange(1.0, 200_001.0))
    expected = math.fsum(terms.tolist())
    assert accumulated(terms)[-1] == pytest.approx(expected, rel=3e-16)
    many = np.full(2_000_000, math.log1p(0.1))
    assert accumulated(many)[-1] == pytest.approx(2_000_000 * math.log1p(0.1), rel=3e-16)
