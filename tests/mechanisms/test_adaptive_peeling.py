"""Adaptive peeling against all orders of its draws, and its exact privacy loss."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.special import logsumexp

from mipselect.errors import InvalidInput
from mipselect.mechanisms import Peeling
from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling
from mipselect.mechanisms.scores.top_k import MAX_FOLLOWED
from mipselect.mechanisms.scores.utilities import spendable
from mipselect.privacy.audit import ScoreVectors, law_of, worst_pair
from mipselect.privacy.decimals import exact
from tests.support.enumeration import log_law, softmax, subsets

BASE = np.array([3.0, 1.0, 2.5, -4.0, 2.5, 0.0])
AFFINITY = np.random.default_rng(1).normal(0.0, 2.0, (6, 6))
WIDTHS = [1.5, 3.0, 2.0, 1.0]


def scores(chosen: tuple[int, ...]) -> np.ndarray:
    """They depend on the set of chosen items, and not in a linear way."""
    return BASE - np.abs(AFFINITY[:, list(chosen)].sum(axis=1))


def over_all_orders(k: int, epsilon: float) -> dict[tuple[int, ...], float]:
    found = dict.fromkeys(subsets(6, k), 0.0)
    for ranking in permutations(range(6), k):
        probability = 1.0
        for place, item in enumerate(ranking):
            left = [j for j in range(6) if j not in ranking[:place]]
            q = scores(tuple(sorted(ranking[:place])))[left]
            law = softmax(spendable(epsilon / k) * q / (2 * WIDTHS[place]))
            probability *= law[left.index(item)]
        found[tuple(sorted(ranking))] += probability
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.1, 4.0, 60.0])
def test_probabilities_are_those_of_all_orders(k: int, epsilon: float) -> None:
    mechanism = AdaptivePeeling(scores, k, epsilon, sensitivities=WIDTHS[:k])
    logs = log_law(mechanism, subsets(6, k))
    expected = over_all_orders(k, epsilon)
    np.testing.assert_allclose(np.exp(logs), [expected[s] for s in subsets(6, k)], rtol=1e-12)
    assert logsumexp(logs) == pytest.approx(0.0, abs=1e-12)


def test_constant_scores_are_peeling() -> None:
    adaptive = AdaptivePeeling(lambda chosen: BASE, 3, 4.0, sensitivities=[2.0] * 3)
    peeling = Peeling(BASE, 3, 4.0, sensitivity=2.0)
    np.testing.assert_allclose(
        log_law(adaptive, subsets(6, 3)), log_law(peeling, subsets(6, 3)), atol=1e-10
    )


def test_probabilities_at_the_largest_k() -> None:
    q = np.random.default_rng(3).normal(size=14)
    sensitivities = [1.0] * MAX_FOLLOWED
    adaptive = AdaptivePeeling(lambda chosen: q, MAX_FOLLOWED, 30.0, sensitivities=sensitivities)
    peeling = Peeling(q, MAX_FOLLOWED, 30.0)
    outcome = tuple(range(1, MAX_FOLLOWED + 1))
    assert adaptive.log_probability(outcome) == pytest.approx(peeling.log_probability(outcome))
    more = MAX_FOLLOWED + 1
    adaptive = AdaptivePeeling(lambda chosen: q, more, 30.0, sensitivities=[1.0] * more)
    assert len(adaptive.sample()) == more
    with pytest.raises(InvalidInput, match=f"at most {MAX_FOLLOWED}"):
        adaptive.log_probability(range(more))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1.1, np.log(3.0)])
@pytest.mark.parametrize("k", [3, 7, 49])
def test_the_shares_are_no_more_than_epsilon(epsilon: float, k: int) -> None:
    mechanism = AdaptivePeeling(lambda chosen: np.zeros(50), k, epsilon, sensitivities=[1.0] * k)
    share = exact(mechanism._share) * k
    assert share <= exact(epsilon)
    assert share > exact(epsilon) * (1 - exact(1e-15))


def test_bad_parameters_are_refused() -> None:
    for k in (0, 7, 1.5, True):
        with pytest.raises(InvalidInput, match="k must be an integer"):
            AdaptivePeeling(scores, k, 1.0, sensitivities=[1.0])
    for sensitivities in ([1.0], 1.0, [1.0] * 3):
        with pytest.raises(InvalidInput, match="must be 2 numbers, one for each draw"):
            AdaptivePeeling(scores, 2, 1.0, sensitivities=sensitivities)
    for value in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InvalidInput, match="a sensitivity must be"):
            AdaptivePeeling(scores, 2, 1.0, sensitivities=[1.0, value])
    with pytest.raises(InvalidInput, match="relation"):
        AdaptivePeeling(scores, 2, 1.0, sensitivities=[1.0, 1.0], relation="swap")


def test_scores_of_another_length_later_are_refused() -> None:
    shrinking = AdaptivePeeling(
        lambda chosen: np.zeros(4 - len(chosen)), 2, 1.0, sensitivities=[1.0, 1.0]
    )
    with pytest.raises(InvalidInput, match="4 numbers in every round, got 3 after 1"):
        shrinking.sample()


@pytest.mark.deep
def test_audit_and_half_the_sensitivities_fail() -> None:
    """Scores are a vector of 4 and a matrix of 16, and each may move by its Δ_t."""

    def build(point: np.ndarray, share: float) -> AdaptivePeeling:
        first, later = point[:4], point[4:].reshape(4, 4)
        return AdaptivePeeling(
            lambda chosen: later[chosen[0]] if chosen else first,
            2,
            3.0,
            sensitivities=[1.0 * share, 2.0 * share],
        )

    space = ScoreVectors(20, -4.0, 4.0, np.repeat([1.0, 2.0], [4, 16]))
    right = law_of(lambda point: build(point, 1.0), subsets(4, 2))
    loss = worst_pair(right, space, starts=1, rounds=2, seed=5)
    assert 2.0 < loss.epsilon <= 3.0 * (1.0 + 1e-9)
    halved = law_of(lambda point: build(point, 0.5), subsets(4, 2))
    assert worst_pair(halved, space, starts=1, rounds=2, seed=5).epsilon > 3.5
