"""SCIP through PySCIPOpt: masters to which rows are added, and whole models from Pyomo.

PySCIPOpt is imported when it is needed, so that this file says what to install where it is missing.
SCIP solves a model on one thread, whatever number is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from mipselect.backends import (
    MASTER_GAP,
    Capability,
    FloatArray,
    Master,
    MasterSolution,
    MipStatus,
    SolverStatus,
    WholeSolution,
    rounded,
)

from .pyomo_models import solve_in_memory

FEASIBILITY = 1e-7
"""Tolerance on rows, on integrality and on reduced costs."""

MASTER_PARAMETERS = {
    "numerics/epsilon": 1e-9,
    "numerics/sumepsilon": 1e-8,
    "numerics/feastol": FEASIBILITY,
    "numerics/dualfeastol": FEASIBILITY,
    "limits/gap": 0.0,
    "limits/absgap": MASTER_GAP,
}

CAPABILITIES = frozenset({Capability.MILP, Capability.MIQP, Capability.MISOCP})

FAILURES = (Exception,)
"""PySCIPOpt raises nothing more specific."""

ENDINGS = {
    "optimal": MipStatus.OPTIMAL,
    "gaplimit": MipStatus.OPTIMAL,
    "infeasible": MipStatus.INFEASIBLE,
    "timelimit": MipStatus.TIME_LIMIT,
}


class ScipMaster(Master):
    """min η subject to Σ z = m, z binary, and the rows added so far."""

    def __init__(self, columns: int, cardinality: int, seed: int) -> None:
        from pyscipopt import SCIP_PARAMSETTING, Model, quicksum

        super().__init__(columns, cardinality, FEASIBILITY)
        self._sum, self._model = quicksum, Model()
        self._model.hideOutput()
        for name, value in MASTER_PARAMETERS.items():
            self._model.setParam(name, value)
        # A master has few columns and is solved often: these take longer than they save.
        self._model.setHeuristics(SCIP_PARAMSETTING.OFF)
        self._model.setSeparating(SCIP_PARAMSETTING.OFF)
        self._model.setParam("randomization/randomseedshift", seed)
        self._z = [self._model.addVar(vtype="B") for _ in range(columns)]
        self._eta = self._model.addVar(lb=None, ub=None)
        self._model.setObjective(self._eta)
        self.count(np.arange(columns), cardinality, cardinality)

    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        """Add a row of one or two sides."""
        variables = [*self._z, self._eta]
        total = self._sum(
            float(coefficients[j]) * variables[j] for j in np.flatnonzero(coefficients)
        )
        if math.isinf(most):
            self._model.addCons(total >= least)
        else:
            self._model.addCons((total >= least) <= most)

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise η; the bound is SCIP's dual bound."""
        model = self._model
        model.chgVarUb(self._eta, min(cutoff, model.infinity()))
        model.setParam("limits/time", min(max(time_limit, 0.0), 1e20))
        try:
            model.optimize()
        except FAILURES as error:
            return MasterSolution(MipStatus.FAILED, None, -math.inf, 0, str(error))
        ended = ENDINGS.get(model.getStatus(), MipStatus.FAILED)
        nodes, detail = int(model.getNTotalNodes()), str(model.getStatus())
        chosen, bound = None, -math.inf
        if ended is MipStatus.OPTIMAL:
            chosen = rounded(np.array([model.getVal(z) for z in self._z]))
            bound = model.getDualbound()
        # Rows can only be added to the original problem.
        model.freeTransform()
        return MasterSolution(ended, chosen, bound, nodes, detail)


@dataclass(frozen=True)
class ScipSolver:
    """The back end."""

    threads: int | None = None
    seed: int = 0

    @property
    def status(self) -> SolverStatus:
        """State of PySCIPOpt: whether it is installed."""
        return _status()

    def master(self, columns: int, cardinality: int) -> ScipMaster:
        """Make a new master without cuts."""
        return ScipMaster(columns, cardinality, self.seed)

    def solve(self, model: Any, *, time_limit: float, gap: float) -> WholeSolution:
        """Minimise a Pyomo model."""
        return solve_in_memory(
            interruptible_scip(),
            model,
            time_limit=time_limit,
            gap=gap,
            threads=None,
            nodes="NNodes",
            failures=FAILURES,
            options={
                "randomization/randomseedshift": self.seed,
                "numerics/feastol": 1e-8,
                "display/verblevel": 0,
            },
        )


class WithoutLock:
    """A SCIP model that lets other threads run while it is solved.

    What its libraries print goes into a pipe, which a thread of Pyomo empties. With the lock of the
    interpreter held nobody does, and once the pipe is full SCIP waits for ever.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def optimize(self) -> None:
        """Solve the model."""
        self._model.optimizeNogil()


def interruptible_scip() -> Any:
    """Return Pyomo's interface to SCIP, which solves `WithoutLock`."""
    from pyomo.contrib.solver.solvers.scip.scip_direct import ScipDirect

    class ScipWithoutLock(ScipDirect):  # type: ignore[misc]
        def _create_solver_model(self, model: Any, config: Any) -> tuple[Any, Any, bool]:
            made, loader, has_objective = super()._create_solver_model(model, config)
            return WithoutLock(made), loader, has_objective

    return ScipWithoutLock()


@cache
def _status() -> SolverStatus:
    if find_spec("pyscipopt") is None:
        return SolverStatus(
            "scip",
            usable=False,
            reason="PySCIPOpt is missing; install it with: pip install 'mipselect[scip]'",
            capabilities=CAPABILITIES,
        )
    return SolverStatus(
        "scip", usable=True, version=version("pyscipopt"), capabilities=CAPABILITIES
    )
