"""HiGHS through highspy: one model per master, to which rows are added."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import highspy
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

FEASIBILITY = 1e-9
"""Tolerance on rows and on integrality; HiGHS' default of 1e-6 is too loose for proofs."""

HEURISTICS = ("feasibility_jump", "rens", "rins", "root_reduced_cost")
"""A master has few columns and is solved often: these take longer than they save."""


ENDINGS = {
    highspy.HighsModelStatus.kOptimal: MipStatus.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: MipStatus.INFEASIBLE,
    highspy.HighsModelStatus.kTimeLimit: MipStatus.TIME_LIMIT,
}


class QuietHighs(highspy.Highs):
    """HiGHS that prints nothing: it greets as soon as callbacks are enabled, by its constructor."""

    def enableCallbacks(self) -> None:
        """Set `output_flag` to false first."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()  # type: ignore[no-untyped-call]


class HighsMaster(Master):
    """min η subject to Σ z = m, z binary, and the rows added so far.

    Column j < L is z_j and column L is η.
    """

    def __init__(self, columns: int, cardinality: int, threads: int | None, seed: int) -> None:
        super().__init__(columns, cardinality, FEASIBILITY)
        model: Any = QuietHighs()  # type: ignore[no-untyped-call]
        model.setOptionValue("output_flag", False)
        if threads is not None:
            # HiGHS' threads are shared by all models of a process and must be stopped to change.
            model.resetGlobalScheduler(True)
            model.setOptionValue("threads", threads)
        for heuristic in HEURISTICS:
            model.setOptionValue(f"mip_heuristic_run_{heuristic}", False)
        model.setOptionValue("random_seed", seed)
        model.setOptionValue("mip_rel_gap", 0.0)
        model.setOptionValue("mip_abs_gap", MASTER_GAP)
        model.setOptionValue("mip_feasibility_tolerance", FEASIBILITY)
        model.setOptionValue("primal_feasibility_tolerance", FEASIBILITY)
        model.setOptionValue("dual_feasibility_tolerance", FEASIBILITY)
        for _ in range(columns):
            model.addVar(0.0, 1.0)
        model.addVar(-highspy.kHighsInf, highspy.kHighsInf)
        model.changeColCost(columns, 1.0)
        for j in range(columns):
            model.changeColIntegrality(j, highspy.HighsVarType.kInteger)
        self._model = model
        self.count(np.arange(columns), cardinality, cardinality)

    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        """Add a row; infinite sides are HiGHS' own."""
        index = np.flatnonzero(coefficients).astype(np.int32)
        self._model.addRow(least, most, len(index), index, coefficients[index])

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise η; the bound is HiGHS' dual bound."""
        model = self._model
        model.changeColBounds(self.columns, -highspy.kHighsInf, min(cutoff, highspy.kHighsInf))
        # HiGHS counts its run time over the life of the model.
        limit = highspy.kHighsInf if math.isinf(time_limit) else model.getRunTime() + time_limit
        model.setOptionValue("time_limit", limit)
        model.run()
        ended = model.getModelStatus()
        info = model.getInfo()
        status = ENDINGS.get(ended, MipStatus.FAILED)
        chosen, bound = None, -math.inf
        if status is MipStatus.OPTIMAL:
            chosen = rounded(model.getSolution().col_value[:-1])
            bound = info.mip_dual_bound
        nodes = max(int(info.mip_node_count), 0)
        return MasterSolution(status, chosen, bound, nodes, model.modelStatusToString(ended))


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
        )

    def master(self, columns: int, cardinality: int) -> HighsMaster:
        """Make a new master without cuts."""
        return HighsMaster(columns, cardinality, self.threads, self.seed)
