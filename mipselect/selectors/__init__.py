"""Private feature selection as scikit-learn estimators."""

from mipselect.selectors.top_r import TopRSelector

__all__ = ["TopRSelector"]
