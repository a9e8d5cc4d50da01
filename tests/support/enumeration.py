"""The laws of the score mechanisms by brute force over all outcomes, from their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import chisquare

from mipselect.mechanisms import MetropolisHastings


def subsets(d: int, k: int) -> list[tuple[int, ...]]:
    return list(combinations(range(d), k))


def rankings(d: int, k: int) -> list[tuple[int, ...]]:
    return list(permutations(range(d), k))


def normalized(log_weights: Sequence[float]) -> np.ndarray:
    logs = np.array(log_weights, dtype=float)
    return logs - logsumexp(logs)


def stationary_law(chain: MetropolisHastings) -> np.ndarray:
    """Where a chain goes: ln P(S) of all supports in lexicographic order, ∝ exp(-ε R(S) / 2Δ)."""
    supports = subsets(len(chain.names), chain.support_size)
    values = np.array([chain.values(support) for support in supports])
    return normalized(-chain.epsilon * values / (2.0 * chain.sensitivity))


def canonical_loss(x: np.ndarray, subset: tuple[int, ...], gamma: float) -> float:
    """(1 - γ) times the best missing score, or the worst present one if that is better."""
    worst = min(x[j] for j in subset)
    missing = [x[j] for j in range(len(x)) if j not in subset]
    return (1.0 - gamma) * max([*missing, worst]) - gamma * worst


def canonical_law(x: np.ndarray, k: int, epsilon: float, gamma: float) -> np.ndarray:
    return normalized(
        [-epsilon / 2 * canonical_loss(x, subset, gamma) for subset in subsets(len(x), k)]
    )


def joint_law(q: np.ndarray, k: int, epsilon: float, sensitivity: float) -> np.ndarray:
    best = np.sort(q)[::-1]
    losses = [
        max(best[place] - q[item] for place, item in enumerate(ranking))
        for ranking in rankings(len(q), k)
    ]
    return normalized([-epsilon * loss / (4 * sensitivity) for loss in losses])


def peeling_law(
    first: Callable[[np.ndarray], np.ndarray], u: np.ndarray, k: int
) -> dict[tuple[int, ...], float]:
    """Probabilities of sets, summed over all orders; `first` is the law of one draw."""
    found: Counter[tuple[int, ...]] = Counter()
    for ranking in rankings(len(u), k):
        left, probability = list(range(len(u))), 1.0
        for item in ranking:
            probability *= first(u[left])[left.index(item)]
            left.remove(item)
        found[tuple(sorted(ranking))] += probability
    return dict(found)


def permute_and_flip_law(u: np.ndarray) -> np.ndarray:
    """Average over all orders of the probability that an item is the first to be accepted."""
    coins = np.exp(u - u.max())
    law = np.zeros(len(u))
    orders = list(permutations(range(len(u))))
    for order in orders:
        reached = 1.0
        for item in order:
            law[item] += reached * coins[item] / len(orders)
            reached *= 1.0 - coins[item]
    return law


def softmax(u: np.ndarray) -> np.ndarray:
    return np.exp(normalized(u))


def log_law(mechanism: Any, outcomes: Sequence[Any]) -> np.ndarray:
    return np.array([mechanism.log_probability(outcome) for outcome in outcomes])


def frequencies_agree(
    draw: Callable[[], Any], outcomes: Sequence[Any], logs: np.ndarray, draws: int = 2500
) -> None:
    """A chi-square test with rare outcomes pooled; it fails one correct test in a million."""
    seen = Counter(draw() for _ in range(draws))
    assert set(seen) <= set(outcomes)
    expected = draws * np.exp(logs)
    counts = np.array([seen[outcome] for outcome in outcomes])
    order = np.argsort(-expected)
    expected, counts = expected[order], counts[order]
    kept = max(1, int(np.sum(expected >= 8)))
    rare = expected[kept:].sum()
    assert counts[kept:].sum() <= rare + 6 * np.sqrt(rare) + 12
    if rare >= 8:
        expected = np.append(expected[:kept], rare)
        counts = np.append(counts[:kept], counts[kept:].sum())
    else:
        expected = np.append(expected[: kept - 1], expected[kept - 1 :].sum())
        counts = np.append(counts[: kept - 1], counts[kept - 1 :].sum())
    if len(counts) > 1:
        assert chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-6
