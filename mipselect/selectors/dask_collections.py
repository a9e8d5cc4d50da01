"""Selectors on Dask arrays and frames: from moments, added up where the data are."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.moments import Moments
from mipselect.selectors.base import PrivateSelector


def is_dask(X: object) -> bool:
    """Return whether X is a collection of Dask."""
    return hasattr(X, "__dask_graph__")


def instance_of(
    selector: PrivateSelector,
    X: ArrayLike,
    y: ArrayLike,
    *,
    support_size: int,
    x_bound: Any,
    y_bound: float,
    coef_bound: float,
    ridge: float,
    intercept: bool,
) -> Instance:
    """An instance from moments, after `selector` has learnt what scikit-learn wants it to know.

    Raises
    ------
    InvalidInput
        For features of several columns, whose rows would have to be shortened; see
        `Moments.of`, which takes a table with a schema.
    """
    always = selector.always or ()
    if selector.groups is not None or any(np.ndim(part) > 0 for part in cast(Any, always)):
        raise InvalidInput(
            "of Dask collections every feature is one column; for groups make moments of a frame "
            "with a schema, and Instance.from_moments"
        )
    moments = Moments.of((X, y), x_bound=x_bound, y_bound=y_bound)
    selector.n_features_in_ = moments.p
    if hasattr(X, "columns"):
        selector.feature_names_in_ = np.array(moments.columns.names, dtype=object)
    elif hasattr(selector, "feature_names_in_"):
        del selector.feature_names_in_
    return Instance.from_moments(
        moments,
        support_size=support_size,
        coef_bound=coef_bound,
        ridge=ridge,
        always=always,
        intercept=intercept,
    )
