"""DPKendall paper, theorem 3.8: of copies of a feature exactly one is selected. It is not so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.experiments.papers.claims import NOT_SEEN, OPEN, SEEN, Ahead, Computed, Finding
from mipselect.experiments.papers.declared import (
    KENDALL,
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Scale,
)
from mipselect.experiments.papers.results import Results
from mipselect.experiments.papers.sources import DataSource
from mipselect.selectors import KendallSelector

MEAN, MAX = "mean, as published", "maximum"
BOTH = Metric("both", "draws with a feature and its copy")
CORRELATIONS = (0.9, 0.2, 0.2, 0.2, 0.2)
SIZES = (2, 3, 4, 5)


@dataclass(frozen=True)
class Copies:
    """Five independent features and a copy of the strongest.

    Attributes
    ----------
    n, draws : int
    epsilon : float
    """

    n: int
    draws: int
    epsilon: float = 1.0

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"n = {self.n:,}"

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        X, y = self._data(np.random.default_rng(data.number))
        copy = X.shape[1] - 1
        for method, redundancy in ((MEAN, "mean"), (MAX, "max")):
            for k in SIZES:
                selector = KendallSelector(
                    k, epsilon=self.epsilon, redundancy=redundancy, random_state=0
                )
                mechanism = selector.mechanism(X, y)
                own = random.Random(f"{seed} {method} {k}")
                supports = [set(mechanism.sample(own)) for _ in range(self.draws)]
                both = sum({0, copy} <= support for support in supports) / self.draws
                yield Reading("", method, float(k), BOTH.key, both)

    def _data(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        strengths = np.array(CORRELATIONS)
        X = rng.standard_normal((self.n, strengths.size))
        rest = np.sqrt(1.0 - strengths @ strengths)
        y = X @ strengths + rest * rng.standard_normal(self.n)
        return np.column_stack([X, X[:, 0]]), y


def _one_of_two(results: Results) -> Finding:
    line = results.line("", MEAN, BOTH.key)
    if not line:
        return Finding(OPEN, "nothing of it was measured")
    told = ", ".join(f"k = {k:g}: {middle}" for k, middle in line.items())
    return Finding(SEEN if all(m.value == 0.0 for m in line.values()) else NOT_SEEN, told)


COPIES = Experiment(
    name="kendall-copies",
    paper=KENDALL,
    row="Figures 1 to 5",
    title="How often DPKendall selects a feature and its copy: theorem 3.8",
    figures=(LineFigure(BOTH, "k, selected of six"),),
    claims=(
        Computed("of copies exactly one is selected (theorem 3.8)", _one_of_two),
        Ahead("ours: with the maximum in place of the mean copies are held back", BOTH.key, MAX,
              (MEAN,), higher=False),
    ),
    full=Scale((Copies(20_000, 100),), 5, 0.1),
    quick=Scale((Copies(5_000, 20),), 2, 0.1),
    notes=(
        "Correlations .9, .2, .2, .2, .2 with the target; ε = 1 under add-remove. The mean over "
        "the chosen divides the penalty of a copy by their number, so that it returns in round 3.",
    ),
)  # fmt: skip
