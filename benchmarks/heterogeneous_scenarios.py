"""Do sensitivities of their own help? Six scenarios after the heterogeneous paper.

    python -m benchmarks.heterogeneous_scenarios

Mean squared errors of one selected item out of 100. Scenarios 1 to 3 have constant scores and
are computed from the exact laws, with the scores and sensitivities of the paper's Figure 1. For 4
to 6 the paper shows its score distributions in a figure only; here item a scores N(m_a, s_a), with
m from -1 to 1 and s from 0.1 to 1 rising with it, shuffled, or falling; Δ_a is the width between
the 5th and the 95th percentile, and scores are clipped to it. One draw for each of 10,000 sets of
scores, as in the paper.

The last table is about scenario 1: up to which ε random stopping is ahead of noisy max, by γ.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mipselect.mechanisms import (
    GeneralizedExponential,
    HeterogeneousNoisyMax,
    NoisyMax,
    RandomizedResponse,
    RandomStopping,
    rule_of_thumb,
)

ITEMS = 100
SETS = 10_000
EPSILONS = (0.1, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
GAMMAS = (0.05, 0.02, 0.01, 0.005, 0.002)

Build = Callable[[np.ndarray, np.ndarray, float], Any]

MECHANISMS: dict[str, Build] = {
    "noisy max": lambda q, w, e: NoisyMax(q, e, sensitivity=float(w.max())),
    "RNMH, unsafe": HeterogeneousNoisyMax,
    "GEM": GeneralizedExponential,
    "GEM, optimistic": lambda q, w, e: GeneralizedExponential(q, w, e, optimistic=True),
    "RS": RandomStopping,
    "kRR": lambda q, w, e: RandomizedResponse(q, e),
}


def constant() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    high = np.arange(ITEMS) < ITEMS // 2
    scores = np.where(high, 1.0, -1.0)
    yield "1, positive", scores, np.where(high, 1.8, 1.0)
    yield "2, negative", scores, np.where(high, 1.0, 1.8)
    yield "3, none", scores, np.where(np.arange(ITEMS) % 2, 1.0, 1.8)


def drawn() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    means, spreads = np.linspace(-1.0, 1.0, ITEMS), np.linspace(0.1, 1.0, ITEMS)
    for name, spread in (
        ("4, positive", spreads),
        ("5, none", rng.permutation(spreads)),
        ("6, negative", spreads[::-1]),
    ):
        scores = rng.normal(means, spread, (SETS, ITEMS))
        low, high = np.quantile(scores, [0.05, 0.95], axis=0)
        yield name, np.clip(scores, low, high), high - low


def from_law(build: Build, scores: np.ndarray, widths: np.ndarray, epsilon: float) -> float:
    mechanism = build(scores, widths, epsilon)
    law = np.exp([mechanism.log_probability(index) for index in range(ITEMS)])
    return float(law @ (scores.max() - scores) ** 2)


def from_draws(build: Build, sets: np.ndarray, widths: np.ndarray, epsilon: float) -> float:
    source = random.Random(1)
    errors = [
        (scores.max() - scores[build(scores, widths, epsilon).sample(source)]) ** 2
        for scores in sets
    ]
    return float(np.mean(errors))


def ahead_until(gamma: float, scores: np.ndarray, widths: np.ndarray) -> float:
    """The ε at which random stopping and noisy max have the same error, to 0.1%."""

    def stopping(q: np.ndarray, w: np.ndarray, e: float) -> RandomStopping:
        return RandomStopping(q, w, e, gamma=gamma)

    low, high = 0.1, 100.0
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        errors = [
            from_law(build, scores, widths, middle) for build in (stopping, MECHANISMS["noisy max"])
        ]
        low, high = (middle, high) if errors[0] < errors[1] else (low, middle)
    return high


def main() -> None:
    heading = "".join(f"{name:>17}" for name in MECHANISMS)
    for scenarios, error in ((constant(), from_law), (drawn(), from_draws)):
        for name, scores, widths in scenarios:
            typical = scores if scores.ndim == 1 else scores.mean(axis=0)
            best = scores.max(axis=-1, keepdims=True)
            rule = rule_of_thumb(typical, widths)
            print(f"\nscenario {name}: correlation {rule.correlation:.2f}, {rule.favours}")
            print(f"uniform choice {np.mean((best - scores) ** 2):.3f}\n{'ε':>6}{heading}")
            for epsilon in EPSILONS:
                found = [error(build, scores, widths, epsilon) for build in MECHANISMS.values()]
                print(f"{epsilon:>6g}" + "".join(f"{value:>17.3f}" for value in found))
    _, scores, widths = next(constant())
    print(f"\nscenario 1, RS\n{'γ':>6}{'without noise':>17}{'ahead up to ε':>17}")
    for gamma in GAMMAS:
        least = 4.0 * gamma / (1.0 + gamma)
        print(f"{gamma:>6g}{least:>17.3f}{ahead_until(gamma, scores, widths):>17.2f}")


if __name__ == "__main__":
    main()
