"""Masters: subproblems that cuts and a MIP solver settle, with which the solver is not trusted.

A master minimises η over the choices z of m of L live features subject to η ≥ every cut. Each
choice that it makes is evaluated exactly, offered, excluded, and answered by the cut at that
choice, until the solver claims that nothing below the threshold is left. Solvers are exact up to
tolerances only, so the claim is then proven from the cuts (`mipselect.backends.cuts`): a choice
that it missed is answered like any other. The solver is asked again after each answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mipselect.arrays import IntArray
from mipselect.backends.cuts import CutProof, ModularBound, least_value, scaled
from mipselect.backends.protocols import MasterSolution, MipStatus, Solver
from mipselect.errors import SolverFailure
from mipselect.search.collectors import Collector
from mipselect.search.progress import Run
from mipselect.search.tree import AnyNode, Engine
from mipselect.search.tuning import TUNING, CutMasters

Visit = Callable[[IntArray], tuple[float, ModularBound]]
"""Takes a choice of columns; offers it, and returns its value and its cut."""


class OuterApproximation(Engine[AnyNode]):
    """Proof of bounds by cuts and a MIP solver; engines derive from it and make the cuts.

    The objective's unit in a master is far below τ: a solver's tolerances are absolute.
    """

    def __init__(self, solver: Solver, unit: float, limits: CutMasters = TUNING.masters) -> None:
        self.name, self.limits = solver.status.name, limits
        self._solver, self._unit = solver, unit

    def takes(self, sub: AnyNode) -> bool:
        """Tell whether a master may have its columns, and dividing takes more time than one."""
        return len(sub.live) <= self.limits.columns and sub.number > self.limits.enumerated

    def prove(
        self, cuts: list[ModularBound], size: int, visit: Visit, collector: Collector, run: Run
    ) -> bool:
        """Solve masters until they prove that nothing below the threshold is left.

        There is at least one cut; the choices are of `size` of its columns. False past all
        patience.
        """
        # No loss is negative; a weak cut alone would let the coefficients be of any size.
        floor = max(0.0, *(least_value(cut, size) for cut in cuts))
        if floor >= collector.threshold:
            collector.settle(floor)
            return True
        limits, visited = self.limits, set[tuple[int, ...]]()
        reach = max(-cut.constant for cut in cuts) - floor
        spread = max(collector.threshold - floor, reach)
        unit = max(self._unit, spread / limits.largest_range)
        master = self._solver.master(len(cuts[0].terms), size)

        def add(cut: ModularBound) -> None:
            run.cuts += 1
            master.add_cut(*scaled(cut, floor, unit, size, limits.negligible))

        def target() -> float:
            """Return the threshold, or what is within τ of it once patience has run out."""
            patient = len(visited) < limits.patience
            return collector.threshold if patient else collector.target

        with run.accounts.trying("masters") as account:
            run.masters += 1
            for cut in cuts:
                add(cut)
            while True:
                run.tick()
                cutoff = (target() - floor) / unit + limits.margin
                seconds = min(run.deadline.remaining, limits.seconds)
                solution = master.solve(cutoff=cutoff, time_limit=seconds)
                if not self._ended(solution, run):
                    return False
                goal, chosen = target(), solution.chosen
                if chosen is None or floor + solution.bound * unit >= goal:
                    proof = CutProof(cuts, size, floor, visited, limits.proof_nodes)
                    proven, chosen = proof.decide(goal, run.tick)
                    if proven:
                        collector.settle(goal)
                        account.successes += 1
                        return True
                if chosen is None or len(visited) >= limits.patience:
                    return False
                cuts = [*cuts, self._answer(chosen, size, cuts, visited, unit, visit)]
                add(cuts[-1])
                master.exclude(chosen)

    def _ended(self, solution: MasterSolution, run: Run) -> bool:
        """Count a solve, and tell whether it came to its end."""
        run.iterations += 1
        run.solver_nodes += solution.nodes
        if solution.status is MipStatus.FAILED:
            raise SolverFailure(f"{self.name} failed on a master: {solution.detail}")
        run.tick()
        return solution.status in (MipStatus.OPTIMAL, MipStatus.INFEASIBLE)

    def _answer(
        self,
        chosen: IntArray,
        size: int,
        cuts: list[ModularBound],
        visited: set[tuple[int, ...]],
        unit: float,
        visit: Visit,
    ) -> ModularBound:
        """Evaluate and offer a choice, check all cuts against it, and return its own."""
        key = tuple(sorted(int(j) for j in chosen))
        if len(key) != size or key in visited:
            raise SolverFailure(
                f"{self.name} returned {len(key)} columns where {size} were asked for, or a "
                "choice that was excluded"
            )
        visited.add(key)
        value, cut = visit(np.asarray(key))
        claimed = max(-float(known.at(np.asarray(key))) for known in cuts)
        if claimed > value + self.limits.margin * unit:
            raise SolverFailure(
                f"a cut claims the bound {claimed:.9g} for a support of value {value:.9g}: "
                "its cuts or its bound are wrong"
            )
        return cut
