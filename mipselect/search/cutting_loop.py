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
from mipselect.search.cuts import Cut
from mipselect.search.progress import Run, TimeUp

CUTOFF_MARGIN = 1e-2
"""Units above the target at which a master may stop; more than a solver's tolerances take."""

LARGEST_RANGE = 1e6
"""Units between the lowest bound and the target: beyond it double precision is too coarse."""


Visit = Callable[[IntArray], tuple[float, Cut]]
"""Takes a choice of columns; offers it, and returns its value and its cut."""


class OuterApproximation:
    """Proves bounds by cuts and a MIP solver; the same loop for every loss.

    Parameters
    ----------
    solver : MasterSolver
    unit : float
        The objective's unit in the master, far below τ: a solver's tolerances are absolute.
    patience : int
        Solutions of one master after which a proof within τ is accepted, or the master given up.
    tree_patience : int
        A single tree visits choices that are no optima of a master: so many times more are
        allowed.
    retries : int
        How often the margin is widened for a solver whose tolerances take more.
    """

    def __init__(
        self,
        solver: MasterSolver,
        unit: float,
        *,
        patience: int = 30,
        tree_patience: int = 10,
        retries: int = 4,
    ) -> None:
        self.name = solver.status.name
        self.patience, self.tree_patience, self.retries = patience, tree_patience, retries
        self._solver = solver
        self._unit = unit

    def prove(
        self, cuts: list[Cut], size: int, visit: Visit, collector: Collector, run: Run
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
        run : Run
        """
        floor = max(cut.minimum(size) for cut in cuts)
        if floor >= collector.threshold:
            collector.settle(floor)
            return True
        unit = max(self._unit, (collector.threshold - floor) / LARGEST_RANGE)
        master = self._solver.master(len(cuts[0].coefficients), size)
        one = _MasterRun(self, master, visit, collector, run, floor, unit)
        for cut in cuts:
            one.add(cut)
        if Capability.LAZY_CUTS in self._solver.status.capabilities:
            return one.in_one_tree()
        return one.by_repeated_solves()


class _MasterRun:
    """One master, whose objective is (R - floor) / unit, and the choices it has made."""

    def __init__(
        self,
        loop: OuterApproximation,
        master: Master,
        visit: Visit,
        collector: Collector,
        run: Run,
        floor: float,
        unit: float,
    ) -> None:
        self._loop, self._master, self._visit = loop, master, visit
        self._collector, self._run = collector, run
        self._floor, self._unit = floor, unit
        self._visited: set[tuple[int, ...]] = set()
        self._cuts: list[Cut] = []
        self._margin, self._retries = CUTOFF_MARGIN, 0
        run.statistics.masters += 1

    def add(self, cut: Cut) -> None:
        """Add a cut to the master."""
        self._master.add_cut(*self._scaled(cut))
        self._count(cut)

    def by_repeated_solves(self) -> bool:
        """Solve, answer the solution by a cut, and solve again."""
        while True:
            target = self._target(self._loop.patience)
            self._run.tick()
            solution = self._master.solve(
                cutoff=self._cutoff(target), time_limit=self._run.deadline.remaining
            )
            if self._settled(solution, target):
                return True
            if solution.chosen is None:
                if not self._retry(solution, target):
                    return False
            elif len(self._visited) >= self._loop.patience:
                return False
            else:
                self.add(self._answer(solution.chosen, self._value(solution.bound)))
                self._master.exclude(solution.chosen)

    def in_one_tree(self) -> bool:
        """Answer every choice inside the tree; another tree only if tolerances ask for it."""
        master = cast(LazyMaster, self._master)
        patience = self._loop.patience * self._loop.tree_patience
        answers: list[tuple[IntArray, Cut]] = []

        def answer(chosen: IntArray, bound: float) -> Answer:
            self._run.tick()
            cut = self._answer(chosen, self._value(bound))
            self._count(cut)
            answers.append((chosen, cut))
            cutoff = self._cutoff(self._target(patience))
            # Past its patience the tree may still end by the lower cutoff, but not visit more.
            return Answer(*self._scaled(cut), cutoff, stop=len(self._visited) > patience)

        while True:
            self._run.tick()
            solution = master.solve_in_one_tree(
                answer,
                cutoff=self._cutoff(self._target(patience)),
                time_limit=self._run.deadline.remaining,
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
        self._run.statistics.cuts += 1

    def _settled(self, solution: MasterSolution, target: float) -> bool:
        """Whether the solution's bound proves that nothing below the target is left."""
        self._run.statistics.iterations += 1
        self._run.statistics.solver_nodes += solution.nodes
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
        return self._retries <= self._loop.retries and math.isfinite(self._margin)

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
        return SolverFailure(f"{self._loop.name} {what}")
