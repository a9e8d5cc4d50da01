"""How long one draw takes, and how much memory, for 100 out of 17,770 items.

python -m benchmarks.score_mechanisms
"""

from __future__ import annotations

import math
import random
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from mipselect.mechanisms import (
    CanonicalLipschitz,
    GeneralizedExponential,
    JointExponential,
    NoisyMax,
    OneShotTopK,
    Peeling,
)

D, K, EPSILON = 17_770, 100, 0.05
SCORES = np.floor(96_535.0 * np.arange(1, D + 1) ** -0.5)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def loop_over_classes(scores: np.ndarray, k: int, epsilon: float, source: random.Random) -> int:
    """What a straightforward program does: one class after the other, γ = 1/2, exponential."""
    ranked = (2.0 * np.sort(scores)[::-1]).tolist()
    best, winner = -math.inf, -1
    for t in range(k + 1, len(ranked) + 1):
        log_size = 0.0
        for h in range(k - 1, -1, -1):
            if h < k - 1:
                log_size += math.log(t - h - 2) - math.log(k - h - 1)
            loss = 0.5 * ranked[h] - 0.5 * ranked[t - 1]
            u = -math.log(source.random()) * math.exp(-log_size)
            noisy = -epsilon * loss / 2.0 - math.log(-math.expm1(-u) or 1e-300)
            if noisy > best:
                best, winner = noisy, t
    return winner


def main() -> None:
    print(f"{K} out of {D:,} items, {K * (D - K) + 1:,} utility classes; seconds for one draw\n")
    print(f"{'':<34} {'first':>8} {'next':>8} {'peak memory, d·k doubles':>26}")
    draws = {
        f"canonical, γ = {gamma:g}, {noise}": lambda n=noise, g=gamma: CanonicalLipschitz(
            SCORES, K, EPSILON, sensitivity=0.5, noise=n, gamma=g
        )
        for gamma in (0.5, 1.0)
        for noise in ("exponential", "gumbel", "laplace")
    }
    draws |= {
        "joint": lambda: JointExponential(SCORES, K, EPSILON, sensitivity=0.5),
        "peeling, gumbel": lambda: Peeling(SCORES, K, EPSILON, sensitivity=0.5),
        "peeling, exponential (OpenDP)": lambda: Peeling(
            SCORES, K, EPSILON, sensitivity=0.5, noise="exponential"
        ),
        "one-shot, exponential": lambda: OneShotTopK(
            SCORES, K, EPSILON, sensitivity=0.5, noise="exponential"
        ),
        "one item, gumbel": lambda: NoisyMax(SCORES, EPSILON, sensitivity=0.5, noise="gumbel"),
        "one item, exponential (OpenDP)": lambda: NoisyMax(SCORES, EPSILON, sensitivity=0.5),
        "generalized exponential": lambda: GeneralizedExponential(SCORES, np.ones(D), EPSILON),
    }
    NoisyMax([1.0, 0.0], 1.0).sample()
    seconds = {}
    for name, build in draws.items():
        mechanism = build()
        first, seconds[name] = timed(mechanism.sample), timed(mechanism.sample)
        mechanism = build()
        tracemalloc.start()
        mechanism.sample()
        peak = tracemalloc.get_traced_memory()[1] / (8 * D * K)
        tracemalloc.stop()
        print(f"{name:<34} {first:>8.3f} {seconds[name]:>8.3f} {peak:>26.1f}")
    loop = timed(lambda: loop_over_classes(SCORES, K, EPSILON, random.Random(1)))
    fast = timed(draws["canonical, γ = 0.5, exponential"]().sample)
    print(f"\na plain Python loop over the classes: {loop:.2f} s, {loop / fast:.0f} times as long")


if __name__ == "__main__":
    main()
