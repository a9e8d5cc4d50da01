"""Gurobi through gurobipy: masters with cuts inside one tree.

gurobipy is imported when it is needed, so that this file says what to install where it is missing.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.backends import (
    MASTER_GAP,
    Answer,
    Capability,
    FloatArray,
    LazyMaster,
    MasterSolution,
    MipStatus,
    SizeLimit,
    SolverStatus,
    Visit,
    rounded,
)

FEASIBILITY = 1e-9
"""Tolerance on rows, on integrality and on reduced costs; the smallest that Gurobi takes."""

MASTER_PARAMETERS = {
    "OutputFlag": 0,
    "LazyConstraints": 1,
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

CAPABILITIES = frozenset(Capability)


class GurobiMaster(LazyMaster):
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

    def solve_in_one_tree(
        self, visit: Visit, *, cutoff: float, time_limit: float
    ) -> MasterSolution:
        """Answer every choice by a cut, its exclusion and the latest cutoff, as lazy rows."""
        answers: dict[tuple[int, ...], Answer] = {}
        failures: list[BaseException] = []
        latest = cutoff
        callback = self._gurobi.GRB.Callback

        def answer(model: Any, where: int) -> None:
            nonlocal latest
            if where != callback.MIPSOL or failures:
                return
            chosen = rounded(model.cbGetSolution(self._z))
            key = tuple(chosen.tolist())
            try:
                if key not in answers:
                    answers[key] = visit(chosen, model.cbGet(callback.MIPSOL_OBJBND))
            except BaseException as error:  # noqa: BLE001 - raised again after the solve
                failures.append(error)
                model.terminate()
                return
            reply = answers[key]
            latest = min(latest, reply.cutoff)
            model.cbLazy(self._eta - reply.coefficients @ self._z >= reply.constant)
            model.cbLazy(self._z[chosen.tolist()].sum() <= len(chosen) - 1)
            model.cbLazy(self._eta <= latest)
            if reply.stop:
                model.terminate()

        solution = self._run(cutoff, time_limit, answer)
        if failures:
            raise failures[0]
        claimed = latest if solution.status is MipStatus.INFEASIBLE else solution.bound
        bound = min(claimed, latest) - self.allowance
        return replace(solution, chosen=None, bound=bound)

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise η; the bound is Gurobi's."""
        return self._run(cutoff, time_limit, None)

    def _grow(self, rows: int) -> None:
        self._rows += rows
        self._status.check_size(self.columns + 1, self._rows)

    def _run(self, cutoff: float, time_limit: float, callback: Any) -> MasterSolution:
        model, codes = self._model, self._gurobi.GRB.Status
        self._eta.UB = cutoff
        model.setParam("TimeLimit", max(time_limit, 0.0))
        try:
            model.optimize(callback)
        except self._gurobi.GurobiError as error:
            return MasterSolution(MipStatus.FAILED, None, -math.inf, 0, str(error))
        endings = {
            codes.OPTIMAL: (MipStatus.OPTIMAL, "optimal"),
            codes.INFEASIBLE: (MipStatus.INFEASIBLE, "infeasible"),
            codes.TIME_LIMIT: (MipStatus.TIME_LIMIT, "time limit"),
            codes.INTERRUPTED: (MipStatus.STOPPED, "stopped"),
        }
        failed = (MipStatus.FAILED, f"status {model.Status}")
        status, detail = endings.get(model.Status, failed)
        chosen, bound = None, -math.inf
        if status is MipStatus.OPTIMAL:
            chosen, bound = rounded(np.asarray(self._z.X)), float(model.ObjBound)
        return MasterSolution(status, chosen, bound, int(model.NodeCount), detail)


@dataclass(frozen=True)
class GurobiSolver:
    """The back end; its capabilities hold for every licence, sizes depend on it."""

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
            capabilities=CAPABILITIES,
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
            capabilities=CAPABILITIES,
        )
    return SolverStatus(
        "gurobi",
        usable=True,
        version=version("gurobipy"),
        capabilities=CAPABILITIES,
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
