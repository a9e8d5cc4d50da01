"""Certificates against enumeration where columns and ridges hurt; the long run is a soak."""

from __future__ import annotations

import pytest

from mipselect.backends import Capability, solver_by_name
from tests.soak.certificates import Liar, check, grouped_problem
from tests.support.back_ends import back_ends


@pytest.mark.parametrize("name", back_ends(Capability.MILP))
def test_no_certificate_is_wrong(name: str) -> None:
    solver = solver_by_name(name, threads=1)
    counts = [check(solver, 1, number, largest=38) for number in range(2)]
    counts += [check(solver, 1, 2, largest=38, make=grouped_problem)]
    assert [(count.refused, count.wrong) for count in counts] == [(0, 0)] * 3
    assert counts[-1].masters > 0


def test_a_back_end_that_lies_certifies_nothing_false() -> None:
    """Of every master it says that nothing is left; each claim is then proven or disproved."""
    counts = [check(Liar(), 1, number, largest=45) for number in range(20)]
    assert [(count.refused, count.wrong) for count in counts] == [(0, 0)] * 20
    assert sum(count.masters for count in counts) > 10


def test_nor_of_features_of_several_columns() -> None:
    counts = [check(Liar(), 2, k, largest=45, make=grouped_problem) for k in range(20)]
    assert [(count.refused, count.wrong) for count in counts] == [(0, 0)] * 20
    assert sum(count.masters for count in counts) > 10
