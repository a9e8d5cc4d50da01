"""Solvers through Pyomo: any that it knows by a name, for masters.

Pyomo is imported when it is needed, for that takes longer than most searches. Files that it writes
are sensitive: they are in a folder that only this user can read, which is removed however a solve
ends.
"""

from __future__ import annotations

import io
import math
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

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

SMALLEST_LIMIT = 1e-3
"""Seconds; Pyomo takes no limit of zero."""

INFINITE = 1e20
"""Larger numbers stand for no bound."""

FAILURES = (Exception,)
"""Interfaces of Pyomo raise nothing more specific."""

LISTING = "'pyomo help --solvers' lists the names, with a + where the solver is there"

PROGRAMS = {"cbc": ("cbc", "coinor-cbc"), "glpk": ("glpsol", "glpk-utils")}
"""Solvers that are known without "pyomo:" as well: executable, package of Debian and Ubuntu."""


@dataclass(frozen=True)
class Options:
    """Names of a solver for its options, empty where it has none.

    Attributes
    ----------
    tolerance : float
        What it is given for rows and integrality, or takes if it has no option.
    others : mapping of str to object
        Options with their values.
    """

    tolerance: float = 1e-6
    relative_gap: str = ""
    absolute_gap: str = ""
    tolerances: tuple[str, ...] = ()
    threads: str = ""
    seeds: tuple[str, ...] = ()
    time_limit: str = ""
    others: Mapping[str, object] = field(default_factory=dict)

    def values(
        self, gap: float, time_limit: float, threads: int | None, seed: int
    ) -> dict[str, object]:
        """Return the options of one solve."""
        values: dict[str, object] = {self.relative_gap: 0.0, self.absolute_gap: gap, **self.others}
        values |= dict.fromkeys(self.tolerances, self.tolerance) | dict.fromkeys(self.seeds, seed)
        values |= {} if threads is None else {self.threads: threads}
        values |= {} if math.isinf(time_limit) else {self.time_limit: time_limit}
        return {name: value for name, value in values.items() if name}


OPTIONS = {
    # With less tolerance it sometimes loses solutions. Its masters are small: one of their nodes
    # costs less than what is to spare nodes.
    "cbc": Options(
        1e-7, "ratioGap", "allowableGap",
        ("primalTolerance", "dualTolerance", "integerTolerance"),
        "threads", ("randomSeed", "randomCbcSeed"),
        others={"preprocess": "off", "cutsOnOff": "off", "heuristicsOnOff": "off"},
    ),
    "cplex": Options(
        1e-9, "mip_tolerances_mipgap", "mip_tolerances_absmipgap",
        ("simplex_tolerances_feasibility", "mip_tolerances_integrality"),
        "threads", ("randomseed",), "timelimit",
    ),
    # One thread, and tolerances that cannot be changed. They are absolute: where coefficients are
    # near 10⁴ it loses solutions and says "optimal". The search scales its masters, and proves.
    "glpk": Options(1e-5, seeds=("seed",)),
    "gurobi": Options(
        1e-9, "MIPGap", "MIPGapAbs", ("FeasibilityTol", "IntFeasTol", "OptimalityTol"),
        "Threads", ("Seed",), "TimeLimit",
    ),
    # Its threads belong to the process, and cannot be changed by one model alone.
    "highs": Options(
        1e-9, "mip_rel_gap", "mip_abs_gap",
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance",
         "mip_feasibility_tolerance"),
        seeds=("random_seed",),
    ),
    "mosek": Options(
        1e-7, "dparam.mio_tol_rel_gap", "dparam.mio_tol_abs_gap",
        ("dparam.mio_tol_feas", "dparam.mio_tol_abs_relax_int"),
        "iparam.num_threads", ("iparam.mio_seed",), "dparam.mio_max_time",
    ),
    "scip": Options(
        1e-8, "limits/gap", "limits/absgap", ("numerics/feastol",), "",
        ("randomization/randomseedshift",), others={"display/verblevel": 0},
    ),
    "xpress": Options(
        1e-9, "miprelstop", "mipabsstop", ("feastol", "miptol"), "threads", ("randomseed",),
        "timelimit", others={"miprelcutoff": 0.0, "mipaddcutoff": 0.0},
    ),
}  # fmt: skip
"""By a word of the name, as in cplex_direct; another solver gets no options."""

