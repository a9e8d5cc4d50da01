"""Interface between the search and MIP solvers, and their discovery; the core imports none."""

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.discovery import (
    NATIVE,
    available_solvers,
    known_solvers,
    solver_by_name,
    usable_solver,
)
from mipselect.backends.protocols import (
    MASTER_GAP,
    Master,
    MasterSolution,
    MipStatus,
    SizeLimit,
    Solver,
    SolverStatus,
    rounded,
)

__all__ = [
    "MASTER_GAP",
    "NATIVE",
    "FloatArray",
    "IntArray",
    "Master",
    "MasterSolution",
    "MipStatus",
    "SizeLimit",
    "Solver",
    "SolverStatus",
    "available_solvers",
    "known_solvers",
    "rounded",
    "solver_by_name",
    "usable_solver",
]
