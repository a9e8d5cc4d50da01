"""One estimator of every kind, and a table for those that draw from scores of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mipselect.mechanisms.base import Mechanism
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
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
from mipselect.selectors.base import RowsSelector

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


class Table:
    """X, shape (n, p), y and the arguments of `Problem.of_columns`."""

    def __init__(self, X: Any, y: np.ndarray, support_size: int, **question: Any) -> None:
        self.X, self.y, self.support_size, self.question = X, y, support_size, question

    @property
    def problem(self) -> Problem:
        size = self.support_size
        return Problem.of_columns(
            self.X.shape[1], None, support_size=size, loss=None, **self.question
        )

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def columns(self) -> Any:
        """In the order of the layout."""
        return self.problem.layout.ordered(self.X)

    def law(self, method: RowsSelector, rng: Any = None) -> Mechanism[Any]:
        problem = self.problem
        return method.law(problem, Rows(self.columns, self.y), rng)

    def like(self, X: Any, y: np.ndarray, **changes: Any) -> Table:
        """Another table with the same question, but for some changes."""
        return Table(X, y, self.support_size, **{**self.question, **changes})
