"""Selectors on Dask arrays and frames: from moments, added up where the data are."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from mipselect.errors import InvalidInput
from mipselect.estimators import PrivateEstimator
from mipselect.problem.sums import ExactSums


def is_dask(X: object) -> bool:
    """Return whether X is a collection of Dask."""
    return hasattr(X, "__dask_graph__")


def summed(
    selector: PrivateEstimator,
    X: Any,
    y: Any,
    *,
    groups: Any,
    always: Any,
    intercept: bool,
    x_bound: Any,
    y_bound: float,
) -> ExactSums:
    """Add up moments, after `selector` has learnt what scikit-learn wants it to know.

    Raises
    ------
    InvalidInput
        For features of several columns, whose rows would have to be shortened; see
        `Moments.of`, which takes a table with a schema.
    """
    from mipselect.tables.moments import Moments
    from mipselect.tables.moments.columns import ArrayColumns
    from mipselect.tables.problems import layout_of_arrays

    always = always or ()
    if groups is not None or any(np.ndim(part) > 0 for part in cast(Any, always)):
        raise InvalidInput(
            "in Dask collections every feature is one column; for groups make moments of a frame "
            "with a schema, and Instance.from_moments"
        )
    moments = Moments.of((X, y), x_bound=x_bound, y_bound=y_bound)
    assert isinstance(moments.columns, ArrayColumns)
    learn_columns(selector, X, moments.p)
    layout = layout_of_arrays(
        moments.columns, feature_names=None, groups=None, always=always, intercept=intercept
    )
    return ExactSums(moments, layout)


def learn_columns(selector: PrivateEstimator, X: Any, p: int) -> None:
    """Set what scikit-learn wants an estimator to know of X: the number of columns, and names."""
    selector.n_features_in_, selector._labels = p, None
    if hasattr(X, "columns"):
        selector.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
    elif hasattr(selector, "feature_names_in_"):
        del selector.feature_names_in_
