"""One estimator of every kind, with bounds that fit data in [-1, 1]."""

from __future__ import annotations

from typing import Any

from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
)
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


REGRESSORS = list(all_models())
CLASSIFIERS = list(all_classifiers())
