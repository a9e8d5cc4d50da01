"""Private feature selection as scikit-learn estimators."""

from mipselect.selectors.exponential import ExponentialSelector
from mipselect.selectors.kendall import KendallSelector
from mipselect.selectors.mistakes import MistakesSelector
from mipselect.selectors.top_r import TopRSelector

__all__ = [
    "ExponentialSelector",
    "KendallSelector",
    "MistakesSelector",
    "TopRSelector",
]
