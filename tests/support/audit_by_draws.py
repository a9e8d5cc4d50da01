"""Statistical lower bounds on ε, and on the δ that is needed at an ε, for whatever can be drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput

Sampler = Callable[[Any, np.random.Generator], Hashable]
VectorSampler = Callable[[Any, np.random.Generator], ArrayLike]


@dataclass(frozen=True)
class LowerBound:
    """The mechanism is not (ε', δ)-DP for any ε' below `epsilon`, with that confidence.

    Attributes
    ----------
    epsilon : float
        0 if nothing was found.
    confidence : float
        The probability with which a statement of this kind is right.
    event : frozenset
        The outcomes whose probabilities were compared.
    counts : (int, int)
        How often the event came up on the data where it is likely and on its neighbour.
    draws : int
        How many times each of them was drawn from, for these counts.
    """

    epsilon: float
    confidence: float
    event: frozenset[Hashable] = field(repr=False)
    counts: tuple[int, int]
    draws: int


def lower_bound(
    sampler: Sampler,
    data: Any,
    other: Any,
    *,
    draws: int = 20_000,
    confidence: float = 0.99,
    delta: float = 0.0,
    seed: int = 0,
) -> LowerBound:
    """Bound ε from below by drawing on two neighbours.

    The first half of the draws chooses an event: of all sets {outcomes that were r times as
    frequent on the one as on the other} the one with the best bound. The second half, which
    had no say in it, gives the bound: P(event) on the one is bounded from below and on the
    other from above by Clopper and Pearson, with half of the error each.

    Parameters
    ----------
    sampler : callable
        ``sampler(data, rng)`` draws an outcome; outcomes are compared by equality and hashed.
        `rng` is a seeded numpy generator that it may or may not use.
    data, other : Any
        Neighbours.
    draws : int
        From each neighbour, ≥ 2.
    confidence : float
        Between 0 and 1.
    delta : float
        The δ of the guarantee under test.
    seed : int
        Makes the audit reproducible, as far as the sampler uses `rng`.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    References
    ----------
    Clopper and Pearson, 1934; Jagielski, Ullman and Oprea, "Auditing differentially private
    machine learning", 2020, section 4; Ding et al., "Detecting violations of differential
    privacy", 2018, for the choice of the event on other draws.
    """
    if not (0.0 < confidence < 1.0 and 0.0 <= delta < 1.0 and draws >= 2):
        raise InvalidInput(
            "a lower bound needs 0 < confidence < 1, 0 ≤ delta < 1 and draws ≥ 2, got "
            f"{confidence}, {delta} and {draws}"
        )
    rng = np.random.default_rng(seed)
    half = draws // 2
    first = [Counter(sampler(side, rng) for _ in range(half)) for side in (data, other)]
    risk = (1.0 - confidence) / 2.0
    candidates = [_best_event(first[a], first[1 - a], half, risk, delta) for a in (0, 1)]
    likely = 0 if candidates[0][0] >= candidates[1][0] else 1
    event = candidates[likely][1]
    sides = (data, other) if likely == 0 else (other, data)
    hits, misses = (sum(sampler(side, rng) in event for _ in range(half)) for side in sides)
    epsilon = _bound(np.array([hits]), np.array([misses]), half, risk, delta)[0]
    return LowerBound(max(0.0, float(epsilon)), confidence, event, (hits, misses), half)


def _best_event(
    one: Counter[Hashable], two: Counter[Hashable], draws: int, risk: float, delta: float
) -> tuple[float, frozenset[Hashable]]:
    """Return the best bound and its event, of sets with the largest ratios of frequencies."""
    outcomes = sorted(one, key=lambda outcome: (-one[outcome] / (two[outcome] + 1), -one[outcome]))
    hits = np.cumsum([one[outcome] for outcome in outcomes])
    misses = np.cumsum([two[outcome] for outcome in outcomes])
    bounds = _bound(hits, misses, draws, risk, delta)
    best = int(np.argmax(bounds))
    return float(bounds[best]), frozenset(outcomes[: best + 1])


def confidence_limits(
    hits: IntArray, misses: IntArray, draws: int, risk: float
) -> tuple[FloatArray, FloatArray]:
    """Bound one probability from below and another from above, by Clopper and Pearson.

    Parameters
    ----------
    hits, misses : integer arrays, shape (m,)
        How often each event came up in `draws` draws, on the one side and on the other.
    draws : int
    risk : float
        The probability with which a limit may be wrong.
    """
    low = beta.ppf(risk, np.maximum(hits, 1), draws - hits + 1)
    high = beta.ppf(1.0 - risk, misses + 1, np.maximum(draws - misses, 1))
    return np.where(hits > 0, low, 0.0), np.where(misses < draws, high, 1.0)


def _bound(hits: IntArray, misses: IntArray, draws: int, risk: float, delta: float) -> FloatArray:
    """Compute the log of (the lower limit of one, less δ) over the upper limit of the other."""
    low, high = confidence_limits(hits, misses, draws, risk)
    low = low - delta
    logs = np.full(low.shape, -math.inf)
    positive = low > 0.0
    logs[positive] = np.log(low[positive] / high[positive])
    return logs


def delta_bound(
    sampler: VectorSampler,
    data: Any,
    other: Any,
    epsilon: float,
    *,
    draws: int = 20_000,
    confidence: float = 0.99,
    seed: int = 0,
) -> float:
    """Bound the δ that a mechanism needs at ε from below, by drawing vectors on two neighbours.

    P(A) - e^ε Q(A) ≤ δ for every event A. The first half of the draws chooses a half-space of the
    linear discriminant, the worst event of normal noise. The second half, which had no say in it,
    judges it, with limits as in `lower_bound`.

    Parameters
    ----------
    sampler : callable
        ``sampler(data, rng)`` draws numbers of one shape, such as coefficients with noise.
    """
    rng = np.random.default_rng(seed)
    half, risk = draws // 2, (1.0 - confidence) / 2.0

    def drawn() -> list[FloatArray]:
        return [np.array([sampler(side, rng) for _ in range(half)]).reshape(half, -1)
                for side in (data, other)]  # fmt: skip

    first = drawn()
    spread = np.concatenate(first).std(axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    one, two = (side / scale for side in first)
    covariance = np.atleast_2d(np.cov(one.T) + np.cov(two.T))
    direction = np.linalg.pinv(covariance) @ (one.mean(axis=0) - two.mean(axis=0)) / scale

    def bounds(sides: list[FloatArray], cuts: FloatArray) -> FloatArray:
        hits, misses = (half - np.searchsorted(np.sort(side @ direction), cuts) for side in sides)
        low, high = confidence_limits(hits, misses, half, risk)
        return low - math.exp(epsilon) * high

    cuts = first[0] @ direction
    best = cuts[np.argmax(bounds(first, cuts))]
    return max(0.0, float(bounds(drawn(), np.array([best]))[0]))
