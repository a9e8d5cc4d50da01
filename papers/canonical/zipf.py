"""Canonical Lipschitz paper, figures 2 and 3: counts by Zipf's law."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from ..reproduce.claims import Ahead
from ..reproduce.declared import CANONICAL as PAPER
from ..reproduce.declared import DataSeed, Experiment, LineFigure, Reading, Scale
from ..reproduce.sources import DataSource
from .peeling_draws import peeled_shares
from .setting import (
    CANONICAL,
    EVENT_METRICS,
    GAMMA_1,
    GOOD,
    GREAT,
    HALF,
    JOINT,
    JOINT_NOTE,
    LAWS,
    MARGIN,
    ONE_SHOT,
    OURS,
    PEELING,
    PEELING_EXPONENTIAL,
    PUBLISHED,
    TOP,
)

ITEMS, TOTAL, EPSILON = 10_000, 15**7, 1.0
EXPONENTS = tuple(round(x, 4) for x in np.linspace(0.0, 1.0, 101).tolist())
QUICK_EXPONENTS = (0.2, 0.6, 1.0)
METHODS = (*PUBLISHED, JOINT)
SIZES, BATCHES = (100, 10), 10


@dataclass(frozen=True)
class Zipf:
    """Exact probabilities at one exponent.

    Attributes
    ----------
    exponent : float
    k : int
    methods : tuple of str
    items : int
    """

    exponent: float
    k: int
    methods: tuple[str, ...] = METHODS
    items: int = ITEMS

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"k = {self.k}, exponent {self.exponent:g}"

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        counts = zipf(self.items, self.exponent)
        for method in self.methods:
            for event in EVENT_METRICS:
                value = LAWS[method](counts, self.k, EPSILON, event.key)
                yield Reading(f"k = {self.k}", method, self.exponent, event.key, value)
        value = LAWS[OURS](counts, self.k, EPSILON, TOP.key)
        yield Reading(f"k = {self.k}", OURS, self.exponent, TOP.key, value)


@dataclass(frozen=True)
class DrawnZipf:
    """Probabilities at one exponent from draws; every batch is one more of their mean.

    Attributes
    ----------
    exponent : float
    k, draws, batch, items : int
    """

    exponent: float
    k: int
    draws: int
    batch: int
    items: int = ITEMS

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"k = {self.k}, exponent {self.exponent:g}"

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        counts = zipf(self.items, self.exponent)
        shares = peeled_shares(counts, self.k, EPSILON, HALF, self.draws, seed)
        for event, share in shares.items():
            yield Reading(f"k = {self.k}", PEELING_EXPONENTIAL, self.exponent, event, share)


def zipf(items: int, exponent: float) -> FloatArray:
    """Make counts proportional to rank^-exponent that add up to 15⁷."""
    shares = np.arange(1, items + 1, dtype=np.float64) ** -exponent
    counts: FloatArray = TOTAL * shares / shares.sum()
    return counts


ZIPF = Experiment(
    name="canonical-zipf",
    paper=PAPER,
    row="Figures 2, 3",
    title="TOP, GREAT and GOOD of Zipf counts by the exponent: d = 10,000, ε = 1",
    figures=(
        LineFigure(TOP, "exponent of Zipf's law", suffix="-top"),
        LineFigure(GREAT, "exponent of Zipf's law", suffix="-great"),
        LineFigure(GOOD, "exponent of Zipf's law", suffix="-good"),
    ),
    claims=(
        Ahead("canonical is ahead of one-shot and peeling (TOP)", TOP.key, CANONICAL,
              (ONE_SHOT, PEELING), margin=MARGIN),
        Ahead("γ = 1 is ahead of one-shot and peeling (TOP)", TOP.key, GAMMA_1,
              (ONE_SHOT, PEELING), margin=MARGIN),
        Ahead("canonical is ahead of one-shot and peeling (GOOD)", GOOD.key, CANONICAL,
              (ONE_SHOT, PEELING), margin=MARGIN),
        Ahead("γ = 1 is ahead of one-shot and peeling (GOOD)", GOOD.key, GAMMA_1,
              (ONE_SHOT, PEELING), margin=MARGIN),
        Ahead("γ = ½ is ahead of γ = 1 (TOP)", TOP.key, CANONICAL, (GAMMA_1,), margin=MARGIN),
        Ahead("ours: γ = 1 is never behind the joint exponential mechanism (TOP)", TOP.key,
              GAMMA_1, (JOINT,), margin=MARGIN, never_behind=True),
        Ahead("ours: γ = 1 is never behind the joint exponential mechanism (GOOD)", GOOD.key,
              GAMMA_1, (JOINT,), margin=MARGIN, never_behind=True),
        Ahead("ours: peeling with exponential noise is never behind Gumbel noise (TOP)", TOP.key,
              PEELING_EXPONENTIAL, (PEELING,), margin=MARGIN, never_behind=True),
        Ahead("ours: exponential noise is never behind Gumbel noise (TOP)", TOP.key, OURS,
              (CANONICAL,), margin=MARGIN, never_behind=True),
    ),
    full=Scale(
        (
            *(Zipf(exponent, k) for k in SIZES for exponent in EXPONENTS),
            *(
                DrawnZipf(exponent, k, 20, batch)
                for k in SIZES
                for exponent in EXPONENTS
                for batch in range(BATCHES)
            ),
        ),
        1,
        6.0,
    ),
    quick=Scale(
        (
            *(Zipf(exponent, 10) for exponent in QUICK_EXPONENTS),
            *(DrawnZipf(0.6, 10, 10, batch) for batch in range(2)),
        ),
        1,
        0.2,
    ),
    notes=(
        "Total 15⁷, sensitivity ½; exact sums and quadratures. Peeling with exponential noise "
        "(ours) is drawn, 200 times, with errors.",
        "GREAT: the best ⌈k/10⌉ are in, and none beyond ⌊1.1 k⌋. GOOD: the best ⌈k/100⌉, and none "
        "beyond ⌊1.5 k⌋. For every mechanism.",
        JOINT_NOTE,
    ),
)  # fmt: skip
