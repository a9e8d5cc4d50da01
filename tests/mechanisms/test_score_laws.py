"""Every score mechanism against its definition, and its draws against its probabilities."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.mechanisms import (
    AdaptivePeeling,
    CanonicalLipschitz,
    GeneralizedExponential,
    JointExponential,
    NoisyMax,
    OneShotTopK,
    Peeling,
    RandomizedResponse,
    RandomStopping,
    ScoreMechanism,
)
from mipselect.mechanisms.noise.noise import NOISES
from mipselect.mechanisms.noise.opendp_draws import _within, laplace
from mipselect.mechanisms.scores.utilities import spendable
from mipselect.privacy import Guarantee, Ledger
from tests.support.enumeration import (
    canonical_law,
    frequencies_agree,
    joint_law,
    log_law,
    peeling_law,
    permute_and_flip_law,
    rankings,
    softmax,
    subsets,
)

SCORES = np.array([3.0, 1.0, 2.5, -4.0, 2.5, 0.0])
EXTREMES = (1e-12, 1e-3, 40.0, 1e7)
Case = tuple[Callable[..., ScoreMechanism[Any]], Sequence[Any]]

ONE = range(len(SCORES))
CASES: dict[str, Case] = {
    "joint": (lambda q, e: JointExponential(q, 2, e), rankings(6, 2)),
    "gem": (lambda q, e: GeneralizedExponential(q, np.arange(len(q)) % 3, e), ONE),
    "response": (lambda q, e: RandomizedResponse(q, e), ONE),
    "adaptive": (
        lambda q, e: AdaptivePeeling(lambda chosen: q, 3, e, sensitivities=[1.0, 2.0, 0.5]),
        subsets(6, 3),
    ),
    "stopping": (lambda q, e: RandomStopping(q, np.arange(len(q)) % 3, e, gamma=0.2), ONE),
}
for named in NOISES:
    CASES |= {
        f"max-{named}": (lambda q, e, n=named: NoisyMax(q, e, noise=n), ONE),
        f"one-shot-{named}": (lambda q, e, n=named: OneShotTopK(q, 2, e, noise=n), subsets(6, 2)),
        f"peeling-{named}": (lambda q, e, n=named: Peeling(q, 3, e, noise=n), subsets(6, 3)),
        f"canonical-{named}": (
            lambda q, e, n=named: CanonicalLipschitz(q, 3, e, noise=n, gamma=0.3),
            subsets(6, 3),
        ),
        f"canonical-tail-{named}": (
            lambda q, e, n=named: CanonicalLipschitz(q, 2, e, noise=n, gamma=1.0),
            subsets(6, 2),
        ),
    }


@pytest.mark.parametrize("name", CASES)
def test_probabilities_sum_to_one(name: str) -> None:
    build, outcomes = CASES[name]
    for epsilon in (1.5, *EXTREMES):
        logs = log_law(build(SCORES, epsilon), outcomes)
        assert logsumexp(logs) == pytest.approx(0.0, abs=1e-9)
        assert np.all(logs > -np.inf)


@pytest.mark.parametrize("name", CASES)
def test_draws_follow_the_probabilities(name: str) -> None:
    build, outcomes = CASES[name]
    mechanism, source = build(SCORES, 2.0), random.Random(20)
    logs = log_law(mechanism, outcomes)
    frequencies_agree(lambda: mechanism.sample(source), outcomes, logs)


@pytest.mark.parametrize("name", ["max-exponential", "peeling-exponential", "stopping"])
def test_vetted_draws_follow_the_same_probabilities(name: str) -> None:
    build, outcomes = CASES[name]
    mechanism = build(SCORES, 2.0)
    frequencies_agree(mechanism.sample, outcomes, log_law(mechanism, outcomes), 1000)


@pytest.mark.parametrize("name", CASES)
def test_releases(name: str) -> None:
    build, outcomes = CASES[name]
    mechanism = build(SCORES, 0.75)
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


@pytest.mark.parametrize("name", CASES)
def test_bad_scores_are_refused(name: str) -> None:
    build, _ = CASES[name]
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


@pytest.mark.parametrize("name", CASES)
def test_outcomes_that_are_none_are_refused(name: str) -> None:
    build, outcomes = CASES[name]
    mechanism = build(SCORES, 1.0)
    bad: list[Any] = [6, -1, 1.0, (1,)]
    if not isinstance(outcomes, range):
        k = len(outcomes[0])
        bad = [(0,) * k, tuple(range(k + 1)), (6, *range(1, k)), (0.5,) * k, 3]
    for outcome in bad:
        with pytest.raises(InvalidInput, match="an outcome is"):
            mechanism.log_probability(outcome)


K_ITEMS = (OneShotTopK, Peeling, CanonicalLipschitz, JointExponential)


def test_other_parameters_are_checked() -> None:
    for sensitivity in (0.0, -1.0, np.inf, np.nan, "1", True):
        with pytest.raises(InvalidInput, match="sensitivity"):
            NoisyMax(SCORES, 1.0, sensitivity=sensitivity)
        for build in K_ITEMS:
            with pytest.raises(InvalidInput, match="sensitivity"):
                build(SCORES, 2, 1.0, sensitivity=sensitivity)
    for build in (OneShotTopK, Peeling, CanonicalLipschitz):
        with pytest.raises(InvalidInput, match="noise"):
            build(SCORES, 2, 1.0, noise="gauss")
    for build in K_ITEMS:
        with pytest.raises(InvalidInput, match="relation"):
            build(SCORES, 2, 1.0, relation="swap")
    for unequal in (GeneralizedExponential, RandomStopping):
        with pytest.raises(InvalidInput, match="relation"):
            unequal(SCORES, np.ones(6), 1.0, relation="swap")
    for gamma in (-0.1, 1.1, np.nan):
        with pytest.raises(InvalidInput, match="gamma"):
            CanonicalLipschitz(SCORES, 2, 1.0, gamma=gamma)
    with pytest.raises(InvalidInput, match="GOOD"):
        CanonicalLipschitz(SCORES, 2, 1.0).event_probability("top")


@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 5.0, 200.0])
@pytest.mark.parametrize("sensitivity", [0.5, 3.0])
def test_one_item(epsilon: float, sensitivity: float) -> None:
    u = spendable(epsilon) * SCORES / (2 * sensitivity)
    gumbel = NoisyMax(SCORES, epsilon, sensitivity=sensitivity, noise="gumbel")
    expected = u - logsumexp(u)
    np.testing.assert_allclose(log_law(gumbel, ONE), expected, rtol=1e-11, atol=1e-13)
    flip = NoisyMax(SCORES, epsilon, sensitivity=sensitivity)
    law = permute_and_flip_law(u)
    np.testing.assert_allclose(np.exp(log_law(flip, ONE)), law, rtol=1e-11)


def test_laplace_against_the_two_item_formula() -> None:
    """P(worse item wins) = (2 + g) e^-g / 4 for a gap of g standard scales."""
    for gap in (0.0, 0.3, 2.0, 30.0, 300.0):
        mechanism = NoisyMax([gap, 0.0], 2.0, noise="laplace")
        gap *= spendable(2.0) / 2.0
        expected = np.log1p(gap / 2) + np.log(0.5) - gap
        assert mechanism.log_probability(1) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("epsilon", [2.0, 30.0])
def test_peeling_is_the_sum_over_all_orders(k: int, epsilon: float) -> None:
    u = epsilon * SCORES / (2 * k)
    for noise, first in (("gumbel", softmax), ("exponential", permute_and_flip_law)):
        law = peeling_law(first, u, k)
        mechanism = Peeling(SCORES, k, epsilon, noise=noise)
        for chosen, probability in law.items():
            found = np.exp(mechanism.log_probability(chosen))
            assert found == pytest.approx(probability, rel=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 1), (6, 3), (7, 7), (9, 5), (10, 4)])
def test_canonical_is_the_exponential_mechanism_on_all_subsets(
    d: int, k: int, gamma: float
) -> None:
    for seed, epsilon in enumerate((1e-3, 1.0, 20.0)):
        x = np.random.default_rng(seed).integers(-3, 4, d).astype(float)
        mechanism = CanonicalLipschitz(
            3.0 * x, k, epsilon, sensitivity=3.0, noise="gumbel", gamma=gamma
        )
        expected = canonical_law(x, k, epsilon, gamma)
        np.testing.assert_allclose(log_law(mechanism, subsets(d, k)), expected, atol=1e-11)
        classes = np.exp(mechanism.class_log_probabilities())
        by_class = np.zeros(classes.size)
        order = np.argsort(-x, kind="stable").tolist()
        for subset, log in zip(subsets(d, k), expected, strict=True):
            ranks = tuple(sorted(order.index(j) + 1 for j in subset))
            by_class[mechanism.classes.index(ranks)] += np.exp(log)
        np.testing.assert_allclose(classes, by_class, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_canonical_with_other_noise_is_noisy_max_on_all_subsets(gamma: float) -> None:
    losses = -2.0 * canonical_law(SCORES, 3, 1.0, gamma)
    for noise in NOISES:
        mechanism = CanonicalLipschitz(SCORES, 3, 3.0, noise=noise, gamma=gamma)
        over_subsets = NoisyMax(-losses, 3.0, noise=noise)
        expected = log_law(over_subsets, range(len(losses)))
        np.testing.assert_allclose(log_law(mechanism, subsets(6, 3)), expected, atol=1e-9)
        assert logsumexp(mechanism.class_log_probabilities()) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_events(noise: str, gamma: float) -> None:
    """k = 1: only the best. k = 4 of 8: GREAT has rank 1 and ends at 4, GOOD ends at 6."""
    x = np.linspace(4.0, -4.0, 8)
    mechanism = CanonicalLipschitz(x, 4, 1.0, noise=noise, gamma=gamma)
    law = dict(zip(subsets(8, 4), np.exp(log_law(mechanism, subsets(8, 4))), strict=True))
    top = law[(0, 1, 2, 3)]
    good = sum(p for s, p in law.items() if (0 in s and max(s) < 6))
    found = [mechanism.event_probability(event) for event in ("TOP", "GREAT", "GOOD")]
    assert found == pytest.approx([top, top, good], rel=1e-9)
    single = CanonicalLipschitz(x, 1, 1.0, noise=noise, gamma=gamma)
    best = np.exp(single.log_probability([0]))
    events = [single.event_probability(event) for event in ("TOP", "GREAT", "GOOD")]
    assert events == pytest.approx([best] * 3, rel=1e-9)


@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_events_of_a_larger_k(gamma: float) -> None:
    """k = 20: GREAT has ranks 1 and 2 and ends at 22; GOOD has rank 1 and ends at 30."""
    x = np.linspace(0.0, -8.0, 24)
    mechanism = CanonicalLipschitz(x, 20, 1.0, noise="gumbel", gamma=gamma)
    law = dict(zip(subsets(24, 20), np.exp(canonical_law(x, 20, 1.0, gamma)), strict=True))
    events = {
        "TOP": lambda subset: max(subset) < 20,
        "GREAT": lambda subset: max(subset) < 22 and {0, 1} <= set(subset),
        "GOOD": lambda subset: 0 in subset,
    }
    for event, holds in events.items():
        expected = sum(p for subset, p in law.items() if holds(subset))
        assert mechanism.event_probability(event) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 50.0])
def test_joint_is_the_exponential_mechanism_on_all_rankings(k: int, epsilon: float) -> None:
    for seed in range(4):
        q = np.random.default_rng(seed).integers(0, 5, 6).astype(float)
        mechanism = JointExponential(q, k, epsilon, sensitivity=0.5)
        expected = joint_law(q, k, epsilon, 0.5)
        np.testing.assert_allclose(log_law(mechanism, rankings(6, k)), expected, atol=1e-11)


def test_vetted_noise_is_never_too_small_and_never_beyond_double_precision() -> None:
    class Measurement:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def map(self, distance: float) -> float:
            return 2.0 * distance / self.scale * (1.0 + 1e-9)

    measurement = _within(Measurement, 0.3, 0.7, 2.0 / 0.3)
    assert measurement.map(0.7) <= 0.3
    assert measurement.scale == pytest.approx(2 * 0.7 / 0.3, rel=1e-8)
    with pytest.raises(InvalidInput, match="beyond double precision"):
        laplace(0.0, 1e-300, 1e300)