ENDINGS = {
    "optimal": MipStatus.OPTIMAL,
    "globallyOptimal": MipStatus.OPTIMAL,
    "infeasible": MipStatus.INFEASIBLE,
    "infeasibleOrUnbounded": MipStatus.INFEASIBLE,
    "maxTimeLimit": MipStatus.TIME_LIMIT,
}


class PyomoMaster(Master):
    """min η subject to Σ z = m, z binary, and the rows added so far; solved anew every time."""

    def __init__(self, columns: int, cardinality: int, solver: PyomoSolver) -> None:
        import pyomo.environ as pyo

        super().__init__(columns, cardinality, solver.options.tolerance)
        self._solver, self._interface = solver, interface_of(solver.name)
        self._model: Any = pyo.ConcreteModel()
        self._model.z = pyo.Var(range(columns), domain=pyo.Binary)
        self._model.eta = pyo.Var()
        self._model.rows = pyo.ConstraintList()
        self._model.objective = pyo.Objective(expr=self._model.eta)
        self.count(np.arange(columns), cardinality, cardinality)

    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        """Add a row, or two if it has two sides."""
        from pyomo.core.expr import LinearExpression

        used = np.flatnonzero(coefficients)
        variables = [*self._model.z.values(), self._model.eta]
        total = LinearExpression(
            linear_coefs=coefficients[used].tolist(), linear_vars=[variables[j] for j in used]
        )
        if least == most:
            self._model.rows.add(total == least)
            return
        if math.isfinite(least):
            self._model.rows.add(total >= least)
        if math.isfinite(most):
            self._model.rows.add(total <= most)

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise η; the bound is the solver's."""
        self._model.eta.setub(cutoff if math.isfinite(cutoff) else None)
        solver, limit = self._solver, max(time_limit, SMALLEST_LIMIT)
        if solver.name == "glpk" and math.isfinite(limit):
            limit = math.ceil(limit)
        keywords: dict[str, Any] = {} if math.isinf(limit) else {"timelimit": limit}
        keywords["options"] = solver.options.values(MASTER_GAP, limit, solver.threads, solver.seed)
        began = time.monotonic()
        with _silence() as words, _private_files():
            try:
                if hasattr(self._interface, "set_instance"):
                    self._interface.set_instance(self._model)
                result = self._interface.solve(self._model, load_solutions=False, **keywords)
                solution = self._read(result)
            except FAILURES as error:
                log = words.getvalue().split("\n")
                last = next((line for line in reversed(log) if line.strip()), "")
                detail = " ".join(f"{error} {last}".split())
                solution = MasterSolution(MipStatus.FAILED, None, -math.inf, 0, detail)
        if solution.status is MipStatus.FAILED and time.monotonic() - began >= time_limit:
            return replace(solution, status=MipStatus.TIME_LIMIT)
        return solution

    def _read(self, result: Any) -> MasterSolution:
        """Read what Pyomo says of a solve, and load the solution if it is called optimal.

        Optimal is what is within the gap. The bound is worse where it is not told, or is that of a
        relaxation, as CPLEX does if no node was needed.
        """
        model, detail = self._model, str(result.solver.termination_condition)
        status = ENDINGS.get(detail, MipStatus.FAILED)
        nodes = result.solver.statistics.branch_and_bound.number_of_created_subproblems
        nodes = nodes if isinstance(nodes, int) else 0
        if status is not MipStatus.OPTIMAL:
            return MasterSolution(status, None, -math.inf, nodes, detail)
        model.solutions.load_from(result, default_variable_value=0.0)
        chosen = rounded(np.array([z.value for z in model.z.values()]))
        value, bound = float(model.eta.value), result.problem.lower_bound
        if not (isinstance(bound, float) and abs(bound) < INFINITE):
            bound = value
        gap = MASTER_GAP if self._solver.options.absolute_gap else math.inf
        return MasterSolution(status, chosen, max(bound, value - gap), nodes, detail)


