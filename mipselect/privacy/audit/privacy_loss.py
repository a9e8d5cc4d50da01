"""The largest privacy loss between neighbours that a law shows: of given pairs, or by a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.privacy.audit.neighbours import NeighbourSpace

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


def worst_pair(
    law: Law,
    space: NeighbourSpace,
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
    space : NeighbourSpace
        The pairs: `ScoreVectors`, `ReplacedRow`, or your own.
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


def _ascended(
    law: Law, space: NeighbourSpace, rounds: int, rng: np.random.Generator
) -> PrivacyLoss:
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
