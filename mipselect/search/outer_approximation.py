"""The cutting-plane engine: a master of cuts, solved by any MIP back end.

The master minimises η over the choices z of m live features subject to η ≥ every cut. Each
solution is evaluated exactly, offered, excluded, and answered by the cut at that solution, so
that the master's bound rises until it proves that nothing below the threshold is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mipselect.errors import SolverFailure
from mipselect.losses.base import IntArray
from mipselect.search.additions import Additions, greedy_completion
from mipselect.search.backends import Master, MasterSolution, MasterStatus, Solver
from mipselect.search.branch_and_bound import enumerate_additions, offer_additions
from mipselect.search.collectors import Collector
from mipselect.search.cuts import Cut, sparse_diagonal_cut
from mipselect.search.progress import Clock, TimeUp

MASTER_COLUMNS = 64
"""Larger subproblems are divided first: a master of few columns has strong cuts."""

ENUMERATED = 500
"""Evaluating so many supports takes less time than one solve of a master."""

PATIENCE = 30
"""Solutions of one master after which a proof within τ is accepted, or the master given up."""

CUTOFF_MARGIN = 1e-2
"""Units above the target at which a master may stop; more than a solver's tolerances take."""

RETRIES = 4
"""How often the margin is widened for a solver whose tolerances take more."""

LARGEST_RANGE = 1e6
"""Units between the lowest bound and the target: beyond it double precision is too coarse."""


Visit = Callable[[IntArray], tuple[float, Cut]]


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

    def settle(self, sub: Additions, collector: Collector, clock: Clock) -> bool:
        """Add cuts until the master proves that nothing below the threshold is left."""
        if math.comb(len(sub.live), sub.size) <= ENUMERATED:
            enumerate_additions(sub, collector, clock)
            return True
        if collector.threshold == math.inf:
            return False
        H = sub.dense()
        none = np.empty(0, dtype=np.intp)
        cuts = [sparse_diagonal_cut(sub, H, T) for T in (none, greedy_completion(sub))]

        def visit(chosen: IntArray) -> tuple[float, Cut]:
            value = float(offer_additions(sub, chosen[None], collector)[0])
            return value, sparse_diagonal_cut(sub, H, chosen)

        return self.prove(cuts, sub.size, visit, collector, clock)

    def prove(
        self, cuts: list[Cut], size: int, visit: Visit, collector: Collector, clock: Clock
    ) -> bool:
        """Solve masters until they prove that nothing below the threshold is left.

        Parameters
        ----------
        cuts : list of Cut
            At least one; they tell the number of columns.
        size : int
            How many columns are chosen.
        visit : callable
            Takes a choice, shape (size,); offers it, and returns its value and its cut.
        """
        columns = len(cuts[0].coefficients)
        floor = max(cut.minimum(size) for cut in cuts)
        if floor >= collector.threshold:
            collector.settle(floor)
            return True
        unit = max(self._unit, (collector.threshold - floor) / LARGEST_RANGE)
        master = _ScaledMaster(self._solver.master(columns, size), floor, unit, clock)
        for cut in cuts:
            master.add(cut)
        visited: set[tuple[int, ...]] = set()
        margin, retries = CUTOFF_MARGIN, 0
        while True:
            target = collector.threshold if len(visited) < PATIENCE else collector.target
            solution, bound = master.solve(target, margin)
            if solution.status is MasterStatus.FAILED:
                raise SolverFailure(f"{self.name} failed on a master: {solution.detail}")
            if bound >= target:
                collector.settle(bound)
                return True
            if solution.chosen is None:
                if retries == RETRIES:
                    return False
                margin, retries = margin + 2.0 * (target - bound) / unit, retries + 1
                continue
            if len(visited) >= PATIENCE:
                return False
            chosen = self._checked(solution.chosen, size, visited)
            value, cut = visit(chosen)
            if bound > value + CUTOFF_MARGIN * unit:
                raise SolverFailure(
                    f"{self.name} claims the bound {bound:.9g} for a problem in which it found a "
                    f"support of value {value:.9g}: its cuts or its bound are wrong"
                )
            master.add(cut)
            master.exclude(chosen)

    def _checked(self, chosen: IntArray, size: int, visited: set[tuple[int, ...]]) -> IntArray:
        key = tuple(sorted(int(j) for j in chosen))
        if len(key) != size or key in visited:
            raise SolverFailure(
                f"{self.name} returned {len(key)} columns where {size} were asked for, or a "
                "choice that was excluded"
            )
        visited.add(key)
        return np.asarray(key)


class _ScaledMaster:
    """A master whose objective is (R - floor) / unit, and the count of its work."""

    def __init__(self, master: Master, floor: float, unit: float, clock: Clock) -> None:
        self._master, self._floor, self._unit, self._clock = master, floor, unit, clock
        self.exclude = master.exclude
        clock.masters += 1

    def add(self, cut: Cut) -> None:
        tight = cut.tightened(self._floor)
        self._master.add_cut(
            (tight.constant - self._floor) / self._unit, tight.coefficients / self._unit
        )
        self._clock.cuts += 1

    def solve(self, target: float, margin: float) -> tuple[MasterSolution, float]:
        """The master's answer and its bound on R; nothing above `target` is told apart."""
        self._clock.tick()
        self._clock.iterations += 1
        cutoff = (target - self._floor) / self._unit + margin
        solution = self._master.solve(cutoff=cutoff, time_limit=self._clock.remaining)
        self._clock.solver_nodes += solution.nodes
        if solution.status is MasterStatus.TIME_LIMIT:
            raise TimeUp
        return solution, self._floor + solution.bound * self._unit
