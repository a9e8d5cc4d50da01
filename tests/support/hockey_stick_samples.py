"""A statistical lower bound on δ at an ε, for samplers whose outcomes are vectors of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.privacy.audit import confidence_limits

VectorSampler = Callable[[Any, np.random.Generator], ArrayLike]
Score = Callable[[FloatArray], FloatArray]

EVENTS = 3
"""So many events are judged; each with its part of the risk."""

SMALLEST_EIGENVALUE = 1e-9
"""Smallest eigenvalue of a correlation matrix; below it the draws hardly vary."""


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
