"""At which ε is the exact top k more likely than not? The scores of the canonical paper.

    python -m benchmarks.canonical_scores

Counts of which every one moves by at most 1 and in one direction: sensitivity 1/2.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from mipselect.mechanisms import CanonicalLipschitz, OneShotTopK, Peeling

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "scores"
LIMITS = 1e-6, 1e4


def epsilon_at_half(probability: Callable[[float], float]) -> float:
    """The ε at which an increasing probability passes 1/2, to 1%."""
    low, high = LIMITS
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if probability(middle) > 0.5 else (middle, high)
    return high


def rows(scores: np.ndarray, k: int) -> dict[str, float]:
    top = np.argsort(-scores, kind="stable")[:k]

    def canonical(noise: str, gamma: float) -> float:
        return epsilon_at_half(
            lambda epsilon: CanonicalLipschitz(
                scores, k, epsilon, sensitivity=0.5, noise=noise, gamma=gamma
            ).event_probability("TOP")
        )

    def one_by_one(mechanism: type[Peeling | OneShotTopK], noise: str) -> float:
        return epsilon_at_half(
            lambda epsilon: float(
                np.exp(
                    mechanism(scores, k, epsilon, sensitivity=0.5, noise=noise).log_probability(top)
                )
            )
        )

    return {
        "canonical, exponential": canonical("exponential", 0.5),
        "canonical, gumbel": canonical("gumbel", 0.5),
        "canonical γ = 1, exponential": canonical("exponential", 1.0),
        "canonical γ = 1, gumbel": canonical("gumbel", 1.0),
        "one-shot, exponential": one_by_one(OneShotTopK, "exponential"),
        "one-shot, laplace": one_by_one(OneShotTopK, "laplace"),
        "peeling (= one-shot), gumbel": one_by_one(Peeling, "gumbel"),
    }


def main() -> None:
    files = sorted(DATA.glob("*.npy"))
    if not files:
        print(f"no scores in {DATA}")
    for file in files:
        scores = np.load(file).astype(float)
        ranked = np.sort(scores)[::-1]
        for k in (10, 100):
            print(f"\n{file.stem}: d = {scores.size}, k = {k}, gap {ranked[k - 1] - ranked[k]:g}")
            print(f"  {'mechanism':<30} {'ε at P(TOP) = 1/2':>18} {'times the least':>16}")
            found = rows(scores, k)
            for name, epsilon in found.items():
                if epsilon >= LIMITS[1]:
                    print(f"  {name:<30} {'never: a tie':>18}")
                else:
                    print(f"  {name:<30} {epsilon:>18.4g} {epsilon / min(found.values()):>16.1f}")


if __name__ == "__main__":
    main()
