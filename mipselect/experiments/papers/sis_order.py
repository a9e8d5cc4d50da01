"""DP-SIS paper, figure 8: how good the selection is by the order of the correlations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mipselect.experiments.papers.claims import Ahead, Rises
from mipselect.experiments.papers.declared import DP_SIS as PAPER
from mipselect.experiments.papers.declared import (
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Scale,
)
from mipselect.experiments.papers.order_events import EVENTS, one_shot_event
from mipselect.experiments.papers.sis_setting import (
    DP_SIS,
    GAMMA_1,
    GUMBEL,
    MECHANISMS,
    scaled,
)
from mipselect.experiments.papers.sources import MICROARRAYS, DataSource

K = 10
EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0)
QUICK_EPSILONS = (1.0, 5.0, 20.0)
PEELING = "peeling"
METRICS = {event: Metric(event, f"probability of {event}, k = 10") for event in EVENTS}


MARGIN = 1e-3
"""Probabilities that differ by less are not told apart."""


@dataclass(frozen=True)
class OrderOnMicroarray:
    """Exact probabilities of TOP, GREAT and GOOD on a table.

    Attributes
    ----------
    epsilons : tuple of float
    methods : tuple of str
    table : str
    """

    epsilons: tuple[float, ...]
    methods: tuple[str, ...]
    table: str = ""

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return self.table

    def on(self, table: str) -> OrderOnMicroarray:
        """See `TableRecipe`."""
        return replace(self, table=table)

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        assert source is not None
        X, codes = source.microarray(self.table)
        table, target = scaled(X, codes)
        scores = np.abs(table.T @ target)
        for epsilon in self.epsilons:
            for event in EVENTS:
                for method in self.methods:
                    mechanism = MECHANISMS[method](scores, K, epsilon)
                    value = mechanism.event_probability(event)
                    yield Reading(self.table, method, epsilon, event, value)
                value = one_shot_event(scores, K, epsilon, 1.0, "gumbel", event)
                yield Reading(self.table, PEELING, epsilon, event, value)


ORDER = Experiment(
    name="sis-order",
    paper=PAPER,
    row="Figure 8",
    title="TOP, GREAT and GOOD of DP-SIS by ε, k = 10, from exact laws",
    figures=tuple(
        LineFigure(METRICS[event], "ε, add-remove", log_x=True, suffix=f"-{event.lower()}")
        for event in EVENTS
    ),
    claims=(
        Rises("TOP rises with ε", "TOP", (DP_SIS, GUMBEL)),
        Rises("GOOD rises with ε", "GOOD", (DP_SIS, GUMBEL)),
        Ahead("DP-SIS is ahead of peeling (TOP)", "TOP", DP_SIS, (PEELING,), margin=MARGIN),
        Ahead("ours: Gumbel noise is ahead of peeling (TOP)", "TOP", GUMBEL, (PEELING,),
              margin=MARGIN),
        Ahead("ours: γ = 1 is never behind γ = ½ (GOOD)", "GOOD", GAMMA_1, (DP_SIS,), margin=MARGIN,
              never_behind=True),
    ),
    full=Scale((OrderOnMicroarray(EPSILONS, (DP_SIS, GAMMA_1, GUMBEL)),), 1, 0.6),
    quick=Scale((OrderOnMicroarray(QUICK_EPSILONS, (GAMMA_1, GUMBEL)),), 1, 0.2),
    needs=MICROARRAYS,
    notes=(
        "The paper shows its table chin, which is not at hand; here are those that are.",
        "GREAT: the best ⌈k/10⌉ and none beyond ⌊1.1 k⌋; GOOD: the best ⌈k/100⌉ and none beyond "
        "⌊1.5 k⌋. Peeling, γ = 1 and Gumbel noise are ours.",
    ),
)  # fmt: skip
