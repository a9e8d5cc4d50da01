"""Private feature selection as scikit-learn estimators."""

from mipselect.selectors.mcmc import MCMCSelector
from mipselect.selectors.sample_aggregate import SampleAggregateSelector
from mipselect.selectors.sis import SISSelector
from mipselect.selectors.top_r import TopRSelector

__all__ = ["MCMCSelector", "SISSelector", "SampleAggregateSelector", "TopRSelector"]
