"""One estimator of every kind, with bounds that fit data in [-1, 1]; and a release by hand."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

from mipselect import Guarantee
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
)
from mipselect.regression.rows import RowMap
from mipselect.selectors import KendallSelector

BALL: dict[str, float] = {"x_bound": 1.0, "coef_bound": 2.0}


def all_models(**options: Any) -> dict[str, Any]:
    bounded = {"x_bound": 1.0, "y_bound": 1.0, **options}
    return {
        "objective": ObjectivePerturbationRegressor(**BALL, y_bound=1.0, **options),
        "huber": ObjectivePerturbationRegressor(loss="huber(0.3)", **BALL, y_bound=1.0, **options),
        "adassp": AdaSSPRegressor(**bounded),
        "boosted": BoostedAdaSSPRegressor(rounds=20, **bounded),
        "tukey": TukeyRegressor(**options),
    }


def all_classifiers(**options: Any) -> dict[str, Any]:
    return {
        "logistic": ObjectivePerturbationClassifier(**BALL, **options),
    }


def selection(*, random_state: Any = None, **options: Any) -> SelectThenRegress:
    return SelectThenRegress(
        KendallSelector(1, random_state=random_state),
        AdaSSPRegressor(x_bound=1.0, y_bound=1.0, relation="add-remove", random_state=random_state),
        **options,
    )


def release(**changes: Any) -> ModelRelease:
    """A model of arrays with two features."""
    fields: dict[str, Any] = {
        "support": (2, 4),
        "feature_names": ("age", "dose"),
        "guarantee": Guarantee(1.0, 1e-6),
        "mechanism": "adassp",
        "private": True,
        "coefficients": (0.5, -0.25),
        "intercept": 1.0,
        "rows": RowMap(2, x_bound=(1.0, 2.0), unit=(1.0, 2.0), row_bound=2.0),
        "bounds": {"y_bound": 3.0},
    }
    return ModelRelease(**{**fields, **changes})


def stored_again(release: ModelRelease) -> ModelRelease:
    """What is read of its JSON, which is the same."""
    again = ModelRelease.from_dict(json.loads(json.dumps(release.to_dict())))
    assert again == release
    return again


DRAWN = ("coefficients", "intercept", "support", "feature_names", "columns", "rows", "table")


def public_part(release: ModelRelease, table: Any, noise: dict[tuple[str, ...], Any]) -> Any:
    """What of a release of a table depends on no row; `noise` has its bounds by its columns."""
    stored = {key: value for key, value in release.to_dict().items() if key not in DRAWN}
    # How much noise there is follows from what was drawn, and from nothing else.
    bounds = stored.pop("bounds")
    assert noise.setdefault(release.columns, bounds) == bounds
    assert release.has_model
    with warnings.catch_warnings():
        # Predictions tell what they replace; the fit has no word of it.
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(release.predict(table)).all()
    return stored


REGRESSORS = list(all_models())
CLASSIFIERS = list(all_classifiers())
