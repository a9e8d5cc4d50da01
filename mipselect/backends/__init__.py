"""Interface between the search and MIP solvers, and discovery of back ends.

The core imports no solver. A back end is made by an entry point of the group
``mipselect.solvers``; anybody may ship one. Each is loaded when it is named, and one
that cannot be loaded is a status with its reason, whatever it raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from mipselect.arrays import FloatArray, IntArray
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
from mipselect.errors import InvalidInput

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

NATIVE = "native"
"""The exact search of this package, which needs no MIP solver."""

NATIVE_STATUS = SolverStatus(NATIVE, usable=True)


@dataclass(frozen=True)
class BrokenSolver:
    """Stand-in for a back end that is installed and cannot be loaded or made."""

    status: SolverStatus


def known_solvers() -> dict[str, SolverStatus]:
    """List every back end that is installed, usable here or not, by name.

    Examples
    --------
    >>> from mipselect.search import known_solvers
    >>> [name for name in ("native", "highs", "gurobi") if name in known_solvers()]
    ['native', 'highs', 'gurobi']
    """
    made = {name: _made(name, None, 0) for name in sorted(_entry_points())}
    return {NATIVE: NATIVE_STATUS} | {name: solver.status for name, solver in made.items()}


def available_solvers() -> dict[str, SolverStatus]:
    """List the back ends that can be used here, by name.

    Returns
    -------
    dict of str to SolverStatus
        "auto" is no back end of its own and not listed, nor are the solvers of "pyomo:NAME".

    Examples
    --------
    >>> from mipselect import available_solvers
    >>> sorted(set(available_solvers()) & {"native", "highs"})
    ['highs', 'native']
    """
    return {name: status for name, status in known_solvers().items() if status.usable}


def solver_by_name(name: str, *, threads: int | None = None, seed: int = 0) -> Solver:
    """Make the back end called `name`.

    Parameters
    ----------
    name : str
        Or that of a family and of one of its solvers, as in "pyomo:cplex_direct".
    threads : int, optional
        Default: what the solver chooses.
    seed : int
        Seed of the solver's own choices; the results differ in ties and in time only.

    Raises
    ------
    InvalidInput
        It is not installed, or cannot be used here: with what would work, or what to install.

    Examples
    --------
    >>> from mipselect import load_instance, mistake_levels
    >>> from mipselect.backends import solver_by_name
    >>> highs = solver_by_name("highs", threads=1)
    >>> mistake_levels(load_instance("tiny-plain"), solver=highs).certified
    True
    """
    if name.partition(":")[0] not in _entry_points():
        names = ", ".join(["auto", *available_solvers()])
        raise InvalidInput(f"solver {name!r} is not installed; usable here: {names}")
    return _checked(_made(name, threads, seed))


def usable_solver(solver: str | Solver) -> Solver:
    """Return `solver`, or the back end of that name, if it is usable here.

    Raises
    ------
    InvalidInput
        With what to install.

    Examples
    --------
    >>> from mipselect.backends import usable_solver
    >>> usable_solver("highs").status.usable
    True
    """
    return solver_by_name(solver) if isinstance(solver, str) else _checked(solver)


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="mipselect.solvers")}


def _made(name: str, threads: int | None, seed: int) -> Solver | BrokenSolver:
    """Load the back end `name`; return a `BrokenSolver` if it cannot be made or has no status."""
    family, _, member = name.partition(":")
    point, keywords = _entry_points()[family], {"name": member} if member else {}
    try:
        solver: Solver = point.load()(threads=threads, seed=seed, **keywords)
        _ = solver.status
    except Exception as error:  # noqa: BLE001 - a stranger's code may raise anything
        words = " ".join(f"{type(error).__name__}: {error}".split())
        reason = f"its entry point {point.value!r} is broken: {words}"
        return BrokenSolver(SolverStatus(name, usable=False, reason=reason))
    return solver


def _checked(solver: Solver | BrokenSolver) -> Solver:
    if not hasattr(solver, "status"):
        raise InvalidInput(f"solver must be a name or a Solver, got {solver!r}")
    status = solver.status
    if isinstance(solver, BrokenSolver) or not status.usable:
        raise InvalidInput(f"solver {status.name!r} cannot be used here: {status.reason}")
    return solver
