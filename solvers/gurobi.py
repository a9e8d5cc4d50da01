"""Gurobi through gurobipy: masters to which rows are added.

gurobipy is imported when it is needed, so that this file says what to install where it is missing.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.backends import (
    MASTER_GAP,
    FloatArray,
    Master,
    MasterSolution,
    MipStatus,
    SizeLimit,
    SolverStatus,
    rounded,
)

FEASIBILITY = 1e-9
"""Tolerance on rows, on integrality and on reduced costs; the smallest that Gurobi takes."""

MASTER_PARAMETERS = {
    "OutputFlag": 0,
    "MIPGap": 0.0,
    "MIPGapAbs": MASTER_GAP,
    "FeasibilityTol": FEASIBILITY,
    "IntFeasTol": FEASIBILITY,
    "OptimalityTol": FEASIBILITY,
}

RESTRICTED = SizeLimit(
    columns=2000,
    rows=2000,
    remedy="free for academia, see https://www.gurobi.com/academia",
)
"""The licence that the wheel of gurobipy carries."""


class GurobiMaster(Master):
    """min η subject to Σ z = m, z binary, and the rows added so far."""

    def __init__(
        self,
        columns: int,
        cardinality: int,
        environment: Any,
        status: SolverStatus,
        parameters: dict[str, int],
    ) -> None:
        import gurobipy

        super().__init__(columns, cardinality, FEASIBILITY)
        self._gurobi, self._status, self._rows = gurobipy, status, 0
        self._grow(1)
        self._model = gurobipy.Model(env=environment)
        for name, value in {**MASTER_PARAMETERS, **parameters}.items():
            self._model.setParam(name, value)
        self._z = self._model.addMVar(columns, vtype="B")
        self._eta = self._model.addVar(lb=-math.inf, obj=1.0)
        self._model.addConstr(self._z.sum() == cardinality)

    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        """Add a row of one side or two; a range would cost a column."""
        total = coefficients[:-1] @ self._z + float(coefficients[-1]) * self._eta
        sides = [total >= least] * (least > -math.inf) + [total <= most] * (most < math.inf)
        self._grow(len(sides))
        for side in sides:
            self._model.addConstr(side)

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise η; the bound is Gurobi's."""
        model, codes = self._model, self._gurobi.GRB.Status
        self._eta.UB = cutoff
        model.setParam("TimeLimit", max(time_limit, 0.0))
        try:
            model.optimize()
        except self._gurobi.GurobiError as error:
            return MasterSolution(MipStatus.FAILED, None, -math.inf, 0, str(error))
        endings = {
            codes.OPTIMAL: (MipStatus.OPTIMAL, "optimal"),
            codes.INFEASIBLE: (MipStatus.INFEASIBLE, "infeasible"),
            # A cut bounds η from below.
            codes.INF_OR_UNBD: (MipStatus.INFEASIBLE, "infeasible"),
            codes.TIME_LIMIT: (MipStatus.TIME_LIMIT, "time limit"),
        }
        failed = (MipStatus.FAILED, f"status {model.Status}")
        status, detail = endings.get(model.Status, failed)
        chosen, bound = None, -math.inf
        if status is MipStatus.OPTIMAL:
            chosen, bound = rounded(np.asarray(self._z.X)), float(model.ObjBound)
        return MasterSolution(status, chosen, bound, int(model.NodeCount), detail)

    def _grow(self, rows: int) -> None:
        self._rows += rows
        self._status.check_size(self.columns + 1, self._rows)


@dataclass(frozen=True)
class GurobiSolver:
    """The back end."""

    threads: int | None = None
    seed: int = 0

    @property
    def status(self) -> SolverStatus:
        """State of gurobipy: whether it is installed and starts with the licence that it finds."""
        return _status()

    def master(self, columns: int, cardinality: int) -> GurobiMaster:
        """Make a new master without cuts."""
        parameters = {"Seed": self.seed, "Threads": self.threads or 0}
        return GurobiMaster(columns, cardinality, _environment(), self.status, parameters)


@cache
def _status() -> SolverStatus:
    if find_spec("gurobipy") is None:
        return SolverStatus(
            "gurobi",
            usable=False,
            reason="gurobipy is missing; install it with: pip install 'mipselect[gurobi]'",
        )
    import gurobipy

    try:
        restricted = "Restricted license" in _starting_log()
    except gurobipy.GurobiError as error:
        return SolverStatus(
            "gurobi",
            usable=False,
            reason=f"its licence does not let it start: {error}",
            version=version("gurobipy"),
        )
    return SolverStatus(
        "gurobi",
        usable=True,
        version=version("gurobipy"),
        limit=RESTRICTED if restricted else None,
    )


def _starting_log() -> str:
    """Return the message of Gurobi about its licence when it starts; it says so nowhere else."""
    import gurobipy

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "gurobi.log"
        environment = gurobipy.Env(empty=True)
        environment.setParam("LogToConsole", 0)
        environment.setParam("LogFile", str(log))
        environment.start()
        environment.dispose()
        return log.read_text(encoding="utf-8", errors="replace")


@cache
def _environment() -> Any:
    """Make one environment for all masters of the process: a licence is taken out once."""
    import gurobipy

    environment = gurobipy.Env(empty=True)
    environment.setParam("OutputFlag", 0)
    environment.start()
    return environment
