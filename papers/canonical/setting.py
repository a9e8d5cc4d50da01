"""The mechanisms of the canonical Lipschitz paper, and what is exactly known of their laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from mipselect.mechanisms import CanonicalLipschitz

from ..arrays import FloatArray
from ..reproduce.declared import Metric
from .joint_events import joint_event
from .order_events import one_shot_event

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


NOTES = (
    "Counts that all move in one direction: sensitivity ½. Probabilities are exact sums or "
    "quadratures, thresholds are roots of them.",
    "GREAT: the best ⌈k/10⌉ are in, and none beyond ⌊1.1 k⌋. GOOD: the best ⌈k/100⌉, and none "
    "beyond ⌊1.5 k⌋. For every mechanism.",
    "Ties are broken by order, so that TOP is one subset.",
)

JOINT_NOTE = (
    "The joint exponential mechanism draws a ranking, which counts in any order. The paper left it "
    "out for its cost."
)
