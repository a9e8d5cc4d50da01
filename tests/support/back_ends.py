"""The back ends that a test runs on: all that are known, those that are missing as skips."""

from __future__ import annotations

import pytest

from mipselect.backends.discovery import NATIVE, known_solvers, solver_by_name
from tests.support.wants import wants

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
