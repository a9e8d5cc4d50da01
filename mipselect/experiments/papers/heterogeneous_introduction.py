"""Heterogeneous sensitivities: the example of the introduction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mipselect.experiments.papers.claims import Ahead, Somewhere
from mipselect.experiments.papers.declared import (
    HETEROGENEOUS,
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Scale,
)
from mipselect.experiments.papers.heterogeneous import (
    EPSILONS,
    GEM,
    MECHANISMS,
    OPTIMISTIC,
    RNM,
    RNMH,
    RS,
    UNIFORM,
    law_of,
)
from mipselect.experiments.papers.sources import DataSource

HIGH = Metric("high", "probability of a high-scoring item")
COUNTED = 0.004
"""Two standard errors of a probability of ½ that is counted from 100,000 draws, as RNMH's is."""


@dataclass(frozen=True)
class Introduction:
    """The introduction's example: two scores, two sensitivities, many items.

    Attributes
    ----------
    items : int
        Half of them score 1, the others 0.
    wide : float
        Δ of the low-scoring half; 1 for the others.
    epsilons : tuple of float
    """

    items: int
    wide: float
    epsilons: tuple[float, ...]

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"Δ of low scores {self.wide:g} times that of high ones, {self.items} items"

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        half = self.items // 2
        scores = np.repeat([1.0, 0.0], half)
        widths = np.repeat([1.0, self.wide], half)
        for epsilon in self.epsilons:
            for name in (RNM, RNMH, GEM, OPTIMISTIC, RS):
                mechanism = MECHANISMS[name](scores, widths, epsilon)
                value = float(law_of(mechanism, scores, widths)[:half].sum())
                yield Reading(self.title, name, epsilon, HIGH.key, value)
            yield Reading(self.title, UNIFORM, epsilon, HIGH.key, 0.5)


COIN = Ahead(
    "a coin is ahead of RNMH",
    HIGH.key,
    UNIFORM,
    (RNMH,),
    panels=(Introduction(100, 3.0, ()).title,),
    margin=COUNTED,
)

INTRODUCTION = Experiment(
    name="heterogeneous-introduction",
    paper=HETEROGENEOUS,
    row="Figures",
    title="Probability of a high score: two scores, two sensitivities (the introduction)",
    figures=(LineFigure(HIGH, "ε", log_x=True),),
    claims=(
        Ahead(
            "low scores with the larger Δ: RNM is ahead of RNMH",
            HIGH.key,
            RNM,
            (RNMH,),
            panels=tuple(Introduction(k, 3.0, ()).title for k in (10, 100)),
            margin=COUNTED,
        ),
        Somewhere("low scores with the larger Δ: RNMH can be worse than a coin", COIN),
        Ahead("RNM is never worse than a coin", HIGH.key, RNM, (UNIFORM,), never_behind=True),
        Ahead(
            "high scores with the larger Δ: RNMH is ahead of RNM",
            HIGH.key,
            RNMH,
            (RNM,),
            panels=(Introduction(100, 1.0 / 3.0, ()).title,),
            margin=COUNTED,
        ),
    ),
    full=Scale(
        tuple(
            Introduction(items, wide, EPSILONS)
            for items, wide in ((10, 3.0), (100, 3.0), (100, 1.0), (100, 1.0 / 3.0))
        ),
        1,
        1.0,
    ),
    quick=Scale((Introduction(100, 3.0, (0.5, 1.0, 5.0)),), 1, 0.05),
    notes=(
        "Exact laws, but for RNMH, which is counted from draws and costs ε(1 + max Δ / min Δ)/2, "
        "2 ε where one Δ is three times the other.",
    ),
)
