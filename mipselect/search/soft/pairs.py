"""The law of pairs with weights of their own: a cell of two additions, bounded exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import EPS
from mipselect.search.soft.polynomials import Choose, log_step, rising_law


@dataclass(frozen=True, eq=False)
class PairLaw:
    """P({j, l}) ∝ w_jl over the pairs of L positions, drawn row by row.

    Attributes
    ----------
    row : callable
        Takes j; log w_jl for l = j+1, ..., L-1, always the same numbers.
    log_rows : ndarray of shape (L - 1,)
        log Σ_{l>j} w_jl.
    log_members : ndarray of shape (L,)
        log of the total of the pairs that contain a position.
    log_total : float
    log_largest : float
        The largest log w_jl.
    first, second : int
        The pair j < l that has it.
    """

    row: Callable[[int], FloatArray]
    log_rows: FloatArray
    log_members: FloatArray
    log_total: float
    log_largest: float
    first: int
    second: int

    @cached_property
    def rounding(self) -> float:
        """The log of a probability, as it is drawn, is off by no more than this."""
        return 16.0 * EPS * len(self.log_members) * (1.0 + float(np.abs(self.log_rows).max()))

    @property
    def log_second(self) -> float:
        """An upper bound on the second largest."""
        return self.log_largest

    def log_member(self, positions: IntArray) -> float:
        """Return the log of the weight of a pair j < l, shape (2,)."""
        j, other = positions.tolist()
        return float(self.row(j)[other - j - 1])

    def likeliest(self) -> IntArray:
        """Return the positions of the pair with the largest weight."""
        return np.array([self.first, self.second])

    def draw(self, choose: Choose) -> tuple[IntArray, float]:
        """Draw the positions of a pair, and return the log of their probability as drawn."""
        first, log_first = _draw(self.log_rows, choose)
        second, log_second = _draw(self.row(first), choose)
        return np.array([first, first + 1 + second]), log_first + log_second

    def log_inclusion(self) -> FloatArray:
        """Compute the log of the probability that the pair has each position, shape (L,)."""
        return np.asarray(np.minimum(self.log_members - self.log_total, 0.0))


def pair_law(log_weights: FloatArray, row: Callable[[int], FloatArray]) -> PairLaw:
    """Make the law of all pairs; `log_weights` is symmetric, its diagonal does not matter.

    It is overwritten.
    """
    np.fill_diagonal(log_weights, -np.inf)
    first, second = np.unravel_index(int(log_weights.argmax()), log_weights.shape)
    top = float(log_weights[first, second])
    weights = np.exp(log_weights - top, out=log_weights)
    members = weights.sum(axis=1)
    rows = np.array([weights[j, j + 1 :].sum() for j in range(len(weights) - 1)])
    with np.errstate(divide="ignore"):
        log_rows = np.maximum(np.log(rows), -700.0) + top
        log_members = np.log(members) + top
    log_total = float(np.logaddexp.reduce(log_rows))
    pair = sorted((int(first), int(second)))
    return PairLaw(row, log_rows, log_members, log_total, top, *pair)


def _draw(logs: FloatArray, choose: Choose) -> tuple[int, float]:
    """Draw an index with probability ∝ exp(logs), and return the log of it as drawn."""
    order, cumulative = rising_law(logs)
    place = choose(cumulative)
    return int(order[place]), log_step(cumulative, place)
