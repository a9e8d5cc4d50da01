"""The search by evaluating everything: fewer supports than bounds would cost need no bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.prepared import PreparedLoss
from mipselect.search.collectors import Collector
from mipselect.search.node import Node
from mipselect.search.progress import Deadline, Run
from mipselect.search.strategies import Strategy


@dataclass(frozen=True, eq=False)
class EvaluatedNeighbourhood:
    """A support Ŝ, shape (s,), all supports, shape (C, s), and their values."""

    support: IntArray
    value: float
    supports: IntArray
    values: FloatArray

    @cached_property
    def level_of(self) -> IntArray:
        """Distances of all supports from Ŝ."""
        return np.asarray(np.sum(~np.isin(self.supports, self.support), axis=1))

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

    name = "native"

    def center(self, size: int, run: Run) -> EvaluatedNeighbourhood:
        """Find the best support, the first of them in lexicographic order."""
        supports, values = self._all(size, run)
        best = int(np.argmin(values))
        return EvaluatedNeighbourhood(supports[best], float(values[best]), supports, values)

    def center_at(self, support: IntArray, value: float, run: Run) -> EvaluatedNeighbourhood:
        """Return the neighbourhood of a support whose value is known."""
        return EvaluatedNeighbourhood(support, value, *self._all(len(support), run))

    def relaxation(self, size: int, grace: Deadline) -> float:
        """Return -inf: what was not evaluated is not bounded."""
        return -math.inf

    def _all(self, size: int, run: Run) -> tuple[IntArray, FloatArray]:
        """Evaluate every support in lexicographic order."""
        found: list[tuple[IntArray, FloatArray]] = []
        whole = Node(np.empty(0, dtype=np.intp), size, np.arange(self.n_features))
        for supports in whole.sets(self.batch):
            run.tick()
            with run.accounts.trying(Strategy.ENUMERATION) as account:
                found.append((supports, self.problem.values(supports)))
                account.successes += 1
            run.subproblems += 1
            run.incumbent = min(run.incumbent, float(found[-1][1].min()))
        every, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return every, values
