"""A selector with nothing to choose, for a model of features that are known; nothing is paid."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support, SupportMechanism
from mipselect.parameters import estimator
from mipselect.privacy.guarantee import RELATIONS, Guarantee
from mipselect.privacy.randomness import Rng
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector

FREE = {relation: Guarantee(0.0, relation=relation, rho=0.0) for relation in RELATIONS}
"""The guarantees of what does not depend on the data."""


class AllFeatures(SupportMechanism):
    """The only support of p out of p features. It is the same for all data, so that ε is 0."""

    name = "all features"
    guarantee, guarantees = FREE["replace-one"], FREE
    feature_names: tuple[str, ...] = ()

    def __init__(self, feature_names: tuple[str, ...]) -> None:
        self.feature_names = feature_names

    def sample(self, rng: Rng = None) -> Support:
        """Return all features."""
        return tuple(range(len(self.feature_names)))

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return 0 for the only outcome. See `Distribution.log_probability`."""
        if sorted(np.asarray(outcome).tolist()) != list(self.sample()):
            raise InvalidInput(f"the outcome is all {len(self.feature_names)} features")
        return 0.0


@estimator
class AllFeaturesSelector(PrivateSelector):
    """Keep all features, at ε = 0 whatever `epsilon` is.

    `SelectThenRegress` and `mipselect fit` put it in the place of a selector that would have to
    draw p out of p features.
    """

    name = "all-features"
    guarantee, guarantees = FREE["replace-one"], FREE
    bounds = ()

    def problem(self, problem: Problem) -> Problem:
        """Return its features, without a loss and bounds."""
        return problem.needing(self.bounds)

    def on(
        self,
        instance: Instance | BlockScores,
        rng: Rng = None,
        progress: ProgressCallback | None = None,
    ) -> SupportMechanism:
        """See `PrivateSelector.on`."""
        return AllFeatures(instance.problem.layout.feature_names)

    def _mechanism(self, X: Any, y: Any, source: random.Random) -> SupportMechanism:
        return AllFeatures(self._layout().feature_names)


def in_place_of(selector: PrivateSelector, p: int) -> PrivateSelector:
    """Return what selects from p features: a selector, or all of them where nothing is left."""
    if selector.sizes is not None or selector.n_features_to_select != p:
        return selector
    return AllFeaturesSelector(
        p, groups=selector.groups, always=selector.always, random_state=selector.random_state
    )
