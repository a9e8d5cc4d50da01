"""DP-SIS paper, figure 1: SIS and two-stage selection without privacy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.experiments.papers.claims import Ahead, Number
from mipselect.experiments.papers.declared import (
    DP_SIS,
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Scale,
)
from mipselect.experiments.papers.sis_setting import SIS, correlations, largest, votes
from mipselect.experiments.papers.sources import DataSource

SIZE, TAKEN, BLOCKS = 100, 5, 10
NOISE_VARIANCE = 0.1
OUTLIERS = 10
VOTES = "two-stage, not private"
W1, W1_W2 = "W1", "W1/W2"

PICKED = Metric("picked", "how often a feature is selected, of all repetitions")
SHARE = Metric("share", "share of the five true features among the selected (x = 0)")


@dataclass(frozen=True)
class Instability:
    """Some repetitions of one of the two experiments.

    Attributes
    ----------
    panel : {"W1", "W1/W2"}
        In the second every tenth row has its weights on features 96 to 100.
    repetitions : int
    """

    panel: str
    repetitions: int

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return self.panel

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        rows, rng = np.random.default_rng([data.number, 1]), np.random.default_rng(seed)
        counts = {SIS: np.zeros(SIZE), VOTES: np.zeros(SIZE)}
        for _ in range(self.repetitions):
            X, y = self._data(rows)
            for method, values in (
                (SIS, correlations(X, y)),
                (VOTES, votes(X, y, BLOCKS, rng)),
            ):
                counts[method][list(largest(values, TAKEN, rng))] += 1.0
        for method, count in counts.items():
            picked = count / self.repetitions
            share = float(picked[:TAKEN].mean())
            yield Reading(self.panel, method, 0.0, SHARE.key, share)
            for feature, value in enumerate(picked.tolist(), 1):
                yield Reading(self.panel, method, float(feature), PICKED.key, value)

    def _data(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((SIZE, SIZE))
        y = X[:, :TAKEN].sum(axis=1)
        if self.panel == W1_W2:
            y[::OUTLIERS] = X[::OUTLIERS, -TAKEN:].sum(axis=1)
        return X, y + rng.normal(0.0, np.sqrt(NOISE_VARIANCE), SIZE)


INSTABILITY = Experiment(
    name="sis-instability",
    paper=DP_SIS,
    row="Figure 1",
    title="How often features are selected without privacy: n = d = 100, five true features",
    figures=(LineFigure(PICKED, "feature"),),
    claims=(
        Ahead("SIS selects true features more often than two-stage", SHARE.key, SIS, (VOTES,)),
        Number("W1, SIS (measured before)", SHARE.key, W1, SIS, 0.0, 0.969, 0.01),
        Number("W1, two-stage (measured before)", SHARE.key, W1, VOTES, 0.0, 0.495, 0.02),
        Number("W1/W2, SIS (measured before)", SHARE.key, W1_W2, SIS, 0.0, 0.919, 0.01),
        Number("W1/W2, two-stage (measured before)", SHARE.key, W1_W2, VOTES, 0.0, 0.398, 0.02),
    ),
    full=Scale((Instability(W1, 100), Instability(W1_W2, 100)), 10, 1.5),
    quick=Scale((Instability(W1, 40), Instability(W1_W2, 40)), 3, 0.1),
    also=(SHARE,),
    notes=(
        "Correlations are Pearson's; the ten blocks of ten rows vote for all non-zeros of a Lasso "
        "with alpha 0.1, ties at random. The paper states neither; other readings (inner products, "
        "votes for five, ties by number) give shares up to 0.1 away.",
    ),
)
