"""Canonical Lipschitz paper: real counts (figures 1, 4, 6 to 10) and Zipf's law (2, 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from mipselect.mechanisms import CanonicalLipschitz

from ..claims import (
    NOT_SEEN,
    OPEN,
    SEEN,
    Ahead,
    Computed,
    Finding,
    Number,
)
from ..experiment import CANONICAL as PAPER
from ..experiment import (
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Recipe,
    Results,
    Scale,
)
from ..sources import SCORES, DataSource, FloatArray
from .laws import joint_event, one_shot_event, peeled_shares

EPSILONS = tuple(float(f"{e:.3g}") for e in np.geomspace(1e-3, 1e3, 19))

HALF = 0.5
"""The sensitivity of counts that all move in one direction."""

SEARCHED = 1e-6, 1e6
"""ε between which a threshold is looked for."""

DIGITS = 1e-4
"""Relative precision of a threshold."""

TINY = 1e-12
"""Smallest known distance of a probability from 1."""

TOP = Metric("TOP", "probability of the exact top k")
GREAT = Metric("GREAT", "probability of a great k-subset")
GOOD = Metric("GOOD", "probability of a good k-subset")
EVENT_METRICS = (TOP, GREAT, GOOD)

MARGIN = 1e-3
"""Probabilities that differ by less are not told apart."""

Law = Callable[[FloatArray, int, float, str], float]
"""Function from scores, k, ε and an event to its probability."""

CANONICAL, GAMMA_1 = "canonical", "canonical, γ = 1"
ONE_SHOT, PEELING = "one-shot, exponential", "peeling, Gumbel"
JOINT, PEELING_EXPONENTIAL = "joint exponential", "peeling, exponential"
OURS, OURS_1 = "canonical, exponential", "canonical, γ = 1, exponential"
PUBLISHED = (CANONICAL, GAMMA_1, ONE_SHOT, PEELING)


@dataclass(frozen=True)
class Canonical:
    """The probability of an event under the canonical Lipschitz mechanism."""

    noise: str
    gamma: float

    def __call__(self, scores: FloatArray, k: int, epsilon: float, event: str) -> float:
        """See `Law`."""
        mechanism = CanonicalLipschitz(
            scores, k, epsilon, sensitivity=HALF, noise=self.noise, gamma=self.gamma
        )
        # Sums of a million probabilities may be above 1 by rounding.
        return min(mechanism.event_probability(event), 1.0)


@dataclass(frozen=True)
class OneShot:
    """The probability of an event under one-shot selection; with Gumbel noise also of peeling."""

    noise: str

    def __call__(self, scores: FloatArray, k: int, epsilon: float, event: str) -> float:
        """See `Law`."""
        return min(one_shot_event(scores, k, epsilon, HALF, self.noise, event), 1.0)


@dataclass(frozen=True)
class Joint:
    """The probability of an event under the joint exponential mechanism, in whatever order."""

    def __call__(self, scores: FloatArray, k: int, epsilon: float, event: str) -> float:
        """See `Law`."""
        return min(joint_event(scores, k, epsilon, HALF, event), 1.0)


LAWS: dict[str, Law] = {
    CANONICAL: Canonical("gumbel", 0.5),
    GAMMA_1: Canonical("gumbel", 1.0),
    ONE_SHOT: OneShot("exponential"),
    PEELING: OneShot("gumbel"),
    JOINT: Joint(),
    OURS: Canonical("exponential", 0.5),
    OURS_1: Canonical("exponential", 1.0),
}


def threshold(law: Law, scores: FloatArray, k: int, event: str, share: float) -> float | None:
    """Find the ε at which an event has the probability `share`; None if there is none."""

    def above(log_epsilon: float) -> float:
        rest = max(1.0 - law(scores, k, math.exp(log_epsilon), event), TINY)
        # The log of what is missing is nearly a line, which a root finder likes.
        return math.log1p(-share) - math.log(rest)

    low, high = (math.log(end) for end in SEARCHED)
    right = low
    while above(right) < 0.0:
        low, right = right, right + math.log(10.0)
        if right > high:
            return None
    return math.exp(brentq(above, low, right, xtol=DIGITS))


EVENT_NOTE = (
    "GREAT: the best ⌈k/10⌉ are in, and none beyond ⌊1.1 k⌋. GOOD: the best ⌈k/100⌉, and none "
    "beyond ⌊1.5 k⌋. For every mechanism."
)

NOTES = (
    "Counts that all move in one direction: sensitivity ½. Probabilities are exact sums or "
    "quadratures, thresholds are roots of them.",
    EVENT_NOTE,
    "Ties are broken by order, so that TOP is one subset.",
)

JOINT_NOTE = (
    "The joint exponential mechanism draws a ranking, which counts in any order. The paper left it "
    "out for its cost."
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


class OnCounts(Recipe):
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


def figures(x_label: str, *, log_x: bool = False) -> tuple[LineFigure, ...]:
    """Draw each event in a figure of its own."""
    return tuple(
        LineFigure(event, x_label, log_x=log_x, suffix=f"-{event.key.lower()}")
        for event in EVENT_METRICS
    )


def ahead(method: str, event: Metric, name: str = "") -> Ahead:
    """Claim that a canonical mechanism is ahead of the published one-shot selection and peeling."""
    text = f"{name or method.split(', ')[-1]} is ahead of one-shot and peeling ({event.key})"
    return Ahead(text, event.key, method, (ONE_SHOT, PEELING), margin=MARGIN)


HALF_OR_ONE = Ahead("γ = ½ is ahead of γ = 1 (TOP)", TOP.key, CANONICAL, (GAMMA_1,), margin=MARGIN)
OUR_CLAIMS = (
    *(
        Ahead(f"ours: γ = 1 is never behind the joint exponential mechanism ({event.key})",
              event.key, GAMMA_1, (JOINT,), margin=MARGIN, never_behind=True)
        for event in (TOP, GOOD)
    ),
    Ahead("ours: peeling with exponential noise is never behind Gumbel noise (TOP)", TOP.key,
          PEELING_EXPONENTIAL, (PEELING,), margin=MARGIN, never_behind=True),
)  # fmt: skip

COUNTS = Experiment(
    name="canonical-counts",
    paper=PAPER,
    row="Figures 1, 6 to 10",
    title="TOP, GREAT and GOOD of real counts by ε",
    figures=figures("ε", log_x=True),
    claims=(
        ahead(CANONICAL, TOP),
        ahead(GAMMA_1, TOP),
        ahead(CANONICAL, GOOD),
        HALF_OR_ONE,
        ahead(CANONICAL, GREAT, "ours: canonical"),
        *OUR_CLAIMS,
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


NOISES = ("exponential", "half-logistic", "laplace", "gumbel", "logistic")
NOISE_TOP = Metric("TOP by noise", "probability of the exact top k")


@dataclass(frozen=True)
class Noises(OnCounts):
    """TOP of the canonical mechanism with each of the five noises."""

    k: int
    epsilons: tuple[float, ...]
    table: str = ""

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        scores, k = self.scores(source)
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


ITEMS, TOTAL, EPSILON = 10_000, 15**7, 1.0
EXPONENTS = tuple(round(x, 4) for x in np.linspace(0.0, 1.0, 101).tolist())
QUICK_EXPONENTS = (0.2, 0.6, 1.0)
METHODS = (*PUBLISHED, JOINT)
ZIPF_SIZES = (100, 10)


@dataclass(frozen=True)
class Zipf(Recipe):
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
class DrawnZipf(Recipe):
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
    figures=figures("exponent of Zipf's law"),
    claims=(
        ahead(CANONICAL, TOP),
        ahead(GAMMA_1, TOP),
        ahead(CANONICAL, GOOD),
        ahead(GAMMA_1, GOOD),
        HALF_OR_ONE,
        *OUR_CLAIMS,
        Ahead("ours: exponential noise is never behind Gumbel noise (TOP)", TOP.key, OURS,
              (CANONICAL,), margin=MARGIN, never_behind=True),
    ),
    full=Scale(
        (
            *(Zipf(exponent, k) for k in ZIPF_SIZES for exponent in EXPONENTS),
            *(
                DrawnZipf(exponent, k, 20, batch)
                for k in ZIPF_SIZES
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
        EVENT_NOTE,
        JOINT_NOTE,
    ),
)  # fmt: skip


EXPERIMENTS = (COUNTS, THRESHOLDS, ZIPF, NOISE)
