"""Tables of which the first row is exchanged, for `worst_pair` to search in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ReplacedRow:
    """Tables with bounded entries, of which the first row is exchanged.

    A point is the table, row by row, then the new first row.

    Parameters
    ----------
    rows : int
        n ≥ 1.
    lower, upper : array_like, shape (p,)
        The bounds of each column.
    """

    rows: int
    lower: ArrayLike = field(repr=False)
    upper: ArrayLike = field(repr=False)

    def start(self, rng: np.random.Generator) -> Array:
        """Draw random rows, and two first rows at the bounds."""
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        table = rng.uniform(lower, upper, (self.rows + 1, lower.size))
        for row in (0, -1):
            table[row] = np.where(rng.random(lower.size) < 0.5, lower, upper)
        return table.ravel()

    def pair(self, point: Array) -> tuple[Array, Array]:
        """Return two tables, shape (n, p)."""
        table = point.reshape(self.rows + 1, -1)
        return table[:-1].copy(), np.concatenate([table[-1:], table[1:-1]])

    def proposals(self, point: Array, coordinate: int, rng: np.random.Generator) -> Iterable[float]:
        """Return the bounds of the column, its middle, a random value, and another row's value."""
        column = coordinate % np.size(self.lower)
        low = float(np.asarray(self.lower)[column])
        high = float(np.asarray(self.upper)[column])
        other = float(point[column :: np.size(self.lower)][rng.integers(self.rows + 1)])
        return [low, high, (low + high) / 2.0, rng.uniform(low, high), other]
