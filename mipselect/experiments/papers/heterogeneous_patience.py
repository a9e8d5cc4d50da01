"""Ours, on figure 1 of the heterogeneous paper: how long random stopping should look."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from mipselect.experiments.papers.claims import Number, Rises
from mipselect.experiments.papers.declared import (
    HETEROGENEOUS,
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Scale,
)
from mipselect.experiments.papers.heterogeneous import RS, ConstantScores
from mipselect.experiments.papers.sources import DataSource
from mipselect.mechanisms import NoisyMax, RandomStopping

AHEAD = Metric("ahead", "ε up to which RS is ahead of RNM in scenario 1")
LEAST = Metric("least", "mean squared error of RS at any ε, without noise")
GAMMAS = (0.05, 0.02, 0.01, 0.005, 0.002)
SEARCHED = 0.1, 100.0


@dataclass(frozen=True)
class Patience:
    """One γ."""

    gamma: float

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"γ = {self.gamma:g}"

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        scores, widths = ConstantScores("1, positive", ()).scores_and_widths()
        worst = int(np.argmin(scores))
        share = float(np.mean(scores == scores[worst]))

        def behind(log_epsilon: float) -> float:
            # Both errors are 4 P(low score), and items with a low score are alike.
            epsilon = math.exp(log_epsilon)
            laws = (
                RandomStopping(scores, widths, epsilon, gamma=self.gamma),
                NoisyMax(scores, epsilon, sensitivity=float(widths.max())),
            )
            stopping, noisy = (law.log_probability(worst) for law in laws)
            return stopping - noisy

        low, high = (math.log(end) for end in SEARCHED)
        yield Reading("", RS, self.gamma, AHEAD.key, math.exp(brentq(behind, low, high, xtol=1e-3)))
        # It stops before the first item with a high score: Σ γ (1-γ)^(n-1) share^n.
        missed = self.gamma * share / (1.0 - (1.0 - self.gamma) * share)
        yield Reading("", RS, self.gamma, LEAST.key, 4.0 * missed)


PATIENCE = Experiment(
    name="heterogeneous-patience",
    paper=HETEROGENEOUS,
    row="Figures",
    title="How far random stopping is ahead by γ, scenario 1",
    figures=(LineFigure(AHEAD, "γ", log_x=True, log_y=True, fraction=False),),
    claims=(
        Number("γ = 0.05 (measured before)", AHEAD.key, "", RS, 0.05, 4.3, 0.1),
        Number("γ = 0.005 (measured before)", AHEAD.key, "", RS, 0.005, 9.3, 0.1),
        Rises("a smaller γ is ahead for longer", AHEAD.key, (RS,), falls=True),
    ),
    full=Scale(tuple(Patience(gamma) for gamma in GAMMAS), 1, 0.5),
    quick=Scale((Patience(0.05), Patience(0.02)), 1, 0.1),
    also=(LEAST,),
    notes=("Exact laws. γ must be chosen without looking at the scores.",),
)
