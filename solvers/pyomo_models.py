"""Pyomo models in front of any solver that Pyomo knows: whole models, and masters.

Pyomo is imported when it is needed, for that takes longer than most searches.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends import (
    Capability,
    Master,
    MasterSolution,
    MipStatus,
    SolverStatus,
    WholeSolution,
    rounded,
)

SMALLEST_LIMIT = 1e-3
"""Seconds; Pyomo takes no limit of zero."""


def solve_in_memory(
    interface: Any,
    model: Any,
    *,
    time_limit: float,
    gap: float,
    threads: int | None,
    options: dict[str, Any],
    nodes: str,
    failures: tuple[type[Exception], ...],
) -> WholeSolution:
    """Solve with one of Pyomo's direct interfaces and load the best solution, if there is one.

    `nodes` is what the interface calls the number of nodes, `failures` what the solver raises.
    """
    from pyomo.contrib.solver.common.results import TerminationCondition

    try:
        result = interface.solve(
            model,
            time_limit=None if math.isinf(time_limit) else max(time_limit, SMALLEST_LIMIT),
            threads=threads,
            rel_gap=0.0,
            abs_gap=gap,
            solver_options=options,
            load_solutions=False,
            raise_exception_on_nonoptimal_result=False,
        )
    except failures as error:
        return WholeSolution(MipStatus.FAILED, False, -math.inf, 0, str(error))
    found = result.incumbent_objective is not None
    if found:
        result.solution_loader.load_solution()
    bound = result.objective_bound
    ended = {
        TerminationCondition.convergenceCriteriaSatisfied: MipStatus.OPTIMAL,
        TerminationCondition.provenInfeasible: MipStatus.INFEASIBLE,
        TerminationCondition.maxTimeLimit: MipStatus.TIME_LIMIT,
    }.get(result.termination_condition, MipStatus.FAILED)
    return WholeSolution(
        ended,
        found,
        -math.inf if bound is None else float(bound),
        int(result.extra_info[nodes]),
        str(result.termination_condition.name),
    )


def solve_by_executable(
    name: str, model: Any, *, time_limit: float, options: dict[str, Any]
) -> WholeSolution:
    """Write the model to a file, run the executable on it and load the solution, if there is one.

    Parameters
    ----------
    name : str
        Pyomo's name of the solver.
    model : ConcreteModel
        Linear.
    time_limit : float
        Seconds; executables count whole ones.
    options : dict
        The executable's own options.
    """
    import pyomo.environ as pyo
    from pyomo.common.errors import ApplicationError
    from pyomo.opt import TerminationCondition

    limit = None if math.isinf(time_limit) else max(1, math.ceil(time_limit))
    try:
        result: Any = pyo.SolverFactory(name).solve(
            model, load_solutions=False, timelimit=limit, options=options
        )
    except (ApplicationError, OSError, RuntimeError, ValueError) as error:
        return WholeSolution(MipStatus.FAILED, False, -math.inf, 0, str(error))
    condition = result.solver.termination_condition
    ended = {
        TerminationCondition.optimal: MipStatus.OPTIMAL,
        TerminationCondition.infeasible: MipStatus.INFEASIBLE,
        TerminationCondition.maxTimeLimit: MipStatus.TIME_LIMIT,
    }.get(condition, MipStatus.FAILED)
    if condition == TerminationCondition.feasible and limit is not None:
        # glpsol says no more than this when its time is up.
        ended = MipStatus.TIME_LIMIT
    if ended is MipStatus.OPTIMAL:
        model.solutions.load_from(result)
        bound = float(result.problem.lower_bound)
    else:
        bound = -math.inf
    nodes = result.solver.statistics.branch_and_bound.number_of_bounded_subproblems
    return WholeSolution(
        ended,
        ended is MipStatus.OPTIMAL,
        bound,
        nodes if isinstance(nodes, int) else 0,
        str(condition),
    )


def executable_status(name: str, executable: str, package: str) -> SolverStatus:
    """Whether the executable is on the path; its version is not asked for, that would run it."""
    missing = shutil.which(executable) is None
    return SolverStatus(
        name,
        usable=not missing,
        reason=f"the executable {executable!r} is not on the path; on Debian or Ubuntu install it "
        f"with: apt-get install {package}"
        if missing
        else "",
        capabilities=frozenset({Capability.MILP}),
    )


class PyomoMaster(Master):
    """A master as a Pyomo model, written to a file and solved from scratch every time.

    Parameters
    ----------
    columns, cardinality : int
    solve : callable
        Called as ``solve(model, time_limit)``; loads the solution into the model.
    tolerance : float
        By how much a row or an integral variable may be off.
    """

    def __init__(
        self,
        columns: int,
        cardinality: int,
        solve: Callable[[Any, float], WholeSolution],
        tolerance: float,
    ) -> None:
        import pyomo.environ as pyo

        self.columns, self.cardinality = columns, cardinality
        self._solve, self._tolerance = solve, tolerance
        self._sum = pyo.quicksum
        model: Any = pyo.ConcreteModel()
        model.z = pyo.Var(range(columns), domain=pyo.Binary)
        model.eta = pyo.Var()
        model.objective = pyo.Objective(expr=model.eta)
        model.rows = pyo.ConstraintList()
        model.rows.add(self._sum(model.z.values()) == cardinality)
        self._model = model
        self._reach = 0.0

    def add_cut(self, constant: float, coefficients: FloatArray) -> None:
        """η - coefficients · z ≥ constant."""
        z = self._model.z
        terms = self._sum(float(a) * z[j] for j, a in enumerate(coefficients))
        self._model.rows.add(self._model.eta - terms >= constant)
        self._reach = max(self._reach, float(np.sum(np.abs(coefficients))))

    def count(self, columns: IntArray, least: int, most: int) -> None:
        """least ≤ Σ_{j in columns} z_j ≤ most."""
        total = self._sum(self._model.z[int(j)] for j in columns)
        self._model.rows.add((least, total, most))

    def solve(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise η; the bound is the solver's, less what its tolerances may be worth."""
        model = self._model
        model.eta.setub(None if math.isinf(cutoff) else cutoff)
        answer = self._solve(model, time_limit)
        slack = self._tolerance * (1.0 + self._reach)
        chosen, bound = None, -math.inf
        if answer.status is MipStatus.INFEASIBLE:
            bound = cutoff - slack
        elif answer.status is MipStatus.OPTIMAL:
            chosen = rounded(np.array([z.value for z in model.z.values()]))
            # Executables print nine digits or more.
            bound = answer.bound - slack - 1e-8 * abs(answer.bound)
        return MasterSolution(answer.status, chosen, bound, answer.nodes, answer.detail)
