"""The back ends that a test runs on: all that are known, those that are missing as skips."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from mipselect.backends.discovery import known_solvers, solver_by_name
from mipselect.backends.protocols import Capability
from tests.support.wants import wants

BY_PYOMO = "pyomo:appsi_highs"
"""One of the solvers that Pyomo knows; HiGHS is always there, and CBC and GLPK go the same way."""


def back_ends(*needed: Capability, slow: Collection[str] = ()) -> list:
    """Parameters: the name of every known back end with these capabilities, and `BY_PYOMO`.

    Tests of slow ones are deep.
    """
    deep = {name: [pytest.mark.deep] for name in slow}
    statuses = known_solvers() | {BY_PYOMO: solver_by_name(BY_PYOMO).status}
    return [
        pytest.param(
            name,
            id=name,
            marks=[wants(f"{name}: {status.reason}", status.usable), *deep.get(name, [])],
        )
        for name, status in statuses.items()
        if set(needed) <= status.capabilities
    ]
