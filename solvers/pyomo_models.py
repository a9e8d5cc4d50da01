"""Whole models in Pyomo, by its interfaces to solvers that take them from memory.

Pyomo is imported when it is needed, for that takes longer than most searches.
"""

from __future__ import annotations

import math
from typing import Any

from mipselect.backends import MipStatus, WholeSolution

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
