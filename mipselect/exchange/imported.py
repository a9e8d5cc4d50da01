"""Import of the answer of a solver: its support, whose value is computed anew from the data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mipselect.arrays import IntArray
from mipselect.errors import InvalidInput, SolverFailure
from mipselect.exchange.exported import unit_of
from mipselect.exchange.settings import UNITS
from mipselect.exchange.solution_files import read_solution
from mipselect.exchange.solutions import Solution
from mipselect.problem.instance import Instance
from mipselect.search.monolithic.whole import CLAIM_ERROR
from mipselect.validation import checked_finite, shown

OTHER_COLUMNS = re.compile(r"(b|t|u|loss)\d+|eta|ONE_VAR_CONSTANT|quadobjvar|qmatrixvar", re.ASCII)
"""Columns of exported models besides z, with those that SCIP adds; their values are not used."""

CHOICE = re.compile(r"z(0|[1-9]\d{0,8})", re.ASCII)
"""Column of a feature."""

INTEGRALITY = 1e-4
"""Error that a 0/1 variable may have: ten times what solvers allow unless told otherwise."""


AGREEING = 1e-3
"""Relative difference between what a solver says of its support and its value."""


@dataclass(frozen=True, eq=False)
class ImportedSolution:
    """Support that a solver found, with its exact value; sensitive.

    Attributes
    ----------
    support : ndarray of int, shape (s,)
    value : float
        R(S), computed from the data.
    solver : str
        By the format of the file.
    status : str
        The solver's own words; empty where the file has none.
    objective : float or None
        What the solver says that the value is, in units of R.
    claimed_bound : float or None
        Lower bound on R at every support. It is the solver's word, and no certificate.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mipselect import load_instance
    >>> from mipselect.exchange import import_solution
    >>> text = "Optimal - objective value 269.09069\\n" + "".join(
    ...     f"{j} z{j} 1 0\\n" for j in (1, 4, 6)
    ... )
    >>> _ = Path("cbc.txt").write_text(text)
    >>> imported = import_solution(load_instance("tiny-plain"), "cbc.txt")
    >>> imported.support.tolist(), round(imported.value, 6), imported.certified
    ([1, 4, 6], 0.018024, False)
    """

    support: IntArray
    value: float
    solver: str
    status: str
    objective: float | None
    claimed_bound: float | None

    @property
    def agrees(self) -> bool:
        """False if the solver's objective is not the value, by more than a thousandth.

        Then the cuts of the model are weak here, or it was the model of another instance.
        """
        if self.objective is None:
            return True
        return abs(self.objective - self.value) <= AGREEING * max(self.value, self.objective)

    @property
    def certified(self) -> bool:
        """False: nothing here proves what a solver says. `top_supports` does."""
        return False


@np.errstate(all="ignore")
def import_solution(
    instance: Instance, path: str | Path, *, bound: float | None = None
) -> ImportedSolution:
    """Read the solution of a model that `export_model` wrote, and compute its value anew.

    Parameters
    ----------
    instance : Instance
        The one whose model was exported.
    path : str or Path
        As HiGHS, Gurobi, CPLEX, SCIP or CBC wrote it.
    bound : float, optional
        Best bound that the solver printed, in units of the model's objective. Without it, of a
        solution that is called optimal, its objective.

    Raises
    ------
    InvalidInput
        If the file is no solution of a model of this instance.
    SolverFailure
        If the bound is above the value of the support.

    Notes
    -----
    The bound is lowered by 10⁻⁶ of the value of no features, which covers the gap and the
    tolerances that the model was exported with, and those of a cautious user.

    Examples
    --------
    See `ImportedSolution`.

    >>> from mipselect import load_instance
    >>> from mipselect.errors import InvalidInput
    >>> from mipselect.exchange import import_solution
    >>> try:
    ...     import_solution(load_instance("tiny-plain"), "no-such-file.sol")
    ... except InvalidInput as error:
    ...     print(error)
    no-such-file.sol: no such file
    """
    if bound is not None:
        (bound,) = checked_finite([bound], "bound", 1)
    solution = read_solution(path)
    unit = unit_of(instance.prepared)
    try:
        support = support_of(solution, instance.n_features, instance.support_size)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: (sensitive) {error}") from error
    value = instance.fit(support).value
    claimed = _claim(solution, bound, unit)
    if claimed is not None and claimed > value:
        raise SolverFailure(
            f"the solver claims that every support is at {claimed:.9g} or above, and that "
            f"which it found is at {value:.9g}: its tolerances are too loose, or the model was "
            "that of another instance",
            incumbent=value,
        )
    objective = None if solution.objective is None else solution.objective / unit
    return ImportedSolution(support, value, solution.solver, solution.status, objective, claimed)


def support_of(solution: Solution, n_features: int, support_size: int) -> IntArray:
    """Return the features whose column zj is at one, sorted; shape (s,).

    Raises
    ------
    InvalidInput
        If a column is not one of an exported model, or is missing, or is neither 0 nor 1, or if
        there are more or fewer at one than s.
    """
    z = np.zeros(n_features)
    missing = set(range(n_features))
    for name, value in solution.values.items():
        place = CHOICE.fullmatch(name)
        if place is None and OTHER_COLUMNS.fullmatch(name) is None:
            raise InvalidInput(f"{shown(name)} is no column of an exported model")
        if place is None:
            continue
        j = int(place[1])
        if j >= n_features:
            raise InvalidInput(
                f"column {name}: this instance has {n_features:,} features, z0 to z{n_features - 1}"
            )
        if min(abs(value), abs(value - 1.0)) > INTEGRALITY:
            raise InvalidInput(f"column {name} is neither 0 nor 1: no integral solution")
        z[j] = value
        missing.remove(j)
    if solution.complete and missing:
        raise InvalidInput(
            f"there is no column z{min(missing)}: the file was cut off, or is a solution of "
            "another instance"
        )
    support = np.flatnonzero(z > 0.5)
    if len(support) != support_size:
        raise InvalidInput(
            f"{len(support)} of the columns z are at one, and this instance chooses {support_size} "
            "features: the file was cut off, or is a solution of another instance"
        )
    return support


def _claim(solution: Solution, bound: float | None, unit: float) -> float | None:
    """Return the lower bound on R that the solver claims, or its given bound; None if none."""
    if bound is None:
        if not solution.optimal or solution.objective is None:
            return None
        bound = solution.objective - solution.objective_error
    # Every value is ≥ 0, whatever a solver says.
    return max(0.0, (bound - CLAIM_ERROR * UNITS) / unit)
