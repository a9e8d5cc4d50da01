"""The largest privacy loss between neighbours that a law shows: of given pairs, or by a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.errors import InvalidInput
from mipselect.privacy.audit.neighbours import NeighbourSpace

Array = NDArray[np.float64]
Law = Callable[[Any], ArrayLike]


class HasLogProbability(Protocol):
    """Any `Distribution`: something whose draws have the law that it states."""

    def log_probability(self, outcome: Any) -> float:
        """Log of the probability of an outcome."""


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
) -> Callable[[Any], Array]:
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

    def law(data: Any) -> Array:
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
    worst = None
    count = 0
    for data, other in pairs:
        count += 1
        loss, outcome = _loss(law, data, other)
        if worst is None or loss > worst.epsilon:
            worst = PrivacyLoss(loss, outcome, data, other, 0)
    if worst is None:
        raise InvalidInput("an audit needs at least one pair of neighbours")
    return PrivacyLoss(worst.epsilon, worst.outcome, worst.data, worst.other, count)


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
    pairs = 0

    def loss_at(point: Array) -> PrivacyLoss:
        nonlocal pairs
        pairs += 1
        data, other = space.pair(point)
        return PrivacyLoss(*_loss(law, data, other), data, other, 0)

    found = []
    for _ in range(starts):
        point = space.start(rng)
        best = loss_at(point)
        for _ in range(rounds):
            before = best.epsilon
            for coordinate in range(point.size):
                for value in space.proposals(point, coordinate, rng):
                    moved = point.copy()
                    moved[coordinate] = value
                    loss = loss_at(moved)
                    if loss.epsilon > best.epsilon:
                        point, best = moved, loss
            if not before < best.epsilon < math.inf:
                break
        found.append(best)
    worst = max(found, key=lambda loss: loss.epsilon)
    return PrivacyLoss(worst.epsilon, worst.outcome, worst.data, worst.other, pairs)


def _loss(law: Law, data: Any, other: Any) -> tuple[float, int]:
    """Return the largest |log ratio| and its outcome; two impossible outcomes do not differ."""
    one, two = _distribution(law(data)), _distribution(law(other))
    if one.shape != two.shape:
        raise InvalidInput(f"the law returned {one.size} and {two.size} outcomes for neighbours")
    both = (one == -np.inf) & (two == -np.inf)
    losses = np.abs(np.where(both, 0.0, one) - np.where(both, 0.0, two))
    outcome = int(np.argmax(losses))
    return float(losses[outcome]), outcome


def _distribution(log_probabilities: ArrayLike) -> Array:
    logs = np.asarray(log_probabilities, dtype=np.float64)
    if logs.ndim != 1 or logs.size == 0 or np.isnan(logs).any():
        raise InvalidInput("a law must return a non-empty list of log probabilities")
    total = float(np.exp(np.minimum(logs, 1.0)).sum())
    if abs(total - 1.0) > 1e-6:
        raise InvalidInput(f"the probabilities that the law returned sum to {total:.9g}, not to 1")
    return logs
