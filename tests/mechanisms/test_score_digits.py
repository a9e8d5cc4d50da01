"""Scores of very different size: the exact loss stays within ε where digits could be lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mipselect.array_checks import checked_scores
from mipselect.errors import InvalidInput
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
)
from mipselect.mechanisms.noise.noise import NOISES
from mipselect.mechanisms.scores.utilities import accumulated, differences, reach, spendable
from mipselect.privacy.audit import largest_loss
from tests.support.enumeration import log_law, rankings, subsets

Build = Callable[..., Any]
ROUNDING = 1.0 + 1e-8
"""Of the logs that are compared; a quadrature is good to about 1e-12."""

ONE, PAIRS = range(4), subsets(4, 2)
BUILDS: dict[str, tuple[Build, Sequence[Any]]] = {
    "joint": (lambda q, e, **o: JointExponential(q, 2, e, **o), rankings(4, 2)),
    "response": (lambda q, e, sensitivity=1.0: RandomizedResponse(q, e), ONE),
    "adaptive": (
        lambda q, e, sensitivity=1.0: AdaptivePeeling(
            lambda chosen: q, 2, e, sensitivities=[sensitivity] * 2
        ),
        PAIRS,
    ),
}
for named in NOISES:
    BUILDS |= {
        f"max-{named}": (lambda q, e, n=named, **o: NoisyMax(q, e, noise=n, **o), ONE),
        f"one-shot-{named}": (lambda q, e, n=named, **o: OneShotTopK(q, 2, e, noise=n, **o), PAIRS),
        f"peeling-{named}": (lambda q, e, n=named, **o: Peeling(q, 2, e, noise=n, **o), PAIRS),
        f"canonical-{named}": (
            lambda q, e, n=named, **o: CanonicalLipschitz(q, 2, e, noise=n, **o),
            PAIRS,
        ),
    }
for gamma in (0.0, 0.999, 1.0):
    BUILDS[f"canonical-{gamma:g}"] = (
        lambda q, e, g=gamma, **o: CanonicalLipschitz(q, 2, e, noise="gumbel", gamma=g, **o),
        PAIRS,
    )
for sign in (False, True):
    BUILDS[f"gem-{sign}"] = (
        lambda q, e, s=sign, sensitivity=1.0: GeneralizedExponential(
            q, np.full(len(q), sensitivity), e, optimistic=s
        ),
        ONE,
    )
BUILDS["stopping"] = (
    lambda q, e, sensitivity=1.0: RandomStopping(q, np.full(len(q), sensitivity), e, gamma=0.2),
    ONE,
)


def loss(name: str, one: Any, other: Any, epsilon: float = 1.0, **options: Any) -> float:
    build, outcomes = BUILDS[name]
    return largest_loss(
        lambda q: log_law(build(q, epsilon, **options), outcomes), [(one, other)]
    ).epsilon


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


@pytest.mark.parametrize("pair", LOST)
@pytest.mark.parametrize("name", BUILDS)
def test_no_digit_is_lost_beside_a_large_score(name: str, pair: str) -> None:
    assert loss(name, *LOST[pair]) <= ROUNDING


@pytest.mark.parametrize("name", BUILDS)
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
                    BUILDS[name][0](sensitivity * side, 1.0, sensitivity=sensitivity)


def hostile(rng: np.random.Generator, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours with scores of all sizes, exact in doubles, that move by 1 or not at all."""
    sizes = 2.0 ** rng.integers(0, 60, 4) if rng.random() < 0.5 else rng.choice([1.0, 1e18], 4)
    scores = np.rint(rng.uniform(-1.0, 1.0, 4) * sizes * rng.choice([1.0, 100.0 / epsilon]))
    moved = scores + rng.integers(-1, 2, 4)
    # Where a double cannot move by 1 its neighbour is itself.
    return scores, np.where(np.abs(scores) < 2.0**52, moved, scores)


@pytest.mark.parametrize("name", BUILDS)
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
