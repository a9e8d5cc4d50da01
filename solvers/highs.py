"""HiGHS through highspy: one model per master, to which rows are added."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import highspy
import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends import (
    Capability,
    Master,
    MasterSolution,
    MipStatus,
    SolverStatus,
    rounded,
)

FEASIBILITY = 1e-9
"""Tolerance on rows and on integrality; HiGHS' default of 1e-6 is too loose for proofs."""

HEURISTICS = ("feasibility_jump", "rens", "rins", "root_reduced_cost")
"""A master has few columns and is solved often: these take longer than they save."""


class HighsMaster(Master):
    """min η subject to Σ z = m, z binary, and the rows added so far.

    Column j < L is z_j and column L is η.
    """

    def __init__(self, columns: int, cardinality: int, threads: int | None, seed: int) -> None:
        self.columns, self.cardinality = columns, cardinality
        model: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        model.setOptionValue("output_flag", False)
        if threads is not None:
            # HiGHS' threads are shared by all models of a process and must be stopped to change.
            model.resetGlobalScheduler(True)
            model.setOptionValue("threads", threads)
        for heuristic in HEURISTICS:
            model.setOptionValue(f"mip_heuristic_run_{heuristic}", False)
        model.setOptionValue("random_seed", seed)
        model.setOptionValue("mip_rel_gap", 0.0)
        model.setOptionValue("mip_abs_gap", 1e-6)
        model.setOptionValue("mip_feasibility_tolerance", FEASIBILITY)
        model.setOptionValue("primal_feasibility_tolerance", FEASIBILITY)
        model.setOptionValue("dual_feasibility_tolerance", FEASIBILITY)
        for _ in range(columns):
            model.addVar(0.0, 1.0)
        model.addVar(-highspy.kHighsInf, highspy.kHighsInf)
        model.changeColCost(columns, 1.0)
        for j in range(columns):
            model.changeColIntegrality(j, highspy.HighsVarType.kInteger)
        model.addRow(
            float(cardinality),
            float(cardinality),
            columns,
            np.arange(columns, dtype=np.int32),
            np.ones(columns),
        )
        self._model = model
        self._reach = 0.0

    def add_cut(self, constant: float, coefficients: FloatArray) -> None:
        """η - coefficients · z ≥ constant."""
        values = np.append(-coefficients, 1.0)
        index = np.arange(self.columns + 1, dtype=np.int32)
        self._model.addRow(constant, highspy.kHighsInf, len(index), index, values)
        self._reach = max(self._reach, float(np.sum(np.abs(coefficients))))

    def count(self, columns: IntArray, least: int, most: int) -> None:
        """least ≤ Σ_{j in columns} z_j ≤ most."""
        index = np.asarray(columns, dtype=np.int32)
        self._model.addRow(float(least), float(most), len(index), index, np.ones(len(index)))

    def solve(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise η; the bound is HiGHS' dual bound, less what its tolerances may be worth."""
        model = self._model
        model.changeColBounds(self.columns, -highspy.kHighsInf, min(cutoff, highspy.kHighsInf))
        # HiGHS counts its run time over the life of the model.
        limit = highspy.kHighsInf if math.isinf(time_limit) else model.getRunTime() + time_limit
        model.setOptionValue("time_limit", limit)
        model.run()
        status = model.getModelStatus()
        info = model.getInfo()
        detail = model.modelStatusToString(status)
        nodes = max(int(info.mip_node_count), 0)
        # Every row and every z may be off by the tolerance.
        slack = FEASIBILITY * (1.0 + self._reach) + 2e-6
        if status == highspy.HighsModelStatus.kInfeasible:
            return MasterSolution(MipStatus.INFEASIBLE, None, cutoff - slack, nodes, detail)
        if status == highspy.HighsModelStatus.kOptimal:
            chosen = rounded(model.getSolution().col_value[:-1])
            return MasterSolution(
                MipStatus.OPTIMAL, chosen, info.mip_dual_bound - slack, nodes, detail
            )
        timed_out = status == highspy.HighsModelStatus.kTimeLimit
        ended = MipStatus.TIME_LIMIT if timed_out else MipStatus.FAILED
        return MasterSolution(ended, None, -math.inf, nodes, detail)


@dataclass(frozen=True)
class HighsSolver:
    """The default back end."""

    threads: int | None = None
    seed: int = 0

    @property
    def status(self) -> SolverStatus:
        """Always usable: highspy is a dependency of the package."""
        return SolverStatus(
            "highs",
            usable=True,
            version=version("highspy"),
            capabilities=frozenset({Capability.MILP, Capability.INCREMENTAL_ROWS}),
        )

    def master(self, columns: int, cardinality: int) -> HighsMaster:
        """A new master without cuts."""
        return HighsMaster(columns, cardinality, self.threads, self.seed)