@dataclass(frozen=True)
class PyomoSolver:
    """The solver that Pyomo knows as `name`."""

    threads: int | None = None
    seed: int = 0
    name: str = ""

    @property
    def status(self) -> SolverStatus:
        """State of the solver here, as Pyomo tells it; an executable is looked for on the path."""
        if not self.name:
            reason = f"it takes the name of a solver, as in pyomo:cplex_direct; {LISTING}"
            return SolverStatus("pyomo", usable=False, reason=reason)
        if self.name not in PROGRAMS:
            return _status(self.name)
        executable, package = PROGRAMS[self.name]
        missing = shutil.which(executable) is None
        return SolverStatus(
            self.name,
            usable=not missing,
            reason=f"the executable {executable!r} is not on the path; on Debian or Ubuntu install "
            f"it with: apt-get install {package}"
            if missing
            else "",
        )

    @property
    def options(self) -> Options:
        """Names of the solver for its options."""
        words = self.name.split("_")
        return next((OPTIONS[word] for word in words if word in OPTIONS), Options())

    def master(self, columns: int, cardinality: int) -> PyomoMaster:
        """Make a new master without cuts."""
        return PyomoMaster(columns, cardinality, self)


CbcSolver = partial(PyomoSolver, name="cbc")
GlpkSolver = partial(PyomoSolver, name="glpk")


def interface_of(name: str) -> Any:
    """Make Pyomo's interface to a solver, one of no use if it knows none of this name."""
    from pyomo.environ import SolverFactory

    # Pyomo keeps the places of executables; the path may have changed since.
    place = {"executable": shutil.which(PROGRAMS[name][0])} if name in PROGRAMS else {}
    with _silence():
        return SolverFactory(name, **place)


@cache
def _status(name: str) -> SolverStatus:
    """Return the state of a solver as Pyomo tells it, which may take out a licence."""
    from pyomo.opt import UnknownSolver

    interface = interface_of(name)
    if isinstance(interface, UnknownSolver):
        reason = f"Pyomo knows no solver {name!r}, and no such program is on the path; {LISTING}"
        return SolverStatus(f"pyomo:{name}", usable=False, reason=reason)
    with _silence():
        usable = interface.available(exception_flag=False) and interface.license_is_valid()
    if not usable:
        reason = f"Pyomo does not find {name!r} here, or no licence of it; {LISTING}"
        return SolverStatus(f"pyomo:{name}", usable=False, reason=reason)
    says = getattr(interface, "has_capability", None)
    if says is not None and not says("integer"):
        reason = "it takes no integer variables"
        return SolverStatus(f"pyomo:{name}", usable=False, reason=reason)
    return SolverStatus(f"pyomo:{name}", usable=True)


@contextmanager
def _silence() -> Iterator[io.StringIO]:
    """Keep what Pyomo logs, which it would print."""
    from pyomo.common.log import LoggingIntercept

    with LoggingIntercept(io.StringIO(), "pyomo") as words:
        yield words


@contextmanager
def _private_files() -> Iterator[None]:
    """Put what Pyomo writes into a folder for this user only, which is gone afterwards."""
    from pyomo.common.tempfiles import TempfileManager

    before = TempfileManager.tempdir
    with TempfileManager as files:
        TempfileManager.tempdir = files.create_tempdir(prefix="mipselect-")
        try:
            yield
        finally:
            TempfileManager.tempdir = before
