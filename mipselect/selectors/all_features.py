"""A selector with nothing to choose, for a model of features that are known."""

from __future__ import annotations

import random
from typing import Any

from mipselect.mechanisms import Mechanism
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.supports.all_features import AllFeatures, CostsNothing
from mipselect.parameters import estimator
from mipselect.privacy.randomness import Rng
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import asked_sizes


@estimator
class AllFeaturesSelector(CostsNothing, PrivateSelector):
    """Keep all features, at ε = 0 whatever `epsilon` is.

    `SelectThenRegress` and `mipselect fit` put it in the place of a selector that would have to
    draw p out of p features.
    """

    name = "all-features"

    @property
    def bounds(self) -> tuple[str, ...]:
        """None."""
        return ()

    def problem(self, problem: Problem) -> Problem:
        """Return its features, without a loss and bounds."""
        return problem.needing(self.bounds)

    def on(
        self,
        instance: Instance | BlockScores,
        rng: Rng = None,
        progress: ProgressCallback | None = None,
    ) -> Mechanism[Support]:
        """See `PrivateSelector.on`."""
        return AllFeatures(instance.problem.layout.feature_names)

    def _mechanism(self, X: Any, y: Any, source: random.Random) -> Mechanism[Any]:
        return AllFeatures(self._layout().feature_names)


def in_place_of(selector: PrivateSelector, size: int, p: int) -> PrivateSelector:
    """Return what selects `size` of p features: a selector, or all of them where nothing is left.

    Parameters
    ----------
    selector : PrivateSelector
    size : int
        Features to select, unless the selector has sizes.
    p : int
        Features that there are.
    """
    if asked_sizes(selector) is not None or size != p:
        return selector
    return AllFeaturesSelector(
        p, groups=selector.groups, always=selector.always, random_state=selector.random_state
    )
