"""Audits of privacy: the largest privacy loss that can be found.

Works on plain functions, this package's mechanisms or somebody else's: a **law** takes data and
returns the log probabilities of all outcomes, in a fixed order. `largest_loss` looks at given pairs
of neighbours, `worst_pair` searches for bad ones; both are exact where the law is. A loss above ε
is a proof that the mechanism is not ε-DP; one below it proves nothing, it is the best that was
found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput

__all__ = [
    "PrivacyLoss",
    "ScoreVectors",
    "largest_loss",
    "law_of",
    "worst_pair",
]

Array = NDArray[np.float64]
Law = Callable[[Any], ArrayLike]

NO_PAIRS = "an audit needs at least one pair of neighbours"

MOST_MISSED = 1e-6
"""Distance that a law may be from a sum of 1, besides its own error."""


class HasLogProbability(Protocol):
    """Any `Distribution`: something whose draws have the law that it states."""

    def log_probability(self, outcome: Any) -> float:
        """Return the log of the probability of an outcome."""


@dataclass(frozen=True)
class PrivacyLoss:
    """The largest privacy loss that was found.

    Attributes
    ----------
    epsilon : float
        |log P(outcome | data) - log P(outcome | other)|; ``inf`` if only one is possible.
    outcome : int
        The place of the outcome in the law.
    data, other : Any
        The neighbours.
    pairs : int
        How many pairs were looked at.

    Examples
    --------
    >>> from mipselect.mechanisms import RandomizedResponse
    >>> from mipselect.privacy.audit import largest_loss, law_of
    >>> law = law_of(lambda scores: RandomizedResponse(scores, 1.0), outcomes=range(2))
    >>> loss = largest_loss(law, [([0.0, 1.0], [1.0, 0.0])])
    >>> round(loss.epsilon, 9), loss.pairs
    (1.0, 1)
    """

    epsilon: float
    outcome: int
    data: Any = field(repr=False)
    other: Any = field(repr=False)
    pairs: int

    def __str__(self) -> str:
        return f"privacy loss {self.epsilon:.6g} at outcome {self.outcome}, in {self.pairs} pairs"


def law_of(
    build: Callable[[Any], HasLogProbability], outcomes: Sequence[Any]
) -> Callable[[Any], FloatArray]:
    """Return the law of a distribution of this package.

    Parameters
    ----------
    build : callable
        From data to the distribution, as in ``lambda scores: NoisyMax(scores, 1.0)``.
    outcomes : sequence
        All of them.

    Examples
    --------
    >>> from mipselect.mechanisms import NoisyMax
    >>> from mipselect.privacy.audit import law_of
    >>> law = law_of(lambda scores: NoisyMax(scores, 1.0, noise="gumbel"), outcomes=range(2))
    >>> law([1.0, 1.0]).round(3).tolist()
    [-0.693, -0.693]
    """

    def law(data: Any) -> FloatArray:
        mechanism = build(data)
        return np.array([mechanism.log_probability(outcome) for outcome in outcomes])

    return law


def largest_loss(law: Law, pairs: Iterable[tuple[Any, Any]]) -> PrivacyLoss:
    """Return the largest |log-probability ratio| over all outcomes and the given pairs.

    Parameters
    ----------
    law : callable
        From data to the log probabilities of all outcomes, shape (m,); ``-inf`` allowed.
    pairs : iterable of (data, other)
        Neighbours.

    Raises
    ------
    InvalidInput
        If there are no pairs, or the law returns something that is not a distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.privacy.audit import largest_loss
    >>> def law(scores):
    ...     weights = np.exp(scores)
    ...     return np.log(weights / weights.sum())
    ...
    >>> round(largest_loss(law, [(np.array([0.0, 0.0]), np.array([1.0, -1.0]))]).epsilon, 3)
    1.434
    """
    worst, count = None, 0
    for data, other in pairs:
        count += 1
        loss = _loss(law, data, other)
        if worst is None or loss.epsilon > worst.epsilon:
            worst = loss
    if worst is None:
        raise InvalidInput(NO_PAIRS)
    return replace(worst, pairs=count)


@dataclass(frozen=True)
class ScoreVectors:
    """Score vectors of which entry a moves by at most Δ_a.

    A point is the scores, then their moves in units of Δ_a, between -1 and 1.

    Parameters
    ----------
    size : int
        d, the number of scores.
    low, high : float
        Where the scores lie; their neighbours may lie up to Δ_a outside.
    sensitivity : float or array_like, shape (d,)
        Δ_a ≥ 0.
    monotone : bool
        Whether all scores move in one direction, as counts do.

    Examples
    --------
    >>> from mipselect.mechanisms import NoisyMax
    >>> from mipselect.privacy.audit import ScoreVectors, law_of, worst_pair
    >>> law = law_of(lambda scores: NoisyMax(scores, 1.0, noise="gumbel"), outcomes=range(2))
    >>> worst_pair(law, ScoreVectors(2, 0.0, 9.0), starts=1).epsilon <= 1.0 + 1e-9
    True
    """

    size: int
    low: float
    high: float
    sensitivity: ArrayLike = 1.0
    monotone: bool = False

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise InvalidInput(f"low must not exceed high, got {self.low} and {self.high}")

    def start(self, rng: np.random.Generator) -> Array:
        """Draw random scores, and moves of full size."""
        moves = rng.choice(self._moves, self.size)
        return np.concatenate([rng.uniform(self.low, self.high, self.size), moves])

    def pair(self, point: Array) -> tuple[Array, Array]:
        """Return two score vectors, shape (d,)."""
        scores, moves = point[: self.size], point[self.size :]
        return scores, scores + moves * np.asarray(self.sensitivity)

    def proposals(self, point: Array, coordinate: int, rng: np.random.Generator) -> Iterable[float]:
        """Propose values of one coordinate.

        For a score these are the bounds, the middle, a random value, and values next to and at
        another score; for a move all extremes and zero.
        """
        if coordinate >= self.size:
            return self._moves
        other = point[rng.integers(self.size)]
        width = float(np.max(np.asarray(self.sensitivity)))
        near = np.clip([other, other - width, other + width], self.low, self.high)
        middle = (self.low + self.high) / 2.0
        return [self.low, self.high, middle, rng.uniform(self.low, self.high), *near.tolist()]

    @property
    def _moves(self) -> list[float]:
        return [0.0, 1.0] if self.monotone else [-1.0, 0.0, 1.0]


def worst_pair(
    law: Law,
    space: Any,
    *,
    starts: int = 10,
    rounds: int = 5,
    seed: int = 0,
) -> PrivacyLoss:
    """Search for neighbours with a large privacy loss, by coordinate ascent.

    From each random start every coordinate of the data and of the change is moved in turn to
    each of the values that `space` proposes (bounds, ties, random ones), and stays where the
    loss is largest, until nothing helps.

    Parameters
    ----------
    law : callable
        From data to the log probabilities of all outcomes.
    space : ScoreVectors
        The pairs; or a space of your own, with the same `start`, `pair` and `proposals`.
    starts, rounds : int
        Random starts, and the most sweeps over all coordinates from each.
    seed : int
        Makes the search reproducible.

    Raises
    ------
    InvalidInput
        If the law returns something that is not a distribution.

    Examples
    --------
    >>> from mipselect.mechanisms import NoisyMax
    >>> from mipselect.privacy.audit import ScoreVectors, law_of, worst_pair
    >>> law = law_of(lambda scores: NoisyMax(scores, 1.0, noise="gumbel"), outcomes=range(2))
    >>> 0.5 < worst_pair(law, ScoreVectors(2, 0.0, 9.0), starts=1).epsilon <= 1.0 + 1e-9
    True
    """
    if starts < 1:
        raise InvalidInput(f"starts must be a positive integer, got {starts!r}")
    rng = np.random.default_rng(seed)
    found = [_ascended(law, space, rounds, rng) for _ in range(starts)]
    worst = max(found, key=lambda loss: loss.epsilon)
    return replace(worst, pairs=sum(loss.pairs for loss in found))


def _ascended(law: Law, space: Any, rounds: int, rng: np.random.Generator) -> PrivacyLoss:
    """Search from one random start; `pairs` counts all that were looked at on the way."""
    point = space.start(rng)
    best, pairs = _loss(law, *space.pair(point)), 1
    for _ in range(rounds):
        before = best.epsilon
        for coordinate in range(point.size):
            for value in space.proposals(point, coordinate, rng):
                moved = point.copy()
                moved[coordinate] = value
                loss, pairs = _loss(law, *space.pair(moved)), pairs + 1
                if loss.epsilon > best.epsilon:
                    point, best = moved, loss
        if not before < best.epsilon < math.inf:
            break
    return replace(best, pairs=pairs)


def _loss(law: Law, data: Any, other: Any) -> PrivacyLoss:
    """Return the largest loss of one pair."""
    one, two = _distribution(law(data)), _distribution(law(other))
    if one.shape != two.shape:
        raise InvalidInput(f"the law returned {one.size} and {two.size} outcomes for neighbours")
    found = losses(one, two)
    outcome = int(np.argmax(found))
    return PrivacyLoss(float(found[outcome]), outcome, data, other, 1)


def losses(one: FloatArray, two: FloatArray) -> FloatArray:
    """Compute |log P - log Q| of every outcome; two impossible outcomes do not differ."""
    both = (one == -np.inf) & (two == -np.inf)
    found: FloatArray = np.abs(np.where(both, 0.0, one) - np.where(both, 0.0, two))
    return found


def _distribution(log_probabilities: ArrayLike) -> FloatArray:
    logs = np.asarray(log_probabilities, dtype=np.float64)
    if logs.ndim != 1 or logs.size == 0 or np.isnan(logs).any():
        raise InvalidInput("a law must return a non-empty list of log probabilities")
    check_total(mass(logs))
    return logs


def mass(logs: FloatArray) -> float:
    """Add up probabilities, from their logs."""
    return float(np.exp(np.minimum(logs, 1.0)).sum())


def check_total(total: float, error: float = 0.0) -> None:
    """Raise `InvalidInput` unless all probabilities sum to 1, up to `MOST_MISSED` and an error."""
    if not abs(total - 1.0) <= MOST_MISSED + error:
        raise InvalidInput(f"the probabilities that the law returned sum to {total:.9g}, not to 1")
