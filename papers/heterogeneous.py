"""Heterogeneous sensitivities: the six scenarios, and the example of the introduction."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mipselect.mechanisms import (
    GeneralizedExponential,
    HeterogeneousNoisyMax,
    NoisyMax,
    RandomizedResponse,
    RandomStopping,
)

from .claims import Ahead, AheadInTheEnd, Claim, Somewhere
from .experiment import (
    HETEROGENEOUS,
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Recipe,
    Scale,
)
from .sources import DataSource, FloatArray

ITEMS, SETS = 100, 10_000
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
QUICK_EPSILONS = (0.5, 3.0, 30.0)
POSITIVE, NONE, NEGATIVE = "positive", "none", "negative"
CONSTANT = {"1, positive": POSITIVE, "2, negative": NEGATIVE, "3, none": NONE}
RANDOM = {"4, positive": POSITIVE, "5, none": NONE, "6, negative": NEGATIVE}

RNM, RNMH, GEM, RS, KRR = "RNM", "RNMH, at more than ε", "GEM", "RS", "kRR"
OPTIMISTIC, PATIENT, UNIFORM = "GEM, optimistic sign", "RS, γ = 0.005", "uniform"

Build = Callable[[FloatArray, FloatArray, float], Any]
MECHANISMS: dict[str, Build] = {
    RNM: lambda q, w, e: NoisyMax(q, e, sensitivity=float(w.max())),
    RNMH: HeterogeneousNoisyMax,
    GEM: GeneralizedExponential,
    OPTIMISTIC: lambda q, w, e: GeneralizedExponential(q, w, e, optimistic=True),
    RS: RandomStopping,
    PATIENT: lambda q, w, e: RandomStopping(q, w, e, gamma=0.005),
    KRR: lambda q, w, e: RandomizedResponse(q, e),
}

DRAWN = tuple(name for name in MECHANISMS if name != PATIENT)
"""Two hundred looks for each draw take too long."""

ERROR = Metric("mse", "mean squared error of the chosen score")
COUNTED = 0.012
"""Two standard errors of an error of 1 that is counted from 100,000 draws, as RNMH's is."""


def law_of(mechanism: Any, scores: FloatArray, widths: FloatArray) -> FloatArray:
    """Compute the probability of every item, shape (d,)."""
    if isinstance(mechanism, HeterogeneousNoisyMax):
        # Counted from draws: each item has a count of its own.
        every = range(scores.size)
        return np.exp([mechanism.log_probability(index) for index in every])
    # Items with the same score and Δ are alike.
    _, firsts, alike = np.unique(
        np.column_stack([scores, widths]), axis=0, return_index=True, return_inverse=True
    )
    law = np.exp([mechanism.log_probability(index) for index in firsts])
    probabilities: FloatArray = law[alike.ravel()]
    return probabilities


@dataclass(frozen=True)
class ConstantScores(Recipe):
    """A scenario of figure 1: half of the items score 1, the others -1; exact laws.

    Attributes
    ----------
    panel : str
        One of `CONSTANT`: who has sensitivity 1.8, the others 1.
    epsilons : tuple of float
    """

    panel: str
    epsilons: tuple[float, ...]

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        scores, widths = self.scores_and_widths()
        for epsilon in self.epsilons:
            for name, build in MECHANISMS.items():
                mechanism = build(scores, widths, epsilon)
                value = float(law_of(mechanism, scores, widths) @ (scores.max() - scores) ** 2)
                yield Reading(self.panel, name, epsilon, ERROR.key, value)
            yield Reading(self.panel, UNIFORM, epsilon, ERROR.key, 2.0)

    def scores_and_widths(self) -> tuple[FloatArray, FloatArray]:
        """Return q and Δ_a."""
        high = np.arange(ITEMS) < ITEMS // 2
        wide = {POSITIVE: high, NEGATIVE: ~high, NONE: np.arange(ITEMS) % 2 == 0}
        return np.where(high, 1.0, -1.0), np.where(wide[CONSTANT[self.panel]], 1.8, 1.0)


@dataclass(frozen=True)
class RandomScores(Recipe):
    """A scenario of figure 2: item a scores N(m_a, s_a), one draw for each set of scores.

    Attributes
    ----------
    panel : str
        One of `RANDOM`.
    epsilons : tuple of float
    sets : int
        In this trial.
    """

    panel: str
    epsilons: tuple[float, ...]
    sets: int

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        sets, widths = self.sets_and_widths(data)
        best = sets.max(axis=1)
        for epsilon in self.epsilons:
            for name in DRAWN:
                build = MECHANISMS[name]
                own = random.Random(f"{seed} {name} {epsilon}")
                chosen = [scores[build(scores, widths, epsilon).sample(own)] for scores in sets]
                value = float(np.mean((best - np.array(chosen)) ** 2))
                yield Reading(self.panel, name, epsilon, ERROR.key, value)
            value = float(np.mean((best[:, None] - sets) ** 2))
            yield Reading(self.panel, UNIFORM, epsilon, ERROR.key, value)

    def sets_and_widths(self, data: DataSeed) -> tuple[FloatArray, FloatArray]:
        """Draw scores of 10,000 sets, clipped to their 5th and 95th percentiles, and the widths."""
        rng = np.random.default_rng(data.base)
        means, spreads = np.linspace(-1.0, 1.0, ITEMS), np.linspace(0.1, 1.0, ITEMS)
        ordered = {
            POSITIVE: spreads,
            NEGATIVE: spreads[::-1],
            NONE: rng.permutation(spreads),
        }[RANDOM[self.panel]]
        scores = rng.normal(means, ordered, (SETS, ITEMS))
        low, high = np.quantile(scores, [0.05, 0.95], axis=0)
        clipped = np.clip(scores, low, high)
        first = (data.repeat - 1) * self.sets
        return clipped[first : first + self.sets], high - low


