"""Selection from scores: what its mechanisms have in common, and what they state."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mipselect.array_checks import checked_index
from mipselect.mechanisms.base import Distribution, Mechanism, Outcome
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import IntegerWeights, Rng, generator


@dataclass(frozen=True)
class Estimate:
    """A log probability and how it was found.

    Attributes
    ----------
    log_probability : float
    error : float
        An error bar of `log_probability`: zero for a closed form, which is right up to rounding;
        the difference between two rules for a quadrature; two standard errors for Monte Carlo.
    method : {"closed form", "quadrature", "Monte Carlo"}

    Examples
    --------
    >>> from mipselect.mechanisms import Peeling
    >>> found = Peeling([3.0, 2.0, 0.0], 2, 1.0).estimate([0, 1])
    >>> found.method, found.error < 1e-9
    ('quadrature', True)
    """

    log_probability: float
    error: float
    method: Literal["closed form", "quadrature", "Monte Carlo"]


class ScoreDistribution(Distribution[Outcome]):
    """A law over items, sets of items or rankings of them, given scores.

    Examples
    --------
    >>> from mipselect.mechanisms import NoisyMax, ScoreDistribution
    >>> law = NoisyMax([1.0, 0.0], 1.0, noise="laplace")
    >>> isinstance(law, ScoreDistribution)
    True
    >>> law.estimate(0).error < 1e-6
    True
    """

    @abstractmethod
    def estimate(self, outcome: ArrayLike) -> Estimate:
        """Return the log probability of `outcome`, with an error bar; see `log_probability`."""

    def log_probability(self, outcome: ArrayLike) -> float:
        """See `Distribution.log_probability`; `estimate` has an error bar too."""
        return self.estimate(outcome).log_probability


class ScoreMechanism(ScoreDistribution[Outcome], Mechanism[Outcome]):
    """A law given scores that is private, by what `scores.utilities` says about rounding.

    Subclasses have an `epsilon` and a `relation`.

    Examples
    --------
    >>> from mipselect.mechanisms import RandomizedResponse, ScoreMechanism
    >>> mechanism = RandomizedResponse([1.0, 0.0], 1.0, relation="add-remove")
    >>> isinstance(mechanism, ScoreMechanism), mechanism.guarantee.relation
    (True, 'add-remove')
    """

    epsilon: float
    relation: str

    @property
    def rho(self) -> float | None:
        """ρ of zero-concentrated privacy, where less than ε²/2 is proven; else None."""
        return None

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under `relation`, without conditions, with `rho`."""
        return Guarantee(self.epsilon, relation=self.relation, rho=self.rho)


class WeightedItem(ScoreMechanism[int]):
    """One item by integer weights: draws are exact, and probabilities in closed form."""

    scores: ArrayLike

    @property
    @abstractmethod
    def _weights(self) -> IntegerWeights:
        """The weight of every item."""

    def sample(self, rng: Rng = None) -> int:
        """Draw an index. See `Mechanism.sample`."""
        return self._weights.draw(generator(rng)[0])

    def estimate(self, outcome: ArrayLike) -> Estimate:
        """Return the log of the probability of an index. See `ScoreMechanism.estimate`."""
        index = checked_index(outcome, np.size(self.scores))
        return Estimate(self._weights.log_probability(index), 0.0, "closed form")
