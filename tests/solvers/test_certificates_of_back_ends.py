"""Certificates against enumeration where columns and ridges hurt; the long run is a soak."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mipselect import Instance
from mipselect.backends import Capability, solver_by_name
from tests.soak.certificates import Liar, check, grouped_problem, problem
from tests.support.back_ends import back_ends


@pytest.mark.parametrize("name", back_ends(Capability.MILP))
def test_no_certificate_is_wrong(name: str) -> None:
    solver = solver_by_name(name, threads=1)
    for number in range(2):
        check(solver, 1, number, largest=38)
    assert check(solver, 1, 2, largest=38, make=grouped_problem) > 0


@pytest.mark.parametrize(("seed", "make"), [(1, problem), (2, grouped_problem)])
def test_a_back_end_that_lies_certifies_nothing_false(
    seed: int, make: Callable[..., Instance]
) -> None:
    """Of every master it says that nothing is left; each claim is then proven or disproved."""
    assert sum(check(Liar(), seed, number, largest=45, make=make) for number in range(20)) > 10
