"""Interface of a MIP back end: a solver of masters for the search's cuts.

A back end says what it can do in its `SolverStatus`, found out without solving anything. It
proposes choices and bounds and certifies nothing: the search proves for itself what it is told.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import SolverFailure

MASTER_GAP = 1e-6
"""Absolute gap between value and bound at which a master may stop."""


@dataclass(frozen=True)
class SizeLimit:
    """The largest model that a licence allows.

    Attributes
    ----------
    columns, rows : int
    remedy : str
        Where a larger licence comes from.

    Examples
    --------
    >>> from mipselect.backends import SizeLimit, SolverStatus
    >>> status = SolverStatus("small", True, limit=SizeLimit(2000, 2000, "example.org"))
    >>> status.check_size(65, 30)
    """

    columns: int
    rows: int
    remedy: str


@dataclass(frozen=True)
class SolverStatus:
    """State of a back end, as it is known without solving anything.

    Attributes
    ----------
    name : str
    usable : bool
    reason : str
        Why it is not usable, and what to install; empty if it is.
    version : str
    limit : SizeLimit or None
        None if models may be of any size.

    Examples
    --------
    >>> from mipselect.search import known_solvers
    >>> known_solvers()["native"].usable
    True
    """

    name: str
    usable: bool
    reason: str = ""
    version: str = ""
    limit: SizeLimit | None = None

    def check_size(self, columns: int, rows: int) -> None:
        """Raise `SolverFailure` if the licence does not allow a model of this size."""
        if self.limit is not None and (columns > self.limit.columns or rows > self.limit.rows):
            raise SolverFailure(
                f"{self.name}: its size-limited licence allows {self.limit.columns:,} columns and "
                f"{self.limit.rows:,} rows, this model has {columns:,} and {rows:,}: "
                f"use another solver or a larger licence ({self.limit.remedy})"
            )


class MipStatus(Enum):
    """Way in which a solve ended.

    Examples
    --------
    >>> from mipselect.backends import MipStatus
    >>> MipStatus("time limit").name
    'TIME_LIMIT'
    """

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    TIME_LIMIT = "time limit"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """The answer of a master.

    Attributes
    ----------
    status : MipStatus
    chosen : ndarray of int or None
        Columns at one in the best solution found.
    bound : float
        What the solver claims as a lower bound on η over all 0/1 points that satisfy the rows;
        ``inf`` if there are none and no cutoff, ``-inf`` if it claims nothing.
    nodes : int
        0 if the solver tells none.
    detail : str
        The solver's own words.

    Examples
    --------
    >>> from mipselect.backends import MasterSolution, MipStatus
    >>> MasterSolution(MipStatus.FAILED, None, float("-inf"), 0, "licence expired").detail
    'licence expired'
    """

    status: MipStatus
    chosen: IntArray | None
    bound: float
    nodes: int
    detail: str


class Master(ABC):
    """min η over 0/1 vectors z with Σ z = m and the rows that were added; rows only accumulate.

    A back end derives from this class and writes `add_row` and `run`; it adds the row Σ z = m
    itself. A master is solved after the first cut at the earliest.

    Parameters
    ----------
    columns, cardinality : int
        L, the length of z, and m.
    tolerance : float
        How far the solver may leave a row or an integral variable off.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> from mipselect.backends import solver_by_name
    >>> master = solver_by_name("highs").master(3, 1)
    >>> master.add_cut(1.0, np.array([0.0, -0.75, 0.0]))
    >>> found = master.solve(cutoff=10.0, time_limit=math.inf)
    >>> found.chosen.tolist(), round(found.bound, 3)
    ([1], 0.25)
    """

    def __init__(self, columns: int, cardinality: int, tolerance: float) -> None:
        self.columns, self.cardinality = columns, cardinality
        self._tolerance, self._reach = tolerance, 0.0

    @abstractmethod
    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        """Require least ≤ coefficients · (z, η) ≤ most; shape (L + 1,), infinite where free."""

    @abstractmethod
    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise η ≤ `cutoff`; the bound is the solver's own, and of no account if infeasible."""

    def add_cut(self, constant: float, coefficients: FloatArray) -> None:
        """Require η ≥ constant + coefficients · z."""
        self._reach = max(self._reach, float(np.sum(np.abs(coefficients))))
        self.add_row(np.append(-coefficients, 1.0), float(constant), math.inf)

    def count(self, columns: IntArray, least: int, most: int) -> None:
        """Require least ≤ Σ_{j in columns} z_j ≤ most."""
        row = np.zeros(self.columns + 1)
        row[columns] = 1.0
        self.add_row(row, float(least), float(most))

    def exclude(self, columns: IntArray) -> None:
        """Forbid the one choice of `columns`."""
        self.count(columns, 0, len(columns) - 1)

    def solve(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Minimise; choices with η ≥ `cutoff` need not be told apart from infeasible ones."""
        answer = self.run(cutoff=cutoff, time_limit=time_limit)
        claimed = cutoff if answer.status is MipStatus.INFEASIBLE else answer.bound
        return replace(answer, bound=claimed - self.allowance)

    @property
    def allowance(self) -> float:
        """Largest error of a bound from tolerances: each row, each z and the gap may be off."""
        return self._tolerance * (1.0 + self._reach) + 2.0 * MASTER_GAP


class Solver(Protocol):
    """One back end; an entry point of the group ``mipselect.solvers`` makes it.

    It is called as ``f(threads=None, seed=0)``: None leaves the number of threads to the solver.
    A family of solvers is also called with ``name``, which is "cplex" in "pyomo:cplex".

    Examples
    --------
    >>> from mipselect.backends import solver_by_name
    >>> solver_by_name("highs", threads=1, seed=7).status.name
    'highs'
    >>> solver_by_name("highs").master(5, 2).cardinality
    2
    """

    @property
    def status(self) -> SolverStatus:
        """State here: usable or not; found out without solving."""

    def master(self, columns: int, cardinality: int) -> Master:
        """Make a master without cuts."""


def rounded(values: FloatArray) -> IntArray:
    """Return the columns at one in a solution whose entries are integral up to a tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.backends import rounded
    >>> rounded(np.array([0.9999999, 1e-9, 1.0])).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.asarray(values) > 0.5)
