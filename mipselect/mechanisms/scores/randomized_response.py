"""One item from scores of any sensitivity: randomised response."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.mechanisms.scores.base import ALLOWANCE, WeightedItem, checked_scores
from mipselect.mechanisms.scores.noisy_max import NoisyMax
from mipselect.parameters import completed_by
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.randomness import IntegerWeights
from mipselect.validation import checked_epsilon, set_fields


@completed_by(NoisyMax)
@dataclass(frozen=True, eq=False)
class RandomizedResponse(WeightedItem):
    """k-ary randomised response: the best item with probability e^ε / (e^ε + d - 1).

    All other items are equally likely. Among equal scores the earlier index is the best.

    Parameters
    ----------
    scores : array_like of float, shape (d,)
        q; larger is better. Finite. Sensitive. They may have any sensitivity.
    relation : {"replace-one", "add-remove"}
        The relation under which the guarantee is stated; it holds under both.

    Notes
    -----
    Draws are made in integers and probabilities are in closed form.

    References
    ----------
    Kairouz, Oh and Viswanath, "Extremal mechanisms for local differential privacy", 2016,
    section 4.

    Examples
    --------
    >>> import math
    >>> from mipselect.mechanisms import RandomizedResponse
    >>> mechanism = RandomizedResponse([0.2, 0.9, 0.1], math.log(3.0))
    >>> round(math.exp(mechanism.log_probability(1)), 6)
    0.6
    """

    scores: ArrayLike = field(repr=False)
    epsilon: float
    relation: str = field(default="replace-one", kw_only=True)
    name = "randomized-response"

    def __post_init__(self) -> None:
        set_fields(self, scores=checked_scores(self.scores), epsilon=checked_epsilon(self.epsilon))
        checked_relation(self.relation)

    @cached_property
    def _weights(self) -> IntegerWeights:
        scores = np.asarray(self.scores)
        # Two weights are rounded, and no scores.
        logs = np.full(scores.size, -max(0.0, self.epsilon - ALLOWANCE * (1.0 + self.epsilon)))
        logs[np.argmax(scores)] = 0.0
        return IntegerWeights.from_logs(logs)
