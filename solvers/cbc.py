"""CBC as an executable, through Pyomo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mipselect.backends import SolverStatus, WholeSolution

from .pyomo_models import PyomoMaster, executable_status, solve_by_executable

TOLERANCE = 1e-7
"""On rows and on integrality; with less CBC sometimes loses solutions."""

SMALLEST_GAP = 1e-6


@dataclass(frozen=True)
class CbcSolver:
    """The back end."""

    threads: int | None = None
    seed: int = 0

    @property
    def status(self) -> SolverStatus:
        """Whether the executable is there."""
        return executable_status("cbc", "cbc", "coinor-cbc")

    def master(self, columns: int, cardinality: int) -> PyomoMaster:
        """A new master without cuts."""

        def solve(model: Any, time_limit: float) -> WholeSolution:
            return self.solve(model, time_limit=time_limit, gap=SMALLEST_GAP)

        return PyomoMaster(columns, cardinality, solve, 2.0 * TOLERANCE + SMALLEST_GAP)

    def solve(self, model: Any, *, time_limit: float, gap: float) -> WholeSolution:
        """Minimise a linear Pyomo model."""
        options = {
            "ratioGap": 0.0,
            "allowableGap": gap,
            "primalTolerance": TOLERANCE,
            "dualTolerance": TOLERANCE,
            "integerTolerance": TOLERANCE,
            "randomSeed": self.seed + 1,
            "randomCbcSeed": self.seed + 1,
        }
        if self.threads is not None:
            options["threads"] = self.threads
        return solve_by_executable("cbc", model, time_limit=time_limit, options=options)
