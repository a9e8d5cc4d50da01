"""The incumbent of a search: a support, and what the bounds around it need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.gram import Gram
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.least_squares.node import SquaredNode, squared_node, squared_nodes
from mipselect.search.progress import Run
from mipselect.search.tuning import TUNING, Tuning


class RowTops:
    """Sums of the largest entries of the rows of G, found when a search cannot do without.

    Parameters
    ----------
    gram : Gram
    candidates : ndarray of int, shape (L,)
    count : int
        How many entries at most are summed.

    Attributes
    ----------
    known : ndarray of shape (p, count) or None
        See `Gram.row_tops`; None before `find`.
    """

    def __init__(self, gram: Gram, candidates: IntArray, count: int) -> None:
        self._gram, self._candidates, self._count = gram, candidates, count
        self.known: FloatArray | None = None

    def find(self, tick: Callable[[], None]) -> None:
        """Look at all of G once."""
        self.known = self._gram.row_tops(self._candidates, self._count, tick)


@dataclass(frozen=True, eq=False)
class Center:
    """A support Ŝ around which all others are sorted by their distance.

    Attributes
    ----------
    problem : PreparedSquared
    support : ndarray of int, shape (s,)
        Sorted.
    value : float
        R(Ŝ).
    coef : ndarray of shape (c,)
        Coefficients of the columns of Ŝ.
    multiplier : float
        ν.
    whole : SquaredNode
        All supports of its size, with the ν of Ŝ.
    candidates : ndarray of int, shape (p-s,)
        The features outside Ŝ.
    tops : RowTops
        Tops of G among the candidates.
    """

    problem: PreparedSquared
    support: IntArray
    value: float
    coef: FloatArray
    multiplier: float
    whole: SquaredNode
    candidates: IntArray
    tops: RowTops

    @property
    def tuning(self) -> Tuning:
        """The numbers of the search."""
        return self.whole.tuning

    @property
    def ridge(self) -> float:
        """λ + ν."""
        return self.problem.ridge + self.multiplier

    def node(
        self, base: IntArray, size: int, candidates: IntArray, multiplier: float
    ) -> SquaredNode:
        """Return the node of `size` candidates added to a base, with what is known of G."""
        known = self.tops.known
        return squared_node(self.problem, base, size, candidates, multiplier, known, self.tuning)

    def nodes(self, bases: IntArray, size: int) -> list[SquaredNode]:
        """Return the nodes of `size` candidates added to bases, shape (m, k), with the ν of Ŝ."""
        known = self.tops.known
        given = self.problem, bases, size, self.candidates, self.multiplier, known, self.tuning
        return squared_nodes(*given)

    @cached_property
    def across(self) -> FloatArray:
        """H between all features and those of Ŝ, of one column each; shape (p, s)."""
        columns = self.problem.gram.columns(self.support)[: self.problem.features.count]
        whitened = self.whole.whitened
        return np.asarray(columns - whitened.T @ whitened[:, self.support])

    @cached_property
    def outside(self) -> SquaredNode:
        """The node of all candidates without a base."""
        return self.whole.restricted(self.candidates)

    @property
    def lean(self) -> bool:
        """True if little is known of G among the candidates, because it takes time to compute."""
        return self.problem.features.singles and self.tops.known is None

    @property
    def floor(self) -> float:
        """R(Ŝ), less what is lost where columns that are always in are eliminated first."""
        if self.problem.features.plain:
            return self.value
        return self.value - self.whole.slack / (2.0 * self.problem.n)


def center_at(
    problem: PreparedSquared, support: IntArray, value: float, run: Run, tuning: Tuning = TUNING
) -> Center:
    """Solve the restricted problem at `support` and gather what its cut needs."""
    fit = problem.fit(support)
    everything = np.arange(problem.features.count)
    candidates = np.setdiff1d(everything, support)
    none = np.empty(0, dtype=np.intp)
    whole = squared_node(problem, none, len(support), everything, fit.multiplier, None, tuning)
    tops = RowTops(problem.gram, candidates, max(1, min(len(support), len(candidates))))
    if problem.gram.held and problem.features.singles:
        tops.find(run.tick)
    return Center(problem, support, value, fit.coef, fit.multiplier, whole, candidates, tops)
