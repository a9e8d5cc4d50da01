"""Every score mechanism against its formula; draws in rounds against all orders of them."""

from __future__ import annotations

import math
import random
from itertools import combinations, permutations
from math import comb, log

import numpy as np
import pytest
from scipy.special import logsumexp

from mipselect.errors import InvalidInput
from mipselect.mechanisms import (
    AdaptivePeeling,
    CanonicalLipschitz,
    Distribution,
    GeneralizedExponential,
    HeterogeneousNoisyMax,
    JointExponential,
    Mechanism,
    NoisyMax,
    Peeling,
    RandomizedResponse,
    RandomStopping,
)
from mipselect.mechanisms.noise.noise import NOISES
from mipselect.mechanisms.scores.base import spendable
from mipselect.mechanisms.scores.canonical import HeadTailClasses, TailClasses
from mipselect.mechanisms.scores.heterogeneous import MONTE_CARLO
from mipselect.mechanisms.scores.top_k import MAX_FOLLOWED
from mipselect.mechanisms.supports.base import rank, unrank
from mipselect.privacy.audit import ScoreVectors, law_of, worst_pair
from mipselect.privacy.decimals import exact
from tests.support.enumeration import (
    canonical_law,
    joint_law,
    log_law,
    normalized,
    peeling_law,
    permute_and_flip_law,
    rankings,
    softmax,
    subsets,
)

SCORES = np.array([3.0, 1.0, 2.5, -4.0, 2.5, 0.0])
FIVE, WIDTHS = SCORES[:5], np.array([0.5, 2.0, 0.0, 1.0, 0.0])


@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 5.0, 200.0])
@pytest.mark.parametrize("sensitivity", [0.5, 3.0])
def test_one_item(epsilon: float, sensitivity: float) -> None:
    u = spendable(epsilon) * SCORES / (2 * sensitivity)
    gumbel = NoisyMax(SCORES, epsilon, sensitivity=sensitivity, noise="gumbel")
    expected = u - logsumexp(u)
    np.testing.assert_allclose(log_law(gumbel, range(6)), expected, rtol=1e-11, atol=1e-13)
    flip = NoisyMax(SCORES, epsilon, sensitivity=sensitivity)
    law = permute_and_flip_law(u)
    np.testing.assert_allclose(np.exp(log_law(flip, range(6))), law, rtol=1e-11)


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
        for subset, share in zip(subsets(d, k), np.exp(expected), strict=True):
            ranks = tuple(sorted(order.index(j) + 1 for j in subset))
            by_class[mechanism.classes.index(ranks)] += share
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


@pytest.mark.parametrize("optimistic", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_generalized_exponential_is_its_formula(epsilon: float, optimistic: bool) -> None:
    widths = WIDTHS + 0.1
    t = 2 / epsilon * math.log(5 / 0.2) * (-1 if optimistic else 1)
    shifted = [t * width - score for score, width in zip(FIVE, widths, strict=True)]
    losses = [
        max((shifted[a] - shifted[b]) / (widths[a] + widths[b]) for b in range(5)) for a in range(5)
    ]
    mechanism = GeneralizedExponential(FIVE, widths, epsilon, beta=0.2, optimistic=optimistic)
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
    law = np.exp(log_law(RandomizedResponse(FIVE, 1.5), range(5)))
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
    mechanism = HeterogeneousNoisyMax(FIVE, WIDTHS, 1.0)
    assert isinstance(mechanism, Distribution)
    assert not isinstance(mechanism, Mechanism)
    for promise in ("guarantee", "release", "name"):
        assert not hasattr(mechanism, promise)
    assert mechanism.sample(1) in range(5)


@pytest.mark.parametrize("noise", NOISES)
def test_with_equal_sensitivities_it_is_noisy_max(noise: str) -> None:
    one = HeterogeneousNoisyMax(FIVE, np.full(5, 2.0), 3.0, noise=noise)
    two = NoisyMax(FIVE, 3.0, sensitivity=2.0, noise=noise)
    for index in range(5):
        found, chance = np.exp([law.log_probability(index) for law in (one, two)])
        assert abs(found - chance) < 4.0 * math.sqrt(chance * (1.0 - chance) / MONTE_CARLO)


def test_what_never_came_up_has_no_probability() -> None:
    assert HeterogeneousNoisyMax([0.0, 0.5], [0.0, 1.0], 1.0).log_probability(0) == -math.inf


BASE = np.array([3.0, 1.0, 2.5, -4.0, 2.5, 0.0])
AFFINITY = np.random.default_rng(1).normal(0.0, 2.0, (6, 6))
OF_ROUNDS = [1.5, 3.0, 2.0, 1.0]


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
            law = softmax(spendable(epsilon / k) * q / (2 * OF_ROUNDS[place]))
            probability *= law[left.index(item)]
        found[tuple(sorted(ranking))] += probability
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.1, 4.0, 60.0])
def test_probabilities_are_those_of_all_orders(k: int, epsilon: float) -> None:
    mechanism = AdaptivePeeling(scores, k, epsilon, sensitivities=OF_ROUNDS[:k])
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


SHAPES = [(1, 1), (2, 1), (2, 2), (6, 1), (6, 3), (7, 6), (7, 7), (10, 4), (40, 13), (300, 100)]
KINDS = [HeadTailClasses, TailClasses]
Classes = HeadTailClasses | TailClasses


def size(classes: Classes, index: int) -> int:
    """Count the subsets of a class, exactly."""
    if isinstance(classes, TailClasses):
        return comb(classes.k + index - 1, classes.k - 1)
    h, t = classes.head_and_tail(index)
    return 1 if index == 0 else comb(t - h - 2, classes.k - h - 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_sizes_sum_to_all_subsets_exactly(kind: type[Classes], d: int, k: int) -> None:
    classes = kind(d, k)
    sizes = [size(classes, index) for index in range(classes.log_sizes.size)]
    assert sum(sizes) == comb(d, k)
    logs = [log(size) for size in sizes]
    assert classes.log_sizes == pytest.approx(logs, rel=1e-13, abs=1e-13)


def test_log_sizes_of_a_large_problem() -> None:
    classes = HeadTailClasses(17_770, 100)
    for h, t in [(0, 17_770), (50, 9000), (99, 101), (0, 101), (98, 17_770)]:
        index = 1 + h * 17_670 + t - 101
        assert classes.head_and_tail(index) == (h, t)
        expected = log(comb(t - h - 2, 99 - h))
        assert classes.log_sizes[index] == pytest.approx(expected, rel=1e-13, abs=1e-13)
    tails = TailClasses(17_770, 100)
    assert tails.log_sizes[-1] == pytest.approx(log(comb(17_769, 99)), rel=1e-14)


@pytest.mark.parametrize(("p", "s"), [(1, 1), (5, 1), (5, 5), (7, 3), (9, 4)])
def test_ranks_follow_lexicographic_order(p: int, s: int) -> None:
    for number, support in enumerate(combinations(range(p), s)):
        assert rank(support, p) == number
        assert unrank(number, p, s) == support


@pytest.mark.parametrize(("p", "s"), [(10_000, 5), (300, 150)])
def test_large_numbers_come_back(p: int, s: int) -> None:
    source = random.Random(0)
    for number in (0, comb(p, s) - 1, *(source.randrange(comb(p, s)) for _ in range(20))):
        support = unrank(number, p, s)
        assert len(set(support)) == s
        assert rank(support, p) == number
