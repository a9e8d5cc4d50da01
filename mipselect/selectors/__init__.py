"""Private feature selection as scikit-learn estimators."""

from mipselect.selectors.kendall import KendallSelector
from mipselect.selectors.top_r import TopRSelector

__all__ = ["KendallSelector", "TopRSelector"]
