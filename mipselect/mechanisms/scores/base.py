"""Selection from scores: what its mechanisms have in common, and what they state."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from mipselect.mechanisms.base import Distribution, Mechanism, Outcome
from mipselect.mechanisms.scores.checks import checked_index
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import IntegerWeights, Rng, generator


class ScoreMechanism(Distribution[Outcome], Mechanism[Outcome]):
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

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of an index. See `Distribution.log_probability`."""
        return self._weights.log_probability(checked_index(outcome, np.size(self.scores)))
