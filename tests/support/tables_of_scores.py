"""A table with a question, for selectors that draw from scores of rows that are not clipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from mipselect.mechanisms.base import Mechanism
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
from mipselect.selectors.scored import RowsSelector


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
