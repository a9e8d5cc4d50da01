"""The cutting-plane engine: a master of cuts, solved by any MIP back end.

The master minimises η over the choices z of m live features subject to η ≥ every cut. Each
choice that it makes is evaluated exactly, offered, excluded, and answered by the cut at that
choice, so that the master's bound rises until it proves that nothing below the threshold is left.
A solver that takes cuts inside one tree is asked once; any other one is asked again after each
answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.protocols import (
    Answer,
    Capability,
    LazyMaster,
    Master,
    MasterSolution,
    MasterSolver,
    MipStatus,
)
from mipselect.errors import SolverFailure
from mipselect.search.collectors import Collector
from mipselect.search.cuts import Cut, sparse_diagonal_cut
from mipselect.search.least_squares.additions import Additions, greedy_completion
from mipselect.search.least_squares.branch_and_bound import enumerate_additions, offer_additions
from mipselect.search.progress import Clock, TimeUp

MASTER_COLUMNS = 64
"""Larger subproblems are divided first: a master of few columns has strong cuts."""

ENUMERATED = 500
"""Evaluating so many supports takes less time than one solve of a master."""

PATIENCE = 30
"""Solutions of one master after which a proof within τ is accepted, or the master given up."""

TREE_PATIENCE = 10
"""A single tree visits choices that are no optima of a master: so many times more are allowed."""

CUTOFF_MARGIN = 1e-2
"""Units above the target at which a master may stop; more than a solver's tolerances take."""

RETRIES = 4
"""How often the margin is widened for a solver whose tolerances take more."""

LARGEST_RANGE = 1e6
"""Units between the lowest bound and the target: beyond it double precision is too coarse."""


Visit = Callable[[IntArray], tuple[float, Cut]]
"""Takes a choice of columns; offers it, and returns its value and its cut."""


