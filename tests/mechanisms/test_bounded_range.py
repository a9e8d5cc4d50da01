"""The ρ that each mechanism states, by exact laws on hostile neighbours.

An exponential mechanism is of bounded range: the logs of the probabilities of two outcomes move by
no more than ε apart. Whatever states a ρ must have Rényi divergences of at most αρ for every α.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from mipselect.mechanisms import (
    CanonicalLipschitz,
    ExponentialMechanism,
    GeneralizedExponential,
    JointExponential,
    Mistakes,
    NoisyMax,
    OneShotTopK,
    Peeling,
    RandomizedResponse,
    StableOptimum,
    TopR,
)
from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling
from mipselect.privacy.concentrated import bounded_range_rho, pure_rho
from tests.support.exact_audit import (
    grown,
    levels_of,
    log_probabilities,
    pairs,
    pool_of,
)

ORDERS = (1.0 + 1e-6, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
ROUNDING = 1e-9

Logs = Any


def spread(logs: Logs, other: Logs) -> float:
    """How far apart the logs of the probabilities of two outcomes move."""
    moved = np.asarray(logs) - np.asarray(other)
    return float(moved.max() - moved.min())


def largest_rho(logs: Logs, other: Logs) -> float:
    """The least ρ with D_α ≤ αρ both ways, over some orders α."""
    found = 0.0
    for p, q in ((np.asarray(logs), np.asarray(other)), (np.asarray(other), np.asarray(logs))):
        for alpha in ORDERS:
            divergence = np.logaddexp.reduce(alpha * p + (1.0 - alpha) * q) / (alpha - 1.0)
            found = max(found, float(divergence) / alpha)
    return found


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_draws_of_supports_are_of_bounded_range(epsilon: float) -> None:
    apart, rho = {"exact": 0.0, "top-r": 0.0}, 0.0
    for k, (data, other) in enumerate(pairs()[::4]):
        laws = {
            "exact": lambda d: ExponentialMechanism(d.instance, epsilon),
            "top-r": lambda d, k=k: TopR(pool_of(d, 3, 1.0, late=[0.0, 0.6, 1.0][k % 3]), epsilon),
        }
        for name, law in laws.items():
            logs, moved = log_probabilities(law(data), data), log_probabilities(law(other), other)
            apart[name] = max(apart[name], spread(logs, moved))
            rho = max(rho, largest_rho(logs, moved))
    stated = ExponentialMechanism(pairs()[0][0].instance, epsilon).guarantee.rho
    assert stated == bounded_range_rho(epsilon)
    assert max(apart.values()) <= epsilon * (1.0 + ROUNDING)
    assert apart["exact"] > 0.9 * epsilon
    assert rho <= stated * (1.0 + 1e-6)
    assert rho > 0.5 * stated


def test_one_direction_is_of_bounded_range_too() -> None:
    """A row more: ε/2 under add-remove, and the ρ of that."""
    worst = 0.0
    for data, other in grown()[::4]:
        found = [ExponentialMechanism(d.instance, 1.0) for d in (data, other)]
        assert found[0].guarantees["add-remove"].rho == bounded_range_rho(0.5)
        logs = [log_probabilities(m, d) for m, d in zip(found, (data, other), strict=True)]
        worst = max(worst, spread(*logs))
    assert 0.4 < worst <= 0.5 * (1.0 + 1e-6)


def score_pairs(size: int, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Scores and neighbours with Δ = 1, mostly at the bounds."""
    rng = np.random.default_rng(size)
    found = []
    for k in range(number):
        scores = rng.uniform(-3, 3, size) if k % 3 else rng.integers(-2, 3, size).astype(float)
        moves = rng.choice([-1.0, 1.0], size) if k % 4 else rng.uniform(-1.0, 1.0, size)
        found.append((scores, scores + moves))
    return found


