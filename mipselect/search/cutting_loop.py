"""The cutting-plane engine: a master of cuts, solved by any MIP back end.

The master minimises η over the choices z of m live features subject to η ≥ every cut. Each
choice that it makes is evaluated exactly, offered, excluded, and answered by the cut at that
choice, until the solver claims that nothing below the threshold is left. Solvers are exact up to
tolerances only, so the claim is then proven from the cuts (`CutProof`): a choice that it missed is
answered like any other. The solver is asked again after each answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.protocols import (
    Master,
    MasterSolution,
    MipStatus,
    Solver,
)
from mipselect.errors import SolverFailure
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.cuts import CutProof, least_value, scaled
from mipselect.search.neighbourhood import Engine, Sub
from mipselect.search.progress import Run
from mipselect.search.tuning import TUNING, CutMasters

Visit = Callable[[IntArray], tuple[float, ModularBound]]
"""Takes a choice of columns; offers it, and returns its value and its cut."""


class OuterApproximation(Engine[Sub]):
    """Proof of bounds by cuts and a MIP solver; engines derive from it and make the cuts.

    The objective's unit in a master is far below τ: a solver's tolerances are absolute.
    """

    def __init__(self, solver: Solver, unit: float, limits: CutMasters = TUNING.masters) -> None:
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
        with run.accounts.trying("masters") as account:
            one = _MasterRun(self, master, visit, collector, run, floor, unit)
            proven = one.prove(cuts)
            account.successes += proven
        return proven


@dataclass(eq=False)
class _MasterRun:
    """One master, whose objective is (R - floor) / unit, and the choices it has made."""

    loop: OuterApproximation[Any]
    master: Master
    visit: Visit
    collector: Collector
    run: Run
    floor: float
    unit: float
    cuts: list[ModularBound] = field(default_factory=list)
    visited: set[tuple[int, ...]] = field(default_factory=set)

    def prove(self, cuts: list[ModularBound]) -> bool:
        """Solve, answer what was missed by a cut, and solve again; False past all patience."""
        self.run.masters += 1
        for cut in cuts:
            self.master.add_cut(*self._counted(cut))
        while True:
            self.run.tick()
            time_limit = min(self.run.deadline.remaining, self.loop.limits.seconds)
            cutoff = self._cutoff(self._target)
            solution = self.master.solve(cutoff=cutoff, time_limit=time_limit)
            if not self._ended(solution):
                return False
            target, chosen = self._target, solution.chosen
            if chosen is None or self.floor + solution.bound * self.unit >= target:
                proof = CutProof(
                    self.cuts, self.master.cardinality, self.floor, self.visited, self.loop.limits
                )
                verdict = proof.decide(target, self.run.tick)
                if verdict.proven:
                    self.collector.settle(target)
                    return True
                chosen = verdict.open
            if chosen is None or len(self.visited) >= self.loop.limits.patience:
                return False
            self.master.add_cut(*self._answer(chosen))
            self.master.exclude(chosen)

    @property
    def _target(self) -> float:
        """The goal of bounds: the threshold, or within τ of it once patience has run out."""
        if len(self.visited) < self.loop.limits.patience:
            return self.collector.threshold
        return self.collector.target

    def _cutoff(self, target: float) -> float:
        return (target - self.floor) / self.unit + self.loop.limits.margin

    def _counted(self, cut: ModularBound) -> tuple[float, FloatArray]:
        """Count a cut, and return it scaled."""
        self.cuts.append(cut)
        self.run.cuts += 1
        size, negligible = self.master.cardinality, self.loop.limits.negligible
        return scaled(cut, self.floor, self.unit, size, negligible)

    def _ended(self, solution: MasterSolution) -> bool:
        """Count a solve, and tell whether it came to its end."""
        self.run.iterations += 1
        self.run.solver_nodes += solution.nodes
        if solution.status is MipStatus.FAILED:
            raise SolverFailure(f"{self.loop.name} failed on a master: {solution.detail}")
        self.run.tick()
        return solution.status in (MipStatus.OPTIMAL, MipStatus.INFEASIBLE)

    def _answer(self, chosen: IntArray) -> tuple[float, FloatArray]:
        """Evaluate and offer a choice, check all cuts against it, and return its own, scaled."""
        key = tuple(sorted(int(j) for j in chosen))
        size = self.master.cardinality
        if len(key) != size or key in self.visited:
            raise SolverFailure(
                f"{self.loop.name} returned {len(key)} columns where {size} were asked for, or a "
                "choice that was excluded"
            )
        self.visited.add(key)
        value, cut = self.visit(np.asarray(key))
        claimed = max(-float(known.at(np.asarray(key))) for known in self.cuts)
        if claimed > value + self.loop.limits.margin * self.unit:
            raise SolverFailure(
                f"a cut claims the bound {claimed:.9g} for a support of value {value:.9g}: "
                "its cuts or its bound are wrong"
            )
        return self._counted(cut)
