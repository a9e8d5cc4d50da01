"""The cutting-plane engine: a master of cuts, solved by any MIP back end.

The master minimises η over the choices z of m live features subject to η ≥ every cut. Each
choice that it makes is evaluated exactly, offered, excluded, and answered by the cut at that
choice, until the solver claims that nothing below the threshold is left. Solvers are exact up to
tolerances only, so the claim is then proven from the cuts (`cut_proof`): a choice that it missed is
answered like any other. A solver that takes cuts inside one tree is asked once; any other one is
asked again after each answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.protocols import (
    Answer,
    LazyMaster,
    Master,
    MasterSolution,
    MasterSolver,
    MipStatus,
)
from mipselect.errors import SolverFailure
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.cut_proof import CutProof
from mipselect.search.cuts import least_value, scaled
from mipselect.search.progress import Run
from mipselect.search.tuning import TUNING, CutMasters

Visit = Callable[[IntArray], tuple[float, ModularBound]]
"""Takes a choice of columns; offers it, and returns its value and its cut."""


class OuterApproximation:
    """Proof of bounds by cuts and a MIP solver; engines derive from it and make the cuts.

    The objective's unit in a master is far below τ: a solver's tolerances are absolute.
    """

    def __init__(
        self, solver: MasterSolver, unit: float, limits: CutMasters = TUNING.masters
    ) -> None:
        self.name, self.limits = solver.status.name, limits
        self._solver, self._unit = solver, unit

    def enumerates(self, columns: int, size: int) -> bool:
        """Tell whether evaluating all choices takes less time than a master."""
        return math.comb(columns, size) <= self.limits.enumerated

    def prove(
        self, cuts: list[ModularBound], size: int, visit: Visit, collector: Collector, run: Run
    ) -> bool:
        """Solve masters until they prove that nothing below the threshold is left.

        There is at least one cut; the choices are of `size` of its columns.
        """
        # No loss is negative; a weak cut alone would let the coefficients be of any size.
        floor = max(0.0, *(least_value(cut, size) for cut in cuts))
        if floor >= collector.threshold:
            collector.settle(floor)
            return True
        reach = max(-cut.constant for cut in cuts) - floor
        spread = max(collector.threshold - floor, reach)
        unit = max(self._unit, spread / self.limits.largest_range)
        master = self._solver.master(len(cuts[0].terms), size)
        one = _MasterRun(self, master, visit, collector, run, floor, unit)
        for cut in cuts:
            one.add(cut)
        with run.accounts.trying("masters") as account:
            proven = one.prove()
            account.successes += proven
        return proven


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
        self._name, self._limits = loop.name, loop.limits
        times = loop.limits.tree_patience if isinstance(master, LazyMaster) else 1
        self._patience, self._seconds = times * loop.limits.patience, times * loop.limits.seconds
        self._master, self._visit = master, visit
        self._collector, self._run = collector, run
        self._floor, self._unit = floor, unit
        self._visited: set[tuple[int, ...]] = set()
        self._cuts: list[ModularBound] = []
        self._answers: list[tuple[IntArray, ModularBound]] = []
        run.masters += 1

    def add(self, cut: ModularBound) -> None:
        """Add a cut to the master."""
        self._master.add_cut(*self._scaled(cut))
        self._count(cut)

    def prove(self) -> bool:
        """Solve, answer what was missed by a cut, and solve again; False past all patience."""
        while True:
            self._run.tick()
            solution = self._solved()
            if not self._ended(solution):
                return False
            target, chosen = self._target, solution.chosen
            if chosen is None or self._floor + solution.bound * self._unit >= target:
                verdict = self._proof().decide(target, self._run.tick)
                if verdict.proven:
                    self._collector.settle(target)
                    return True
                chosen = verdict.open
            if chosen is None or len(self._visited) >= self._patience:
                return False
            self._answer(chosen)
            for visited, cut in self._answers:
                self._master.add_cut(*self._scaled(cut))
                self._master.exclude(visited)
            self._answers.clear()

    def _solved(self) -> MasterSolution:
        cutoff = self._cutoff(self._target)
        time_limit = min(self._run.deadline.remaining, self._seconds)
        if isinstance(self._master, LazyMaster):
            return self._master.solve_in_one_tree(
                self._inside_the_tree, cutoff=cutoff, time_limit=time_limit
            )
        return self._master.solve(cutoff=cutoff, time_limit=time_limit)

    def _inside_the_tree(self, chosen: IntArray, bound: float) -> Answer:
        """Answer a choice; its cut is in the tree, and in the master only once that has ended."""
        self._run.tick()
        cut = self._scaled(self._answer(chosen))
        # Past its patience the tree may still end by the lower cutoff, but not visit more.
        stop = len(self._visited) > self._patience
        return Answer(*cut, self._cutoff(self._target), stop=stop)

    @property
    def _target(self) -> float:
        """The goal of bounds: the threshold, or within τ of it once patience has run out."""
        if len(self._visited) < self._patience:
            return self._collector.threshold
        return self._collector.target

    def _cutoff(self, target: float) -> float:
        return (target - self._floor) / self._unit + self._limits.margin

    def _scaled(self, cut: ModularBound) -> tuple[float, FloatArray]:
        size, negligible = self._master.cardinality, self._limits.negligible
        return scaled(cut, self._floor, self._unit, size, negligible)

    def _count(self, cut: ModularBound) -> None:
        self._cuts.append(cut)
        self._run.cuts += 1

    def _ended(self, solution: MasterSolution) -> bool:
        """Count a solve, and tell whether it came to its end."""
        self._run.iterations += 1
        self._run.solver_nodes += solution.nodes
        if solution.status is MipStatus.FAILED:
            raise self._failure(f"failed on a master: {solution.detail}")
        self._run.tick()
        return solution.status in (MipStatus.OPTIMAL, MipStatus.INFEASIBLE)

    def _proof(self) -> CutProof:
        size = self._master.cardinality
        return CutProof(self._cuts, size, self._floor, self._visited, self._limits)

    def _answer(self, chosen: IntArray) -> ModularBound:
        """Evaluate and offer a choice, check all cuts against it, and return the cut there."""
        key = tuple(sorted(int(j) for j in chosen))
        size = self._master.cardinality
        if len(key) != size or key in self._visited:
            raise self._failure(
                f"returned {len(key)} columns where {size} were asked for, or a choice that was "
                "excluded"
            )
        self._visited.add(key)
        value, cut = self._visit(np.asarray(key))
        claimed = max(-float(cut.at(np.asarray(key))) for cut in self._cuts)
        if claimed > value + self._limits.margin * self._unit:
            raise SolverFailure(
                f"a cut claims the bound {claimed:.9g} for a support of value {value:.9g}: "
                "its cuts or its bound are wrong"
            )
        self._count(cut)
        self._answers.append((chosen, cut))
        return cut

    def _failure(self, what: str) -> SolverFailure:
        return SolverFailure(f"{self._name} {what}")
