"""Conformance: what every back end's master must do, whichever solver is behind it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mipselect.search.backends import NATIVE, MasterStatus, available_solvers, solver_by_name

NAMES = [name for name in available_solvers() if name != NATIVE]


@pytest.fixture(params=NAMES)
def solver(request: pytest.FixtureRequest):
    return solver_by_name(request.param)


def brute(cuts, columns: int, size: int, excluded=()) -> tuple[float, tuple[int, ...]]:
    choices = [c for c in itertools.combinations(range(columns), size) if c not in excluded]
    return min((max(k + a[list(c)].sum() for k, a in cuts), c) for c in choices)


def test_minimum_of_cuts_and_its_bound(solver) -> None:
    rng = np.random.default_rng(0)
    for columns, size in ((6, 2), (9, 3), (12, 4)):
        master = solver.master(columns, size)
        cuts, excluded = [], []
        for _ in range(12):
            cuts.append((float(rng.uniform(0, 1000)), -rng.uniform(0, 300, columns)))
            master.add_cut(*cuts[-1])
            expected, _ = brute(cuts, columns, size, excluded)
            solution = master.solve(cutoff=math.inf, time_limit=math.inf)
            assert solution.status is MasterStatus.OPTIMAL
            assert solution.bound <= expected + 1e-9
            assert solution.bound >= expected - 1e-4
            chosen = tuple(int(j) for j in solution.chosen)
            assert chosen not in excluded
            assert max(k + a[list(chosen)].sum() for k, a in cuts) <= expected + 1e-4
            master.exclude(solution.chosen)
            excluded.append(chosen)


def test_excluding_everything_makes_it_infeasible(solver) -> None:
    master = solver.master(4, 2)
    master.add_cut(0.0, np.zeros(4))
    for choice in itertools.combinations(range(4), 2):
        assert master.solve(cutoff=math.inf, time_limit=math.inf).chosen is not None
        master.exclude(np.array(choice))
    solution = master.solve(cutoff=math.inf, time_limit=math.inf)
    assert solution.status is MasterStatus.INFEASIBLE
    assert solution.chosen is None
    assert solution.bound == math.inf


def test_a_cutoff_proves_no_more_than_itself(solver) -> None:
    master = solver.master(5, 2)
    master.add_cut(10.0, -np.arange(5.0))
    assert master.solve(cutoff=20.0, time_limit=math.inf).bound == pytest.approx(3.0, abs=1e-4)
    solution = master.solve(cutoff=2.0, time_limit=math.inf)
    assert solution.chosen is None
    assert 2.0 - 1e-4 <= solution.bound <= 3.0
    assert master.solve(cutoff=5.0, time_limit=math.inf).chosen.tolist() == [3, 4]


def test_all_columns_and_thousands_of_cuts(solver) -> None:
    rng = np.random.default_rng(3)
    master = solver.master(8, 8)
    for _ in range(2000):
        master.add_cut(float(rng.uniform(0, 10)), -rng.uniform(0, 1, 8))
    assert master.solve(cutoff=math.inf, time_limit=math.inf).chosen.tolist() == list(range(8))


def test_no_time_left_is_reported_as_such(solver) -> None:
    rng = np.random.default_rng(4)
    master = solver.master(40, 15)
    for _ in range(60):
        master.add_cut(float(rng.uniform(900, 1000)), -rng.uniform(0, 100, 40))
    solution = master.solve(cutoff=math.inf, time_limit=0.05)
    assert solution.status is MasterStatus.TIME_LIMIT
    again = master.solve(cutoff=math.inf, time_limit=0.05)
    assert again.status is MasterStatus.TIME_LIMIT


def test_status_is_data(solver) -> None:
    assert solver.status.usable
    assert solver.status.reason == ""
    assert "milp" in solver.status.capabilities
