"""One table of all mechanisms on scores, and their laws by brute force, from their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import chisquare

from mipselect.mechanisms import (
    AdaptivePeeling,
    CanonicalLipschitz,
    GeneralizedExponential,
    JointExponential,
    MetropolisHastings,
    NoisyMax,
    OneShotTopK,
    Peeling,
    RandomizedResponse,
    RandomStopping,
)
from mipselect.mechanisms.noise.noise import NOISES
from mipselect.privacy.concentrated import bounded_range_rho


def subsets(d: int, k: int) -> list[tuple[int, ...]]:
    return list(combinations(range(d), k))


def rankings(d: int, k: int) -> list[tuple[int, ...]]:
    return list(permutations(range(d), k))


def items(d: int, _: int) -> range:
    return range(d)


@dataclass(frozen=True)
class Scored:
    """A mechanism, its outcomes for d scores and k, and the k of the ρ that it states, if any."""

    build: Callable[..., Any]
    outcomes: Callable[[int, int], Sequence[Any]] = items
    rounds: int | None = None
    k: int = 2

    def __call__(self, scores: Any, epsilon: float, **more: Any) -> Any:
        more = more if self.outcomes is items else {"k": self.k, **more}
        return self.build(scores, epsilon=epsilon, **more)

    def of(self, d: int) -> Sequence[Any]:
        return self.outcomes(d, self.k)

    def rho(self, epsilon: float) -> float | None:
        return None if self.rounds is None else bounded_range_rho(epsilon, self.rounds)


def adaptive(q: Any, *, k: int, epsilon: float, sensitivity: float = 1.0, **more: Any) -> Any:
    return AdaptivePeeling(lambda chosen: q, k, epsilon, sensitivities=[sensitivity] * k, **more)


def response(q: Any, *, epsilon: float, sensitivity: float = 1.0) -> RandomizedResponse:
    return RandomizedResponse(q, epsilon)


def of_widths(kind: Any, widths: Any = None, **options: Any) -> Callable[..., Any]:
    def build(q: Any, *, epsilon: float, sensitivity: float = 1.0) -> Any:
        given = np.ones(len(q)) if widths is None else np.resize(widths, len(q))
        return kind(q, sensitivity * given, epsilon, **options)

    return build


MECHANISMS: dict[str, Scored] = {
    "response": Scored(response),
    "joint": Scored(JointExponential, rankings, 1),
    "adaptive": Scored(adaptive, subsets, 2),
    "gem": Scored(of_widths(GeneralizedExponential), rounds=1),
    "gem, optimistic": Scored(of_widths(GeneralizedExponential, optimistic=True), rounds=1),
    "stopping": Scored(of_widths(RandomStopping, gamma=0.2)),
}
for noise in NOISES:
    of = noise == "gumbel"
    MECHANISMS |= {
        f"max-{noise}": Scored(partial(NoisyMax, noise=noise), rounds=1 if of else None),
        f"one-shot-{noise}": Scored(partial(OneShotTopK, noise=noise), subsets, 2 if of else None),
        f"peeling-{noise}": Scored(partial(Peeling, noise=noise), subsets, 2 if of else None),
        f"canonical-{noise}": Scored(
            partial(CanonicalLipschitz, noise=noise), subsets, 1 if of else None
        ),
    }
for gamma in (0.0, 0.999, 1.0):
    MECHANISMS[f"canonical-{gamma:g}"] = Scored(
        partial(CanonicalLipschitz, noise="gumbel", gamma=gamma), subsets, 1
    )
UNEQUAL: dict[str, Scored] = {
    "gem of widths": Scored(of_widths(GeneralizedExponential, (0.0, 1.0, 2.0)), rounds=1),
    "stopping of widths": Scored(of_widths(RandomStopping, (0.0, 1.0, 2.0), gamma=0.2)),
    **{
        f"canonical-tail-{noise}": Scored(
            partial(CanonicalLipschitz, noise=noise, gamma=1.0), subsets
        )
        for noise in NOISES
        if noise != "gumbel"
    },
}
"""Further ones for laws and refusals."""


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