def ahead(text: str, better: str, worse: str, panel: str) -> Ahead:
    """Claim a smaller error at every ε, for the paper names no span."""
    margin = COUNTED if RNMH in (better, worse) else 0.0
    return Ahead(text, ERROR.key, better, (worse,), None, (panel,), higher=False, margin=margin)


def _claims(positive: str, none: str, negative: str) -> tuple[Claim, ...]:
    named = {"RNMH": RNMH, "GEM": GEM, "RS": RS}
    blind = {
        f"negative correlation: {name} can be worse than a blind choice": method
        for name, method in named.items()
    }
    return (
        *(ahead(f"positive correlation: {name} is ahead of RNM", method, RNM, positive)
          for name, method in named.items()),
        *(ahead(f"negative correlation: RNM is ahead of {name}", RNM, method, negative)
          for name, method in named.items()),
        *(Somewhere(text, ahead(text, UNIFORM, method, negative))
          for text, method in blind.items()),
        ahead("no correlation: RNM is ahead of GEM", RNM, GEM, none),
        ahead("no correlation: RNM is ahead of RS", RNM, RS, none),
        AheadInTheEnd("at very large ε RS keeps more error than RNM", ERROR.key, RNM, (RS,),
                      higher=False),
        ahead("positive correlation: kRR improves most slowly, behind RNM", RNM, KRR, positive),
        ahead("ours: with the optimistic sign GEM is ahead of RNM, positive correlation",
              OPTIMISTIC, RNM, positive),
        ahead("ours: with the optimistic sign GEM is behind RNM, negative correlation",
              RNM, OPTIMISTIC, negative),
    )  # fmt: skip


COSTS = (
    "RNMH costs ε(1 + max Δ / min Δ)/2, 1.4 ε in scenarios 1 to 3 and about 5.5 ε in 4 to 6, where "
    "the others cost ε; with a zero among the sensitivities it would keep no ε. RS spends ε/3 on a "
    "look; with the published ε/2 it would lose up to 1.5 ε. The optimistic sign of GEM is ours, "
    "and γ = 0.005."
)

CONSTANT_SCENARIOS = Experiment(
    name="heterogeneous-constant",
    paper=HETEROGENEOUS,
    row="Figures",
    title="Mean squared error by ε, scenarios 1 to 3 (figure 1): 100 items, constant scores",
    figures=(LineFigure(ERROR, "ε", log_x=True, fraction=False),),
    claims=(
        *_claims("1, positive", "3, none", "2, negative"),
        ahead("ours: RS looks longer with γ = 0.005 and is ahead of γ = 0.05, positive correlation",
              PATIENT, RS, "1, positive"),
    ),
    full=Scale(tuple(ConstantScores(panel, EPSILONS) for panel in CONSTANT), 1, 1.5),
    quick=Scale(tuple(ConstantScores(panel, QUICK_EPSILONS) for panel in CONSTANT), 1, 0.1),
    notes=(
        "Exact laws, but for RNMH, which is counted from draws; scores 1 and -1, Δ 1.8 and 1 as in "
        "the paper; β = γ = 0.05.",
        COSTS,
    ),
)  # fmt: skip

RANDOM_SCENARIOS = Experiment(
    name="heterogeneous-random",
    paper=HETEROGENEOUS,
    row="Figures",
    title="Mean squared error by ε, scenarios 4 to 6 (figure 2): 100 items, random scores",
    figures=(LineFigure(ERROR, "ε", log_x=True, fraction=False),),
    claims=_claims("4, positive", "5, none", "6, negative"),
    full=Scale(tuple(RandomScores(panel, EPSILONS, 100) for panel in RANDOM), 100, 10.0),
    quick=Scale(tuple(RandomScores(panel, QUICK_EPSILONS, 20) for panel in RANDOM), 3, 0.1),
    notes=(
        "The paper shows its distributions in a figure only; here item a scores N(m_a, s_a), m "
        "from -1 to 1 and s from 0.1 to 1 rising with it, shuffled, or falling. Δ_a is the width "
        "between the 5th and the 95th percentile of 10,000 sets; one draw for each set; "
        "β = γ = 0.05.",
        COSTS,
    ),
)


HIGH = Metric("high", "probability of a high-scoring item")
COUNTED_HALF = 0.004
"""Two standard errors of a probability of ½ that is counted from 100,000 draws, as RNMH's is."""


@dataclass(frozen=True)
class Introduction(Recipe):
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
    margin=COUNTED_HALF,
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
            margin=COUNTED_HALF,
        ),
        Somewhere("low scores with the larger Δ: RNMH can be worse than a coin", COIN),
        Ahead("RNM is never worse than a coin", HIGH.key, RNM, (UNIFORM,), never_behind=True),
        Ahead(
            "high scores with the larger Δ: RNMH is ahead of RNM",
            HIGH.key,
            RNMH,
            (RNM,),
            panels=(Introduction(100, 1.0 / 3.0, ()).title,),
            margin=COUNTED_HALF,
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


EXPERIMENTS = (CONSTANT_SCENARIOS, RANDOM_SCENARIOS, INTRODUCTION)
