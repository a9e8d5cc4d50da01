"""MIP back ends: what the search asks of one, and how installed ones are found.

The core imports no solver. A back end is an object under the entry-point group
``mipselect.solvers``; anybody may ship one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol

from mipselect.errors import UnknownSolver
from mipselect.losses.base import FloatArray, IntArray

NATIVE = "native"
"""The exact search of this package, which needs no MIP solver."""


class MasterStatus(Enum):
    """How a master's solve ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    TIME_LIMIT = "time limit"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """The answer of a master.

    Attributes
    ----------
    status : MasterStatus
    chosen : ndarray of int or None
        Columns at one in the best solution found.
    bound : float
        Proven lower bound on η over all 0/1 points that satisfy the rows; ``inf`` if there are
        none below the cutoff, ``-inf`` if nothing was proven.
    nodes : int
    detail : str
        The solver's own words.
    """

    status: MasterStatus
    chosen: IntArray | None
    bound: float
    nodes: int
    detail: str


class Master(Protocol):
    """min η over 0/1 vectors z with Σ z = m and the rows that were added; rows only accumulate."""

    def add_cut(self, constant: float, coefficients: FloatArray) -> None:
        """η ≥ constant + coefficients · z."""

    def exclude(self, columns: IntArray) -> None:
        """Forbid the one choice of `columns`."""

    def solve(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise; choices with η ≥ `cutoff` need not be told apart from infeasible ones."""


class Solver(Protocol):
    """One back end."""

    @property
    def status(self) -> SolverStatus:
        """Whether it can be used here, and what it can do; found out without solving."""

    def master(self, columns: int, cardinality: int) -> Master:
        """A new master without cuts."""


@dataclass(frozen=True)
class SolverStatus:
    """What is known of a back end without solving anything.

    Attributes
    ----------
    name : str
    usable : bool
    reason : str
        Why it is not usable, and what to install; empty if it is.
    version : str
    capabilities : frozenset of str
        Such as "milp", "incremental rows", "exact squared loss".
    """

    name: str
    usable: bool
    reason: str = ""
    version: str = ""
    capabilities: frozenset[str] = field(default_factory=frozenset)


NATIVE_STATUS = SolverStatus(
    NATIVE, usable=True, capabilities=frozenset({"exact squared loss", "no solver needed"})
)


@cache
def _installed() -> dict[str, Solver]:
    return {point.name: point.load() for point in entry_points(group="mipselect.solvers")}


def known_solvers() -> dict[str, SolverStatus]:
    """Every back end that is installed, usable here or not, by name."""
    return {NATIVE: NATIVE_STATUS} | {
        name: solver.status for name, solver in sorted(_installed().items())
    }


def available_solvers() -> dict[str, SolverStatus]:
    """The back ends that can be used here, by name.

    Returns
    -------
    dict of str to SolverStatus
        "auto" is no back end of its own and not listed.
    """
    return {name: status for name, status in known_solvers().items() if status.usable}


def solver_by_name(name: str) -> Solver:
    """Return the back end called `name`, or raise `UnknownSolver` with what would work."""
    solver = _installed().get(name)
    if solver is None:
        names = ", ".join(["auto", *available_solvers()])
        raise UnknownSolver(f"solver {name!r} is not installed; usable here: {names}")
    if not solver.status.usable:
        raise UnknownSolver(f"solver {name!r} cannot be used here: {solver.status.reason}")
    return solver
