"""Canonical Lipschitz paper, figures 1 and 6 to 10: real counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..arrays import FloatArray
from ..reproduce.claims import (
    NOT_SEEN,
    OPEN,
    SEEN,
    Ahead,
    Computed,
    Finding,
    Number,
)
from ..reproduce.declared import CANONICAL as PAPER
from ..reproduce.declared import (
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Scale,
)
from ..reproduce.results import Results
from ..reproduce.sources import SCORES, DataSource
from .peeling_draws import peeled_shares
from .setting import (
    CANONICAL,
    EPSILONS,
    EVENT_METRICS,
    GAMMA_1,
    GOOD,
    GREAT,
    HALF,
    JOINT,
    JOINT_NOTE,
    LAWS,
    MARGIN,
    NOTES,
    ONE_SHOT,
    OURS,
    OURS_1,
    PEELING,
    PEELING_EXPONENTIAL,
    PUBLISHED,
    TOP,
    threshold,
)

QUICK_EPSILONS = (0.01, 0.3, 10.0)
CERTAIN = 0.999
SIZES = (10, 100)
BATCHES = 10

THRESHOLD = Metric("threshold", "ε at which TOP has probability 0.999")

SEEN_BEFORE = {
    ("netflix", 10): (0.0068, 0.0043, 0.0294, 0.0329),
    ("netflix", 100): (0.447, 0.371, 20.1, 22.3),
    ("patent", 10): (0.208, 0.158, 0.853, 0.936),
    ("patent", 100): (1.41, 1.59, 58.8, 64.9),
    ("hepth", 10): (2.77, 1.84, 12.5, 13.8),
    ("hepth", 100): (13.8, 11.5, 622.0, 691.0),
}
"""Thresholds of `PUBLISHED`, from an earlier measurement."""


class OnCounts:
    """Base of recipes for every vector of real counts that there is."""

    k: int
    table: str

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"{self.table}, k = {self.k}"

    def scores(self, source: DataSource | None) -> tuple[FloatArray, int]:
        """Return the counts, and k, which is less than their number."""
        assert source is not None
        scores = source.scores(self.table)
        return scores, min(self.k, scores.size - 1)


@dataclass(frozen=True)
class Counts(OnCounts):
    """Exact probabilities on a score vector.

    Attributes
    ----------
    k : int
    epsilons : tuple of float
    methods : tuple of str
    table : str
    """

    k: int
    epsilons: tuple[float, ...]
    methods: tuple[str, ...]
    table: str = ""

    def on(self, table: str) -> Counts:
        """See `TableRecipe`."""
        return replace(self, table=table)

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        scores, k = self.scores(source)
        for method in self.methods:
            for event in EVENT_METRICS:
                for epsilon in self.epsilons:
                    value = LAWS[method](scores, k, epsilon, event.key)
                    yield Reading(self.title, method, epsilon, event.key, value)


@dataclass(frozen=True)
class DrawnCounts(OnCounts):
    """Probabilities on a score vector from draws; every batch is one more of their mean.

    Attributes
    ----------
    k : int
    epsilons : tuple of float
    draws, batch : int
    table : str
    """

    k: int
    epsilons: tuple[float, ...]
    draws: int
    batch: int
    table: str = ""

    def on(self, table: str) -> DrawnCounts:
        """See `TableRecipe`."""
        return replace(self, table=table)

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        scores, k = self.scores(source)
        for epsilon in self.epsilons:
            shares = peeled_shares(scores, k, epsilon, HALF, self.draws, seed)
            for event, share in shares.items():
                yield Reading(self.title, PEELING_EXPONENTIAL, epsilon, event, share)


@dataclass(frozen=True)
class Thresholds(OnCounts):
    """The ε at which the exact top k is all but certain."""

    k: int
    methods: tuple[str, ...]
    table: str = ""

    def on(self, table: str) -> Thresholds:
        """See `TableRecipe`."""
        return replace(self, table=table)

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        scores, k = self.scores(source)
        for method in self.methods:
            found = threshold(LAWS[method], scores, k, TOP.key, CERTAIN)
            yield Reading(self.table, method, float(self.k), THRESHOLD.key, found)


def _times_smaller(results: Results) -> Finding:
    """Find how many times less ε canonical needs than peeling, by k."""
    told, all_of_them = [], True
    for table in results.panels(THRESHOLD.key):
        ours = results.line(table, CANONICAL, THRESHOLD.key)
        others = results.line(table, PEELING, THRESHOLD.key)
        ratios = {k: others[k].value / ours[k].value for k in ours if k in others}
        told += [f"{table} k = {k:g}: {ratio:.3g}" for k, ratio in ratios.items()]
        all_of_them &= all(ratio > 0.3 * k for k, ratio in ratios.items())
    if not told:
        return Finding(OPEN, "nothing of it was measured")
    return Finding(SEEN if all_of_them else NOT_SEEN, "; ".join(told))


SIMILAR = 2.0
"""Times the ε of the other, to be called similar."""


def _joint_is_similar(results: Results) -> Finding:
    """Find how many times the ε of canonical the joint exponential mechanism needs, by k."""
    told, all_of_them = [], True
    for table in results.panels(THRESHOLD.key):
        canonical = results.line(table, CANONICAL, THRESHOLD.key)
        for k, found in results.line(table, JOINT, THRESHOLD.key).items():
            ratio = found.value / canonical[k].value
            told.append(f"{table} k = {k:g}: {ratio:.3g}")
            all_of_them &= 1.0 / SIMILAR <= ratio <= SIMILAR
    if not told:
        return Finding(OPEN, "it was not measured")
    return Finding(SEEN if all_of_them else NOT_SEEN, "; ".join(told))


COUNTS = Experiment(
    name="canonical-counts",
    paper=PAPER,
    row="Figures 1, 6 to 10",
    title="TOP, GREAT and GOOD of real counts by ε",
    figures=(
        LineFigure(TOP, "ε", log_x=True, suffix="-top"),
        LineFigure(GREAT, "ε", log_x=True, suffix="-great"),
        LineFigure(GOOD, "ε", log_x=True, suffix="-good"),
    ),
    claims=(
        Ahead("canonical is ahead of one-shot and peeling (TOP)", TOP.key, CANONICAL,
              (ONE_SHOT, PEELING), margin=MARGIN),
        Ahead("γ = 1 is ahead of one-shot and peeling (TOP)", TOP.key, GAMMA_1,
              (ONE_SHOT, PEELING), margin=MARGIN),
        Ahead("canonical is ahead of one-shot and peeling (GOOD)", GOOD.key, CANONICAL,
              (ONE_SHOT, PEELING), margin=MARGIN),
        Ahead("γ = ½ is ahead of γ = 1 (TOP)", TOP.key, CANONICAL, (GAMMA_1,), margin=MARGIN),
        Ahead("ours: canonical is ahead of one-shot and peeling (GREAT)", GREAT.key, CANONICAL,
              (ONE_SHOT, PEELING), margin=MARGIN),
        Ahead("ours: γ = 1 is never behind the joint exponential mechanism (TOP)", TOP.key,
              GAMMA_1, (JOINT,), margin=MARGIN, never_behind=True),
        Ahead("ours: γ = 1 is never behind the joint exponential mechanism (GOOD)", GOOD.key,
              GAMMA_1, (JOINT,), margin=MARGIN, never_behind=True),
        Ahead("ours: peeling with exponential noise is never behind Gumbel noise (TOP)", TOP.key,
              PEELING_EXPONENTIAL, (PEELING,), margin=MARGIN, never_behind=True),
    ),
    full=Scale(
        (
            *(Counts(k, EPSILONS, (*PUBLISHED, JOINT)) for k in SIZES),
            *(DrawnCounts(k, EPSILONS, 20, batch) for k in SIZES for batch in range(BATCHES)),
        ),
        1,
        8.0,
    ),
    quick=Scale(
        (
            Counts(10, QUICK_EPSILONS, (*PUBLISHED, JOINT)),
            *(DrawnCounts(10, QUICK_EPSILONS, 10, batch) for batch in range(2)),
        ),
        1,
        0.1,
    ),
    needs=SCORES,
    notes=(
        *NOTES,
        JOINT_NOTE,
        "Peeling with exponential noise (ours) is drawn, 200 times, with errors.",
    ),
)  # fmt: skip

THRESHOLDS = Experiment(
    name="canonical-thresholds",
    paper=PAPER,
    row="Figures 1, 6 to 10",
    title="The ε at which the exact top k of real counts has probability 0.999",
    figures=(LineFigure(THRESHOLD, "k", log_x=True, log_y=True, fraction=False),),
    claims=(
        Ahead("canonical needs less ε than one-shot and peeling", THRESHOLD.key, CANONICAL,
              (ONE_SHOT, PEELING), higher=False),
        Ahead("γ = 1 needs less ε than one-shot and peeling", THRESHOLD.key, GAMMA_1,
              (ONE_SHOT, PEELING), higher=False),
        Computed("canonical needs less ε than peeling by a factor that grows like k: above 0.3 k",
                 _times_smaller),
        Ahead("γ = ½ is the better choice", THRESHOLD.key, CANONICAL, (GAMMA_1,), higher=False),
        Computed("the joint exponential mechanism is very similar: the same ε but for a factor 2",
                 _joint_is_similar),
        *(
            Number(f"{table}, k = {k}, {method} (measured before)", THRESHOLD.key, table,
                   method, float(k), value, 0.01 * value)
            for (table, k), values in SEEN_BEFORE.items()
            for method, value in zip(PUBLISHED, values, strict=True)
        ),
    ),
    full=Scale(tuple(Thresholds(k, (*PUBLISHED, JOINT, OURS, OURS_1)) for k in SIZES), 1, 1.0),
    quick=Scale((Thresholds(10, (*PUBLISHED, JOINT)),), 1, 0.2),
    needs=SCORES,
    notes=(
        *NOTES,
        JOINT_NOTE,
        "Canonical has Gumbel noise as in the figures; exponential noise is ours.",
    ),
)  # fmt: skip
