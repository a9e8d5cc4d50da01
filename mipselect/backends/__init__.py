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
    Answer,
    Capability,
    LazyMaster,
    Master,
    MasterSolution,
    MasterSolver,
    MipStatus,
    SizeLimit,
    Solver,
    SolverStatus,
    Visit,
    rounded,
)

__all__ = [
    "MASTER_GAP",
    "NATIVE",
    "Answer",
    "Capability",
    "FloatArray",
    "IntArray",
    "LazyMaster",
    "Master",
    "MasterSolution",
    "MasterSolver",
    "MipStatus",
    "SizeLimit",
    "Solver",
    "SolverStatus",
    "Visit",
    "available_solvers",
    "known_solvers",
    "rounded",
    "solver_by_name",
    "usable_solver",
]
