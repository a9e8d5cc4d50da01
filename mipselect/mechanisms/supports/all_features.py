"""The support of all features: where nothing is left to choose, nothing is paid."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support, SupportMechanism
from mipselect.privacy.guarantee import RELATIONS, Guarantee
from mipselect.privacy.randomness import Rng

ALL_FEATURES = "all features"
"""Name of the law, of which nothing is drawn."""


class CostsNothing:
    """The guarantee of what does not depend on the data: ε = 0 under both relations."""

    @property
    def guarantee(self) -> Guarantee:
        """ε = 0."""
        return self.guarantees["replace-one"]

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """ε = 0 under both relations."""
        return {relation: Guarantee(0.0, relation=relation, rho=0.0) for relation in RELATIONS}


class AllFeatures(CostsNothing, SupportMechanism):
    """The only support of p out of p features. It is the same for all data, so that ε is 0.

    Parameters
    ----------
    feature_names : tuple of str
        The p names.
    """

    def __init__(self, feature_names: tuple[str, ...]) -> None:
        self._names = feature_names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""
        return self._names

    @property
    def name(self) -> str:
        """See `Mechanism.name`."""
        return ALL_FEATURES

    def sample(self, rng: Rng = None) -> Support:
        """Return all features."""
        return tuple(range(len(self._names)))

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return 0 for the only outcome. See `Distribution.log_probability`."""
        if sorted(np.asarray(outcome).tolist()) != list(self.sample()):
            raise InvalidInput(f"the outcome is all {len(self._names)} features")
        return 0.0