class OuterApproximation:
    """Settles subproblems by cuts and a MIP solver.

    Parameters
    ----------
    solver : MasterSolver
    unit : float
        The objective's unit in the master, far below τ: a solver's tolerances are absolute.
    """

    def __init__(self, solver: MasterSolver, unit: float) -> None:
        self.name = solver.status.name
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
        collector : Collector
        clock : Clock
        """
        floor = max(cut.minimum(size) for cut in cuts)
        if floor >= collector.threshold:
            collector.settle(floor)
            return True
        unit = max(self._unit, (collector.threshold - floor) / LARGEST_RANGE)
        master = self._solver.master(len(cuts[0].coefficients), size)
        run = _MasterRun(self.name, master, visit, collector, clock, floor, unit)
        for cut in cuts:
            run.add(cut)
        if Capability.LAZY_CUTS in self._solver.status.capabilities:
            return run.in_one_tree()
        return run.by_repeated_solves()


class _MasterRun:
    """One master, whose objective is (R - floor) / unit, and the choices it has made."""

    def __init__(
        self,
        name: str,
        master: Master,
        visit: Visit,
        collector: Collector,
        clock: Clock,
        floor: float,
        unit: float,
    ) -> None:
        self._name, self._master, self._visit = name, master, visit
        self._collector, self._clock = collector, clock
        self._floor, self._unit = floor, unit
        self._visited: set[tuple[int, ...]] = set()
        self._cuts: list[Cut] = []
        self._margin, self._retries = CUTOFF_MARGIN, 0
        clock.masters += 1

    def add(self, cut: Cut) -> None:
        """Add a cut to the master."""
        self._master.add_cut(*self._scaled(cut))
        self._count(cut)

    def by_repeated_solves(self) -> bool:
        """Solve, answer the solution by a cut, and solve again."""
        while True:
            target = self._target(PATIENCE)
            self._clock.tick()
            solution = self._master.solve(
                cutoff=self._cutoff(target), time_limit=self._clock.remaining
            )
            if self._settled(solution, target):
                return True
            if solution.chosen is None:
                if not self._retry(solution, target):
                    return False
            elif len(self._visited) >= PATIENCE:
                return False
            else:
                self.add(self._answer(solution.chosen, self._value(solution.bound)))
                self._master.exclude(solution.chosen)

    def in_one_tree(self) -> bool:
        """Answer every choice inside the tree; another tree only if tolerances ask for it."""
        master = cast(LazyMaster, self._master)
        patience = PATIENCE * TREE_PATIENCE
        answers: list[tuple[IntArray, Cut]] = []

        def answer(chosen: IntArray, bound: float) -> Answer:
            self._clock.tick()
            cut = self._answer(chosen, self._value(bound))
            self._count(cut)
            answers.append((chosen, cut))
            cutoff = self._cutoff(self._target(patience))
            # Past its patience the tree may still end by the lower cutoff, but not visit more.
            return Answer(*self._scaled(cut), cutoff, stop=len(self._visited) > patience)

        while True:
            self._clock.tick()
            solution = master.solve_in_one_tree(
                answer,
                cutoff=self._cutoff(self._target(patience)),
                time_limit=self._clock.remaining,
            )
            target = self._target(patience)
            if self._settled(solution, target):
                return True
            if solution.status is MipStatus.STOPPED or not self._retry(solution, target):
                return False
            for chosen, cut in answers:
                master.add_cut(*self._scaled(cut))
                master.exclude(chosen)
            answers.clear()

    def _target(self, patience: int) -> float:
        """What a bound has to reach: the threshold, or within τ of it once patience is spent."""
        if len(self._visited) < patience:
            return self._collector.threshold
        return self._collector.target

    def _cutoff(self, target: float) -> float:
        return (target - self._floor) / self._unit + self._margin

    def _value(self, bound: float) -> float:
        return self._floor + bound * self._unit

    def _scaled(self, cut: Cut) -> tuple[float, FloatArray]:
        tight = cut.tightened(self._floor)
        return (tight.constant - self._floor) / self._unit, tight.coefficients / self._unit

    def _count(self, cut: Cut) -> None:
        self._cuts.append(cut)
        self._clock.cuts += 1

    def _settled(self, solution: MasterSolution, target: float) -> bool:
        """Whether the solution's bound proves that nothing below the target is left."""
        self._clock.iterations += 1
        self._clock.solver_nodes += solution.nodes
        if solution.status is MipStatus.TIME_LIMIT:
            raise TimeUp
        if solution.status is MipStatus.FAILED:
            raise self._failure(f"failed on a master: {solution.detail}")
        bound = self._value(solution.bound)
        if bound >= target:
            self._collector.settle(bound)
        return bound >= target

    def _retry(self, solution: MasterSolution, target: float) -> bool:
        """Widen the margin if the solver's tolerances took more than it; False to give up."""
        self._margin += 2.0 * (target - self._value(solution.bound)) / self._unit
        self._retries += 1
        return self._retries <= RETRIES and math.isfinite(self._margin)

    def _answer(self, chosen: IntArray, bound: float) -> Cut:
        """Evaluate and offer a choice, check the bound and all cuts against it, and cut there."""
        key = tuple(sorted(int(j) for j in chosen))
        size = self._master.cardinality
        if len(key) != size or key in self._visited:
            raise self._failure(
                f"returned {len(key)} columns where {size} were asked for, or a choice that was "
                "excluded"
            )
        self._visited.add(key)
        value, cut = self._visit(np.asarray(key))
        claimed = max([bound, *(float(cut.at(np.asarray(key))) for cut in self._cuts)])
        if claimed > value + CUTOFF_MARGIN * self._unit:
            raise self._failure(
                f"claims the bound {claimed:.9g} for a problem in which it found a support of "
                f"value {value:.9g}: its cuts or its bound are wrong"
            )
        return cut

    def _failure(self, what: str) -> SolverFailure:
        return SolverFailure(f"{self._name} {what}")
