"""Canonical Lipschitz paper, figure 4: the canonical mechanism with each of five noises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mipselect.experiments.papers.canonical_setting import EPSILONS, MARGIN, NOTES, TOP, Canonical
from mipselect.experiments.papers.claims import Ahead
from mipselect.experiments.papers.declared import CANONICAL as PAPER
from mipselect.experiments.papers.declared import (
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Scale,
)
from mipselect.experiments.papers.sources import SCORES, DataSource

NOISES = ("exponential", "half-logistic", "laplace", "gumbel", "logistic")
NOISE_TOP = Metric("TOP by noise", "probability of the exact top k")


@dataclass(frozen=True)
class Noises:
    """TOP of the canonical mechanism with each of the five noises."""

    k: int
    epsilons: tuple[float, ...]
    table: str = ""

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"{self.table}, k = {self.k}"

    def on(self, table: str) -> Noises:
        """See `TableRecipe`."""
        return replace(self, table=table)

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        assert source is not None
        scores = source.scores(self.table)
        k = min(self.k, scores.size - 1)
        for noise in NOISES:
            law = Canonical(noise, 0.5)
            for epsilon in self.epsilons:
                value = law(scores, k, epsilon, TOP.key)
                yield Reading(self.title, noise, epsilon, NOISE_TOP.key, value)


NOISE = Experiment(
    name="canonical-noises",
    paper=PAPER,
    row="Figure 4",
    title="TOP of the canonical mechanism by ε for five noises, γ = ½",
    figures=(LineFigure(NOISE_TOP, "ε", log_x=True),),
    claims=(
        Ahead("exponential noise is ahead of all others", NOISE_TOP.key, "exponential",
              tuple(noise for noise in NOISES if noise != "exponential"), margin=MARGIN),
    ),
    full=Scale(tuple(Noises(k, EPSILONS[::2]) for k in (1, 10, 100)), 1, 60.0),
    quick=Scale((Noises(10, (0.03, 1.0)),), 1, 0.2),
    needs=SCORES,
    notes=NOTES,
)  # fmt: skip
