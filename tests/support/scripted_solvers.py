"""Back ends that a test runs on: all that are known, and some whose answers it makes up."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.backends import NATIVE, known_solvers, solver_by_name
from mipselect.backends.protocols import Master, MasterSolution, MipStatus, SolverStatus
from mipselect.problem.instance import Instance
from tests.support.wants import wants


class Scripted:
    """A back end whose master passes HiGHS' answers through a function."""

    status = SolverStatus("scripted", usable=True)

    def __init__(self, change) -> None:
        self.change = change

    def master(self, columns: int, cardinality: int) -> Master:
        master = solver_by_name("highs").master(columns, cardinality)
        solve, change = master.solve, self.change
        master.solve = lambda **limits: change(solve(**limits))
        return master


def weak_levels() -> Instance:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 12))
    return Instance(
        X, rng.standard_normal(50), support_size=4,
        x_bound=2.0, y_bound=2.0, coef_bound=2.0, ridge=5.0,
    )  # fmt: skip


def change_of(**fields):
    def change(solution: MasterSolution) -> MasterSolution:
        if solution.status is not MipStatus.OPTIMAL:
            return solution
        values = {name: getattr(solution, name) for name in solution.__dataclass_fields__}
        return MasterSolution(**{**values, **fields})

    return change


BY_PYOMO = "pyomo:appsi_highs"
"""One of the solvers that Pyomo knows; HiGHS is always there, and CBC and GLPK go the same way."""


def back_ends() -> list:
    """Parameters: the name of every known back end with masters, and `BY_PYOMO`."""
    statuses = known_solvers() | {BY_PYOMO: solver_by_name(BY_PYOMO).status}
    return [
        pytest.param(
            name,
            id=name,
            marks=wants(f"{name}: {status.reason}", status.usable),
        )
        for name, status in statuses.items()
        if name not in (NATIVE, "pyomo")
    ]
