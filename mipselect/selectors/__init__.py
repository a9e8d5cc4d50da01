"""Private feature selection as scikit-learn estimators."""

from collections.abc import Mapping

from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exponential import ExponentialSelector
from mipselect.selectors.kendall import KendallSelector
from mipselect.selectors.mcmc import MCMCSelector
from mipselect.selectors.permute_and_flip import PermuteAndFlipSelector
from mipselect.selectors.sample_aggregate import SampleAggregateSelector
from mipselect.selectors.searched import MistakesSelector, TopRSelector
from mipselect.selectors.sis import SISSelector

BY_NAME: Mapping[str, type[PrivateSelector]] = {
    "permute-and-flip": PermuteAndFlipSelector,
    "exponential": ExponentialSelector,
    "top-r": TopRSelector,
    "mistakes": MistakesSelector,
    "sis": SISSelector,
    "kendall": KendallSelector,
    "sample-aggregate": SampleAggregateSelector,
    "mcmc": MCMCSelector,
}
"""Selectors by the names of the command line. A further selector is a line here."""

__all__ = [
    "ExponentialSelector",
    "KendallSelector",
    "MCMCSelector",
    "MistakesSelector",
    "PermuteAndFlipSelector",
    "SISSelector",
    "SampleAggregateSelector",
    "TopRSelector",
]
