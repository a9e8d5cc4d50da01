"""The search by evaluating everything: fewer supports than bounds would cost need no bounds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.prepared import PreparedLoss
from mipselect.search.collectors import Collector
from mipselect.search.progress import Run
from mipselect.search.strategies import Strategy


@dataclass(frozen=True, eq=False)
class EvaluatedNeighbourhood:
    """A support Ŝ and the values of all others.

    Attributes
    ----------
    support : ndarray of int, shape (s,)
    value : float
    supports : ndarray of int, shape (C, s)
        All of them, in lexicographic order.
    values : ndarray of shape (C,)
    level_of : ndarray of int, shape (C,)
        The distance of each from Ŝ.
    """

    support: IntArray
    value: float
    supports: IntArray
    values: FloatArray
    level_of: IntArray

    def level_bound(self, level: int) -> float:
        """Return the smallest value of the level."""
        return float(self.values[self.level_of == level].min())

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer the whole level."""
        here = self.level_of == level
        collector.offer(self.supports[here], self.values[here])


@dataclass(frozen=True, eq=False)
class Enumeration:
    """Search by evaluating every support.

    Attributes
    ----------
    problem : PreparedLoss
    n_features : int
        p.
    batch : int
        Supports that are evaluated between two looks at the time.
    """

    problem: PreparedLoss
    n_features: int
    batch: int
    _evaluated: dict[int, tuple[IntArray, FloatArray]] = field(default_factory=dict, init=False)

    name = "native"

    def center(self, size: int, run: Run) -> EvaluatedNeighbourhood:
        """Find the best support, the first of them in lexicographic order."""
        supports, values = self._all(size, run)
        best = int(np.argmin(values))
        return self.center_at(supports[best], float(values[best]), run)

    def center_at(self, support: IntArray, value: float, run: Run) -> EvaluatedNeighbourhood:
        """Return the neighbourhood of a support whose value is known."""
        supports, values = self._all(len(support), run)
        level_of = np.sum(~np.isin(supports, support), axis=1)
        return EvaluatedNeighbourhood(support, value, supports, values, level_of)

    def _all(self, size: int, run: Run) -> tuple[IntArray, FloatArray]:
        """Evaluate every support, once."""
        if size not in self._evaluated:
            everything = itertools.combinations(range(self.n_features), size)
            supports: list[IntArray] = []
            values: list[FloatArray] = []
            while some := list(itertools.islice(everything, self.batch)):
                run.tick()
                with run.accounts.trying(Strategy.ENUMERATION) as account:
                    supports.append(np.array(some, dtype=np.intp))
                    values.append(self.problem.values(supports[-1]))
                    account.successes += 1
                run.statistics.subproblems += 1
                run.reporter.incumbent = min(run.reporter.incumbent, float(values[-1].min()))
            self._evaluated[size] = np.concatenate(supports), np.concatenate(values)
        return self._evaluated[size]
