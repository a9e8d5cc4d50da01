"""SCIP through PySCIPOpt: masters to which rows are added.

PySCIPOpt is imported when it is needed, so that this file says what to install where it is missing.
SCIP solves a model on one thread, whatever number is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np

from mipselect.backends import (
    MASTER_GAP,
    FloatArray,
    Master,
    MasterSolution,
    MipStatus,
    SolverStatus,
    rounded,
)

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


@cache
def _status() -> SolverStatus:
    if find_spec("pyscipopt") is None:
        return SolverStatus(
            "scip",
            usable=False,
            reason="PySCIPOpt is missing; install it with: pip install 'mipselect[scip]'",
        )
    return SolverStatus("scip", usable=True, version=version("pyscipopt"))
