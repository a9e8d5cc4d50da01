"""The exponential mechanism by enumeration: the yardstick for all the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.mechanisms.base import Support, SupportMechanism, score_log_weights
from mipselect.mechanisms.supports.ranks import rank, unrank
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.validation import checked_epsilon, checked_support

MAX_SUPPORTS = 1_000_000
"""More are not enumerated; their values and weights would fill the memory."""

CHUNK = 65_536


@dataclass(frozen=True, eq=False)
class ExponentialMechanism(SupportMechanism):
    """P(S) ∝ exp(-ε R(S) / 2Δ) over all C(p, s) supports.

    Parameters
    ----------
    instance : Instance
        With at most `MAX_SUPPORTS` supports; all of them are evaluated at the first use.
    epsilon : float
        ε > 0, finite.

    Raises
    ------
    InvalidInput
        If there are too many supports, or `epsilon` is out of its range.

    References
    ----------
    McSherry and Talwar, "Mechanism design via differential privacy", 2007, theorem 6.
    """

    instance: Instance
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if self.instance.number_of_supports > MAX_SUPPORTS:
            raise InvalidInput(
                f"there are {self.instance.number_of_supports} supports of "
                f"{self.instance.support_size} out of {self.instance.p} features; at most "
                f"{MAX_SUPPORTS} are enumerated: use TopR with a pool from top_supports, or "
                "TopRSelector"
            )

    @property
    def name(self) -> str:
        """What the mechanism is called in a release."""
        return "exponential"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""
        return self.instance.feature_names

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under replace-one, without conditions."""
        return Guarantee(self.epsilon)

    def sample(self, rng: Rng = None) -> Support:
        """Draw a support: s sorted column indices. See `SupportMechanism.sample`."""
        source, _ = generator(rng)
        number = self._weights.draw(source)
        return unrank(number, self.instance.p, self.instance.support_size)

    def log_probability(self, outcome: ArrayLike) -> float:
        """Log of the probability of any support. Sensitive."""
        support = checked_support(outcome, self.instance.support_size, self.instance.p)
        return self._weights.log_probability(rank(support, self.instance.p))

    @cached_property
    def _weights(self) -> IntegerWeights:
        values = _all_values(self.instance)
        logs = score_log_weights(values, self.epsilon, self.instance.sensitivity)
        return IntegerWeights.from_logs(logs)


def _all_values(instance: Instance) -> FloatArray:
    """R of every support, shape (C(p, s),), in lexicographic order."""
    supports = combinations(range(instance.p), instance.support_size)
    values = []
    while chunk := list(islice(supports, CHUNK)):
        values.append(instance.objectives(np.array(chunk, dtype=np.intp)))
    return np.concatenate(values)
