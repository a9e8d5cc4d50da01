"""GLPK's glpsol as an executable, through Pyomo. It has one thread and fixed tolerances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mipselect.backends import SolverStatus, WholeSolution

from .pyomo_models import PyomoMaster, executable_status, solve_by_executable

TOLERANCE = 1e-5
"""glpsol takes 1e-5 for integral, and has no option to take less."""


@dataclass(frozen=True)
class GlpkSolver:
    """The back end."""

    threads: int | None = None
    seed: int = 0

    @property
    def status(self) -> SolverStatus:
        """Whether the executable is there."""
        return executable_status("glpk", "glpsol", "glpk-utils")

    def master(self, columns: int, cardinality: int) -> PyomoMaster:
        """A new master without cuts."""

        def solve(model: Any, time_limit: float) -> WholeSolution:
            return self.solve(model, time_limit=time_limit, gap=0.0)

        return PyomoMaster(columns, cardinality, solve, TOLERANCE)

    def solve(self, model: Any, *, time_limit: float, gap: float) -> WholeSolution:
        """Minimise a linear Pyomo model; glpsol knows relative gaps only and is given none."""
        return solve_by_executable(
            "glpk", model, time_limit=time_limit, options={"seed": self.seed}
        )
