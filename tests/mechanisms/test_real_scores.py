"""Published behaviour on the scores of the canonical Lipschitz paper; skipped without them."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from mipselect.mechanisms import CanonicalLipschitz, OneShotTopK, Peeling
from tests.support.shared_data import DATA, wants_data

NETFLIX = DATA / "scores" / "netflix.npy"

pytestmark = wants_data


def epsilon_at_half(probability: Callable[[float], float]) -> float:
    """The ε at which an increasing probability passes 1/2, to 1%."""
    low, high = 1e-6, 1e3
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if probability(middle) > 0.5 else (middle, high)
    return high


@pytest.mark.parametrize(("k", "times"), [(10, 3.0), (100, 25.0)])
def test_canonical_needs_several_times_less_epsilon_for_the_exact_top(k: int, times: float) -> None:
    scores = np.load(NETFLIX).astype(float)
    top = np.argsort(-scores, kind="stable")[:k]

    def peeling(epsilon: float) -> float:
        built = Peeling(scores, k, epsilon, sensitivity=0.5)
        return float(np.exp(built.log_probability(top)))

    def canonical(epsilon: float) -> float:
        built = CanonicalLipschitz(scores, k, epsilon, sensitivity=0.5, noise="gumbel")
        return built.event_probability("TOP")

    epsilon = epsilon_at_half(canonical)
    assert epsilon_at_half(peeling) > times * epsilon
    one_shot = OneShotTopK(scores, k, 2.0 * epsilon, sensitivity=0.5, noise="exponential")
    assert np.exp(one_shot.log_probability(top)) < 0.5


def test_one_draw_at_full_size_keeps_its_memory_and_its_law() -> None:
    scores = np.load(NETFLIX).astype(float)
    for noise in ("gumbel", "exponential"):
        mechanism = CanonicalLipschitz(scores, 100, 0.05, sensitivity=0.5, noise=noise)
        source = random.Random(3)
        drawn = [mechanism.sample(source) for _ in range(4)]
        assert all(len(set(chosen)) == 100 and list(chosen) == sorted(chosen) for chosen in drawn)
        kept = [value for value in vars(mechanism).values() if isinstance(value, np.ndarray)]
        assert sum(value.nbytes for value in kept) < 5 * 8 * scores.size * 100
