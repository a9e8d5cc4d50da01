"""The cutting-plane engine: a master of cuts, solved by any MIP back end.

The master minimises η over the choices z of m live features subject to η ≥ every cut. Each
solution is evaluated exactly, offered, excluded, and answered by the cut at that solution, so
that the master's bound rises until it proves that nothing below the threshold is left.
"""

from __future__ import annotations

import math

import numpy as np

from mipselect.errors import SolverFailure
from mipselect.losses.base import IntArray
from mipselect.search.additions import Additions, greedy_completion
from mipselect.search.backends import MasterStatus, Solver
from mipselect.search.branch_and_bound import enumerate_additions, offer_additions
from mipselect.search.collectors import Collector
from mipselect.search.cuts import Cut, sparse_diagonal_cut
from mipselect.search.progress import Clock, TimeUp

MASTER_COLUMNS = 64
"""Larger subproblems are divided first: a master of few columns has strong cuts."""

ENUMERATED = 32
"""Below this many choices evaluating all of them beats building a master."""

CUTOFF_MARGIN = 1e-2
"""Units above the target at which a master may stop; more than a solver's tolerances take."""


class OuterApproximation:
    """Settles subproblems by cuts and a MIP solver.

    Parameters
    ----------
    name : str
    solver : Solver
    unit : float
        The objective's unit in the master, far below τ: a solver's tolerances are absolute.
    """

    def __init__(self, name: str, solver: Solver, unit: float) -> None:
        self.name = name
        self._solver = solver
        self._unit = unit

    def takes(self, sub: Additions) -> bool:
        """A bounded number of columns."""
        return len(sub.live) <= MASTER_COLUMNS

    def settle(self, sub: Additions, collector: Collector, clock: Clock) -> None:
        """Add cuts until the master proves that nothing below the threshold is left."""
        if math.comb(len(sub.live), sub.size) <= ENUMERATED:
            enumerate_additions(sub, collector)
            return
        master = self._solver.master(len(sub.live), sub.size)
        clock.masters += 1
        unit, H = self._unit, sub.dense()
        origin = sub.lower_bound(0.0)

        def add(cut: Cut) -> None:
            master.add_cut((cut.constant - origin) / unit, cut.coefficients / unit)
            clock.cuts += 1

        cuts = [sparse_diagonal_cut(sub, H, np.empty(0, dtype=np.intp))]
        cuts.append(sparse_diagonal_cut(sub, H, greedy_completion(sub)))
        for cut in cuts:
            add(cut)
        visited: set[tuple[int, ...]] = set()
        while True:
            clock.tick()
            clock.iterations += 1
            target = collector.target
            cutoff = (target - origin) / unit + CUTOFF_MARGIN
            solution = master.solve(cutoff=cutoff, time_limit=clock.remaining)
            clock.solver_nodes += solution.nodes
            if solution.status is MasterStatus.TIME_LIMIT:
                raise TimeUp
            if solution.status is MasterStatus.FAILED:
                raise SolverFailure(f"{self.name} failed on a master: {solution.detail}")
            bound = origin + solution.bound * unit
            if solution.chosen is None or bound >= target:
                collector.settle(bound)
                return
            chosen = self._checked(solution.chosen, sub, visited)
            offer_additions(sub, chosen[None], collector)
            add(sparse_diagonal_cut(sub, H, chosen))
            master.exclude(chosen)

    def _checked(self, chosen: IntArray, sub: Additions, visited: set[tuple[int, ...]]) -> IntArray:
        key = tuple(sorted(int(j) for j in chosen))
        if len(key) != sub.size or key in visited:
            raise SolverFailure(
                f"{self.name} returned {len(key)} columns where {sub.size} were asked for, or a "
                "choice that was excluded"
            )
        visited.add(key)
        return np.asarray(key)