EPSILON = 2.0
ONE: dict[str, tuple[Callable[[np.ndarray], Any], Sequence[Any], float | None]] = {
    "gumbel": (
        lambda q: NoisyMax(q, EPSILON, noise="gumbel"),
        range(5),
        bounded_range_rho(EPSILON),
    ),
    "joint": (
        lambda q: JointExponential(q, 2, EPSILON),
        list(permutations(range(5), 2)),
        bounded_range_rho(EPSILON),
    ),
    "generalized": (
        lambda q: GeneralizedExponential(q, [1.0, 1.0, 1.5, 2.0, 1.0], EPSILON),
        range(5),
        bounded_range_rho(EPSILON),
    ),
    "peeling": (
        lambda q: Peeling(q, 2, EPSILON),
        list(combinations(range(5), 2)),
        bounded_range_rho(EPSILON, 2),
    ),
    "one-shot": (
        lambda q: OneShotTopK(q, 3, EPSILON),
        list(combinations(range(5), 3)),
        bounded_range_rho(EPSILON, 3),
    ),
    "adaptive": (
        lambda q: AdaptivePeeling(lambda chosen: q, 2, EPSILON, sensitivities=(1.0, 1.0)),
        list(combinations(range(5), 2)),
        bounded_range_rho(EPSILON, 2),
    ),
    "permute-and-flip": (lambda q: NoisyMax(q, EPSILON), range(5), None),
    "randomized-response": (lambda q: RandomizedResponse(q, EPSILON), range(5), None),
    "canonical": (
        lambda q: CanonicalLipschitz(q, 2, EPSILON, noise="gumbel"),
        list(combinations(range(5), 2)),
        bounded_range_rho(EPSILON),
    ),
    "canonical-tail": (
        lambda q: CanonicalLipschitz(q, 3, EPSILON, noise="gumbel", gamma=1.0),
        list(combinations(range(5), 3)),
        bounded_range_rho(EPSILON),
    ),
    "canonical-exponential": (
        lambda q: CanonicalLipschitz(q, 2, EPSILON),
        list(combinations(range(5), 2)),
        None,
    ),
}


@pytest.mark.parametrize("name", ONE)
def test_what_is_stated_of_scores_holds(name: str) -> None:
    law, outcomes, stated = ONE[name]
    worst = 0.0
    for scores, moved in score_pairs(5, 36):
        logs = [[law(q).log_probability(outcome) for outcome in outcomes] for q in (scores, moved)]
        worst = max(worst, largest_rho(*logs))
    guarantee = law(np.arange(5.0)).guarantee
    assert guarantee.rho == stated
    assert guarantee.concentrated == (pure_rho(EPSILON) if stated is None else stated)
    assert 0.05 * guarantee.concentrated < worst <= guarantee.concentrated * (1.0 + 1e-6)


def test_what_is_not_of_bounded_range_would_be_noticed() -> None:
    """Permute-and-flip and randomized response are ε-private, and ε²/8 is not true of them."""
    for law in (lambda q: NoisyMax(q, EPSILON), lambda q: RandomizedResponse(q, EPSILON)):
        worst = apart = 0.0
        for scores, moved in [([0.0, 0.0], [1.0, -1.0]), ([1.0, 0.0], [0.0, 1.0])]:
            logs = [[law(q).log_probability(j) for j in range(2)] for q in (scores, moved)]
            worst, apart = max(worst, largest_rho(*logs)), max(apart, spread(*logs))
        assert apart > 1.2 * EPSILON
        assert worst > 1.2 * bounded_range_rho(EPSILON)


def test_tests_of_a_gap_state_no_rho() -> None:
    data = pairs()[0][0]
    pool = pool_of(data, 3)
    tested = Mistakes(levels_of(data), 1.0, test_epsilon=0.5, delta=1e-6, fallback=pool)
    stable = StableOptimum(levels_of(data), 1.0, 1e-6, TopR(pool, 1.0))
    for mechanism in (tested, stable):
        assert mechanism.guarantee.rho is None
        assert mechanism.guarantee.concentrated is None
