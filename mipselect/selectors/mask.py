"""scikit-learn's own transformer of the columns that a selector kept."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

LEARNT = ("n_features_in_", "feature_names_in_", "support_", "_sklearn_output_config")
"""Attributes of a selector that the transformer needs."""


class Mask(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Columns that are kept or left out; `mask_of` makes one."""

    def fit(self, X: object, y: object = None) -> Self:
        """Return the transformer: its selector was fitted, or not."""
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        mask: NDArray[np.bool_] = self.support_
        return mask


def mask_of(selector: Any) -> Any:
    """Return the transformer of a selector, which messages call by the selector's name."""
    mask = type(type(selector).__name__, (Mask,), {})()
    vars(mask).update({name: value for name, value in vars(selector).items() if name in LEARNT})
    return mask
