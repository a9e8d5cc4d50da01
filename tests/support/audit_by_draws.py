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
Score = Callable[[FloatArray], FloatArray]

EVENTS = 3
"""So many events are judged; each with its part of the risk."""

SMALLEST_EIGENVALUE = 1e-9
"""Smallest eigenvalue of a correlation matrix; below it the draws hardly vary."""


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


@dataclass(frozen=True)
class DeltaBound:
    """The mechanism is not (ε, δ')-DP for any δ' below `delta`, with that confidence.

    Attributes
    ----------
    delta : float
        0 if nothing was found.
    epsilon : float
    event : str
        What the event looks at.
    """

    delta: float
    epsilon: float
    confidence: float
    event: str
    counts: tuple[int, int]
    draws: int

    def __str__(self) -> str:
        return (
            f"at epsilon {self.epsilon:.6g} a delta of at least {self.delta:.6g} is needed, with "
            f"confidence {self.confidence:g}: {self.event}, {self.counts[0]} against "
            f"{self.counts[1]} of {self.draws} draws"
        )


@dataclass(frozen=True)
class _Event:
    """{score ≥ cut}, or {score ≤ cut} for a negative sign, likelier on side `likely`."""

    name: str
    score: Score
    sign: float
    cut: float
    likely: int
    promise: float

    def count(self, draws: FloatArray) -> int:
        return int((self.sign * self.score(draws) >= self.cut).sum())


def delta_bound(
    sampler: VectorSampler,
    data: Any,
    other: Any,
    epsilon: float,
    *,
    draws: int = 20_000,
    confidence: float = 0.99,
    seed: int = 0,
) -> DeltaBound:
    """Bound the δ that a mechanism needs at ε from below, by drawing on two neighbours.

    P(A) - e^ε Q(A) ≤ δ for every event A, in both directions. The first half of the draws
    chooses events: half-lines of single coordinates, half-spaces of the linear discriminant, and
    level sets of the quadratic one, the log ratio of two normal laws. The second half, which had
    no say in it, judges the best three of them: P(A) is bounded from below and Q(A) from above
    by Clopper and Pearson, each with a sixth of the error, so that all of them are right
    together.

    Parameters
    ----------
    sampler : callable
        ``sampler(data, rng)`` draws an outcome: numbers of one shape, such as coefficients with
        noise. `rng` is a seeded numpy generator that it may or may not use.
    epsilon : float
        The ε ≥ 0 of the guarantee under test.
    draws : int
        From each neighbour, ≥ 4.

    Raises
    ------
    InvalidInput
        If outcomes are not finite numbers of one shape.

    References
    ----------
    Clopper and Pearson, 1934; Ding et al., "Detecting violations of differential privacy",
    2018, for the choice of the event on other draws.
    """
    rng = np.random.default_rng(seed)
    half = draws // 2
    first = _drawn(sampler, (data, other), half, rng)
    scores = _scores(*first)
    risk = (1.0 - confidence) / (2.0 * EVENTS)
    found = [
        event
        for name, score in scores.items()
        for event in _best_cuts(name, score, first, epsilon, risk)
    ]
    chosen = sorted(found, key=lambda event: event.promise, reverse=True)[:EVENTS]
    second = _drawn(sampler, (data, other), half, rng)
    delta, name, counts = max(_judged(event, second, epsilon, risk) for event in chosen)
    return DeltaBound(max(0.0, float(delta)), epsilon, confidence, name, counts, half)


def _judged(
    event: _Event, draws: tuple[FloatArray, FloatArray], epsilon: float, risk: float
) -> tuple[float, str, tuple[int, int]]:
    """Bound δ by one event, from draws that had no say in it; with its name and its counts."""
    hits, misses = event.count(draws[event.likely]), event.count(draws[1 - event.likely])
    low, high = confidence_limits(np.array([hits]), np.array([misses]), len(draws[0]), risk)
    return _difference(low, high, epsilon)[0], event.name, (hits, misses)


def _drawn(
    sampler: VectorSampler, sides: tuple[Any, Any], count: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw from both sides; shape (count, d) each."""
    found = []
    for side in sides:
        outcomes = [np.asarray(sampler(side, rng), dtype=np.float64) for _ in range(count)]
        if len({outcome.shape for outcome in outcomes}) > 1:
            raise InvalidInput("the sampler must return numbers of one shape at every draw")
        found.append(np.stack(outcomes).reshape(count, -1))
    one, two = found
    if one.shape != two.shape or not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InvalidInput("the sampler must return finite numbers of one shape on both neighbours")
    return one, two


def _scores(one: FloatArray, two: FloatArray) -> dict[str, Score]:
    """Return the scores that events cut, by name: any function of an outcome would do."""
    scores: dict[str, Score] = {}
    for j in range(one.shape[1]):
        scores[f"coordinate {j}"] = lambda draws, j=j: draws[:, j]  # type: ignore[misc]
    whole = np.vstack([one, two])
    centre, spread = whole.mean(axis=0), whole.std(axis=0)
    varies = spread > 0.0
    if not varies.any():
        return scores

    def scaled(draws: FloatArray) -> FloatArray:
        result: FloatArray = (draws[:, varies] - centre[varies]) / spread[varies]
        return result

    means = [scaled(side).mean(axis=0) for side in (one, two)]
    inverses, logs = [], []
    for side in (one, two):
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(scaled(side).T)))
        values = np.maximum(values, SMALLEST_EIGENVALUE)
        inverses.append((vectors / values) @ vectors.T)
        logs.append(float(np.log(values).sum()))
    pooled = np.linalg.inv(0.5 * (np.linalg.inv(inverses[0]) + np.linalg.inv(inverses[1])))
    direction = pooled @ (means[0] - means[1])

    def quadratic(draws: FloatArray) -> FloatArray:
        points = scaled(draws)
        away = [
            np.einsum("ni,ij,nj->n", points - mean, inverse, points - mean)
            for mean, inverse in zip(means, inverses, strict=True)
        ]
        result: FloatArray = 0.5 * (away[1] - away[0] + logs[1] - logs[0])
        return result

    scores["linear discriminant"] = lambda draws: scaled(draws) @ direction
    scores["quadratic discriminant"] = quadratic
    return scores


def _best_cuts(
    name: str, score: Score, draws: tuple[FloatArray, FloatArray], epsilon: float, risk: float
) -> list[_Event]:
    """Find for each side and sign the cut with the largest bound on these draws."""
    values = [score(side) for side in draws]
    count = len(values[0])
    found = []
    for likely in (0, 1):
        for sign in (1.0, -1.0):
            one, two = np.sort(sign * values[likely]), np.sort(sign * values[1 - likely])
            cuts = np.unique(one)
            hits = count - np.searchsorted(one, cuts)
            misses = count - np.searchsorted(two, cuts)
            bounds = _difference(*confidence_limits(hits, misses, count, risk), epsilon)
            best = int(np.argmax(bounds))
            found.append(_Event(name, score, sign, float(cuts[best]), likely, bounds[best]))
    return found


def _difference(low: FloatArray, high: FloatArray, epsilon: float) -> FloatArray:
    """Compute P - e^ε Q, for limits of both."""
    result: FloatArray = low - math.exp(min(epsilon, 700.0)) * high
    return result
