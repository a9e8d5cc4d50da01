"""Draw docs/scores.svg: how likely the exact top k is, by mechanism and ε.

    pip install mipselect[plot] && python -m benchmarks.picture_of_scores

The counts are made up: 2,000 items, item r counted 20,000 / √r times, k = 20.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from mipselect.mechanisms import CanonicalLipschitz, OneShotTopK, Peeling

TARGET = Path(__file__).resolve().parents[1] / "docs" / "scores.svg"
COUNTS = np.floor(20_000.0 / np.sqrt(np.arange(1, 2001)))
K = 20
TOP = list(range(K))
EPSILONS = np.geomspace(1e-2, 2.0, 120)


def canonical(gamma: float) -> Callable[[float], float]:
    def probability(epsilon: float) -> float:
        mechanism = CanonicalLipschitz(COUNTS, K, epsilon, sensitivity=0.5, gamma=gamma)
        return mechanism.event_probability("TOP")

    return probability


def one_by_one(mechanism: type[OneShotTopK | Peeling], noise: str) -> Callable[[float], float]:
    def probability(epsilon: float) -> float:
        built = mechanism(COUNTS, K, epsilon, sensitivity=0.5, noise=noise)
        return float(np.exp(built.log_probability(TOP)))

    return probability


CURVES = {
    "canonical Lipschitz, γ = ½": (canonical(0.5), "C0", "-"),
    "canonical Lipschitz, γ = 1": (canonical(1.0), "C0", "--"),
    "one-shot, exponential noise": (one_by_one(OneShotTopK, "exponential"), "C1", "-"),
    "peeling (= one-shot), Gumbel noise": (one_by_one(Peeling, "gumbel"), "C1", "--"),
}


def main() -> None:
    mpl.rcParams["svg.hashsalt"] = "mipselect"
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for name, (probability, color, style) in CURVES.items():
        axes.plot(EPSILONS, [probability(e) for e in EPSILONS], style, color=color, label=name)
    axes.set(
        xscale="log",
        xlabel="ε, for the whole selection",
        ylabel="probability of the exact top 20",
        ylim=(0.0, 1.0),
    )
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
