"""The cutting-plane engine: a master of cuts, solved by any MIP back end.

The master minimises η over the choices z of m live features subject to η ≥ every cut. Each
choice that it makes is evaluated exactly, offered, excluded, and answered by the cut at that
choice, until the solver claims that nothing below the threshold is left. Solvers are exact up to
tolerances only, so the claim is then proven from the cuts (`cut_proof`): a choice that it missed is
answered like any other. A solver that takes cuts inside one tree is asked once; any other one is
asked again after each answer.
"""

from __future__ import annotations

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
from mipselect.search.cut_proof import CutProof, Verdict
from mipselect.search.cuts import Cut
from mipselect.search.progress import Run

CUTOFF_MARGIN = 1e-2
"""Units above the target at which a master may stop; more than most solvers' tolerances take."""

LARGEST_RANGE = 1e3
"""Units of the largest coefficient: solvers' tolerances are absolute, and beyond 1e4 GLPK's lose
solutions."""

NEGLIGIBLE = 1e-3
"""Units; smaller coefficients only make a master hard to solve, and lower its constant instead."""


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
    seconds : float
        A solver that needs more for one master, or never ends, has the subproblem taken from it;
        a single tree has `tree_patience` times as many.
    proof_nodes : int
        Beginnings of choices that a proof may extend before the subproblem is divided instead.
    """

    def __init__(
        self,
        solver: MasterSolver,
        unit: float,
        *,
        patience: int = 30,
        tree_patience: int = 10,
        seconds: float = 5.0,
        proof_nodes: int = 100_000,
    ) -> None:
        self.name = solver.status.name
        self.patience, self.tree_patience = patience, tree_patience
        self.seconds, self.proof_nodes = seconds, proof_nodes
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
        # No loss is negative; a weak cut alone would let the coefficients be of any size.
        floor = max(0.0, *(cut.minimum(size) for cut in cuts))
        if floor >= collector.threshold:
            collector.settle(floor)
            return True
        reach = max(cut.constant for cut in cuts) - floor
        unit = max(self._unit, (collector.threshold - floor) / LARGEST_RANGE, reach / LARGEST_RANGE)
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
                cutoff=self._cutoff(target),
                time_limit=min(self._run.deadline.remaining, self._loop.seconds),
            )
            if not self._ended(solution):
                return False
            chosen = solution.chosen
            if chosen is None or self._value(solution.bound) >= target:
                verdict = self._prove(target)
                if verdict.proven:
                    return True
                chosen = verdict.open
            if chosen is None or len(self._visited) >= self._loop.patience:
                return False
            self.add(self._answer(chosen))
            self._master.exclude(chosen)

    def in_one_tree(self) -> bool:
        """Answer every choice inside the tree; another tree only if it missed one."""
        master = cast(LazyMaster, self._master)
        patience = self._loop.patience * self._loop.tree_patience
        answers: list[tuple[IntArray, Cut]] = []

        def answer(chosen: IntArray, bound: float) -> Answer:
            self._run.tick()
            cut = self._answer(chosen)
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
                time_limit=min(
                    self._run.deadline.remaining, self._loop.seconds * self._loop.tree_patience
                ),
            )
            if not self._ended(solution):
                return False
            verdict = self._prove(self._target(patience))
            if verdict.proven or verdict.open is None or len(self._visited) >= patience:
                return verdict.proven
            answers.append((verdict.open, self._answer(verdict.open)))
            self._count(answers[-1][1])
            for chosen, cut in answers:
                master.add_cut(*self._scaled(cut))
                master.exclude(chosen)
            answers.clear()

    def _target(self, patience: int) -> float:
        """Return the goal of bounds: the threshold, or within τ of it after `patience` visits."""
        if len(self._visited) < patience:
            return self._collector.threshold
        return self._collector.target

    def _cutoff(self, target: float) -> float:
        return (target - self._floor) / self._unit + CUTOFF_MARGIN

    def _value(self, bound: float) -> float:
        return self._floor + bound * self._unit

    def _scaled(self, cut: Cut) -> tuple[float, FloatArray]:
        """The cut in units; what is left out lowers it, so that no choice is lost."""
        tight = cut.tightened(self._floor)
        coefficients = tight.coefficients / self._unit
        small = np.abs(coefficients) < NEGLIGIBLE
        left_out = float(np.sort(coefficients[small])[: self._master.cardinality].sum())
        constant = (tight.constant - self._floor) / self._unit + left_out
        return constant, np.where(small, 0.0, coefficients)

    def _count(self, cut: Cut) -> None:
        self._cuts.append(cut)
        self._run.statistics.cuts += 1

    def _ended(self, solution: MasterSolution) -> bool:
        """Count a solve; whether it came to its end."""
        self._run.statistics.iterations += 1
        self._run.statistics.solver_nodes += solution.nodes
        if solution.status is MipStatus.FAILED:
            raise self._failure(f"failed on a master: {solution.detail}")
        self._run.tick()
        return solution.status in (MipStatus.OPTIMAL, MipStatus.INFEASIBLE)

    def _prove(self, target: float) -> Verdict:
        """Prove that nothing below the target is left, and settle it."""
        proof = CutProof(self._cuts, self._master.cardinality, self._floor, self._visited)
        verdict = proof.decide(target, self._loop.proof_nodes, self._run.tick)
        if verdict.proven:
            self._collector.settle(target)
        return verdict

    def _answer(self, chosen: IntArray) -> Cut:
        """Evaluate and offer a choice, check all cuts against it, and cut there."""
        key = tuple(sorted(int(j) for j in chosen))
        size = self._master.cardinality
        if len(key) != size or key in self._visited:
            raise self._failure(
                f"returned {len(key)} columns where {size} were asked for, or a choice that was "
                "excluded"
            )
        self._visited.add(key)
        value, cut = self._visit(np.asarray(key))
        claimed = max(float(cut.at(np.asarray(key))) for cut in self._cuts)
        if claimed > value + CUTOFF_MARGIN * self._unit:
            raise SolverFailure(
                f"a cut claims the bound {claimed:.9g} for a support of value {value:.9g}: "
                "its cuts or its bound are wrong"
            )
        return cut

    def _failure(self, what: str) -> SolverFailure:
        return SolverFailure(f"{self._loop.name} {what}")
