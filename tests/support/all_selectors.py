"""One estimator of every kind, with bounds that fit data in [-1, 1]."""

from __future__ import annotations

from typing import Any

from mipselect.selectors import (
    ExponentialSelector,
    KendallSelector,
    MCMCSelector,
    MistakesSelector,
    PermuteAndFlipSelector,
    SampleAggregateSelector,
    SISSelector,
    TopRSelector,
)

BOUNDS: dict[str, float] = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
WITHOUT_RIDGE: dict[str, float] = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.5}
SCALES: dict[str, float] = {"x_bound": 1.0, "y_bound": 1.0}
TESTED: dict[str, float] = {"test_epsilon": 0.5, "delta": 1e-6}


def all_selectors(k: int, **options: Any) -> dict[str, Any]:
    return {
        "top-r": TopRSelector(k, **BOUNDS, **options),
        "mistakes": MistakesSelector(k, **BOUNDS, **TESTED, **options),
        "permute-and-flip": PermuteAndFlipSelector(k, **BOUNDS, **options),
        "exponential": ExponentialSelector(k, **BOUNDS, **options),
        "mcmc": MCMCSelector(k, n_steps=300, **WITHOUT_RIDGE, **options),
        "sis": SISSelector(k, **SCALES, **options),
        "kendall": KendallSelector(k, **options),
        "sample-aggregate": SampleAggregateSelector(k, **options),
    }


NAMES = list(all_selectors(1))
