"""Spaces of neighbouring pairs, in coordinates, for an audit to search in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.errors import InvalidInput

Array = NDArray[np.float64]


class NeighbourSpace(Protocol):
    """Pairs of neighbours, each given by a vector of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.privacy.audit import ScoreVectors
    >>> space = ScoreVectors(3, low=0.0, high=5.0)
    >>> data, other = space.pair(space.start(np.random.default_rng(0)))
    >>> bool(np.all(np.abs(data - other) <= 1.0))
    True
    """

    def start(self, rng: np.random.Generator) -> Array:
        """Return a random point."""

    def pair(self, point: Array) -> tuple[Any, Any]:
        """Return the neighbours at a point."""

    def proposals(self, point: Array, coordinate: int, rng: np.random.Generator) -> Iterable[float]:
        """Return values that are worth trying for a coordinate."""


@dataclass(frozen=True)
class ScoreVectors:
    """Score vectors of which entry a moves by at most Δ_a.

    A point is the scores, then their moves in units of Δ_a, between -1 and 1.

    Parameters
    ----------
    size : int
        d, the number of scores.
    low, high : float
        Where the scores lie; their neighbours may lie up to Δ_a outside.
    sensitivity : float or array_like, shape (d,)
        Δ_a ≥ 0.
    monotone : bool
        Whether all scores move in one direction, as counts do.

    Examples
    --------
    >>> from mipselect.mechanisms import NoisyMax
    >>> from mipselect.privacy.audit import ScoreVectors, law_of, worst_pair
    >>> law = law_of(lambda scores: NoisyMax(scores, 1.0, noise="gumbel"), outcomes=range(2))
    >>> worst_pair(law, ScoreVectors(2, 0.0, 9.0), starts=1).epsilon <= 1.0 + 1e-9
    True
    """

    size: int
    low: float
    high: float
    sensitivity: ArrayLike = 1.0
    monotone: bool = False

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise InvalidInput(f"low must not exceed high, got {self.low} and {self.high}")

    def start(self, rng: np.random.Generator) -> Array:
        """Draw random scores, and moves of full size."""
        moves = rng.choice(self._moves, self.size)
        return np.concatenate([rng.uniform(self.low, self.high, self.size), moves])

    def pair(self, point: Array) -> tuple[Array, Array]:
        """Return two score vectors, shape (d,)."""
        scores, moves = point[: self.size], point[self.size :]
        return scores, scores + moves * np.asarray(self.sensitivity)

    def proposals(self, point: Array, coordinate: int, rng: np.random.Generator) -> Iterable[float]:
        """Propose values of one coordinate.

        For a score these are the bounds, the middle, a random value, and values next to and at
        another score; for a move all extremes and zero.
        """
        if coordinate >= self.size:
            return self._moves
        other = point[rng.integers(self.size)]
        width = float(np.max(np.asarray(self.sensitivity)))
        near = np.clip([other, other - width, other + width], self.low, self.high)
        middle = (self.low + self.high) / 2.0
        return [self.low, self.high, middle, rng.uniform(self.low, self.high), *near.tolist()]

    @property
    def _moves(self) -> list[float]:
        return [0.0, 1.0] if self.monotone else [-1.0, 0.0, 1.0]


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

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.privacy.audit import ReplacedRow
    >>> space = ReplacedRow(4, lower=[0.0, 0.0], upper=[1.0, 2.0])
    >>> table, other = space.pair(space.start(np.random.default_rng(0)))
    >>> table.shape, bool((table[1:] == other[1:]).all())
    ((4, 2), True)
    """

    rows: int
    lower: ArrayLike = field(repr=False)
    upper: ArrayLike = field(repr=False)

    def __post_init__(self) -> None:
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        if lower.ndim != 1 or lower.shape != upper.shape or not np.all(lower <= upper):
            raise InvalidInput("lower and upper must be lists of p numbers, lower ≤ upper")

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
