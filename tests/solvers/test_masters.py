"""What every back end must do: its masters, and searches on them against brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from mipselect.backends import MipStatus, solver_by_name
from mipselect.errors import SolverFailure
from mipselect.problem.instance import Instance
from mipselect.problem.stored import load_instance
from mipselect.search import mistake_levels
from tests.soak.certificates import Liar, check, grouped_problem, problem
from tests.support.designs import DESIGNS, Design, random_grouped_instance, with_loss
from tests.support.scripted_solvers import BY_PYOMO, back_ends
from tests.support.searches import ENDLESS, check_search, levels_by

SLACK = 0.05
"""Units, of which τ has 100: how far a bound may stay below the optimum."""

NO_LIMIT = {"cutoff": math.inf, "time_limit": math.inf}


@pytest.fixture(params=back_ends())
def solver(request: pytest.FixtureRequest):
    return solver_by_name(request.param)


def subsets(columns: int, size: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(columns), size))


def brute(cuts, choices) -> float:
    return min((max(k + a[list(c)].sum() for k, a in cuts) for c in choices), default=math.inf)


def random_cuts(rng: np.random.Generator, columns: int, count: int):
    return [(float(rng.uniform(0, 1000)), -rng.uniform(0, 300, columns)) for _ in range(count)]


def hard(master) -> None:
    """Sixty weak cuts on 40 columns, 15 to be chosen: nothing that takes a second only."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        master.add_cut(float(rng.uniform(900, 1000)), -rng.uniform(0, 100, 40))


def test_minimum_of_cuts_and_its_bound(solver) -> None:
    rng = np.random.default_rng(0)
    for columns, size in ((6, 2), (9, 3), (12, 4)):
        master = solver.master(columns, size)
        cuts, excluded = [], []
        for cut in random_cuts(rng, columns, 12):
            cuts.append(cut)
            master.add_cut(*cut)
            expected = brute(cuts, [c for c in subsets(columns, size) if c not in excluded])
            solution = master.solve(**NO_LIMIT)
            assert solution.status is MipStatus.OPTIMAL
            assert expected - SLACK <= solution.bound <= expected + 1e-9
            chosen = tuple(solution.chosen.tolist())
            assert chosen not in excluded
            assert max(k + a[list(chosen)].sum() for k, a in cuts) <= expected + SLACK
            master.exclude(solution.chosen)
            excluded.append(chosen)


def test_counts_of_columns(solver) -> None:
    rng = np.random.default_rng(1)
    center = np.array([0, 3, 4])
    for least, most in ((3, 3), (2, 2), (0, 1), (1, 3), (0, 0)):
        cuts = random_cuts(rng, 8, 5)
        master = solver.master(8, 3)
        for cut in cuts:
            master.add_cut(*cut)
        master.count(center, least, most)
        near = [c for c in subsets(8, 3) if least <= len(set(c) & {0, 3, 4}) <= most]
        assert master.solve(**NO_LIMIT).bound == pytest.approx(brute(cuts, near), abs=SLACK)
        master.count(np.array([0]), 0, 0)
        both = brute(cuts, [c for c in near if 0 not in c])
        solution = master.solve(**NO_LIMIT)
        assert (solution.status is MipStatus.INFEASIBLE) == (both == math.inf)
        assert solution.bound == pytest.approx(both, abs=SLACK)
    master = solver.master(8, 3)
    master.add_cut(100.0, np.arange(8.0))
    master.count(np.array([6, 7]), 2, 2)
    assert master.solve(**NO_LIMIT).chosen.tolist() == [0, 6, 7]


def test_excluding_everything_makes_it_infeasible(solver) -> None:
    master = solver.master(4, 2)
    master.add_cut(0.0, np.zeros(4))
    for choice in subsets(4, 2):
        assert master.solve(**NO_LIMIT).chosen is not None
        master.exclude(np.array(choice))
    solution = master.solve(**NO_LIMIT)
    assert solution.status is MipStatus.INFEASIBLE
    assert solution.chosen is None
    assert solution.bound == math.inf


def test_a_cutoff_proves_no_more_than_itself(solver) -> None:
    master = solver.master(5, 2)
    master.add_cut(10.0, -np.arange(5.0))
    assert master.solve(cutoff=20.0, time_limit=math.inf).bound == pytest.approx(3.0, abs=SLACK)
    solution = master.solve(cutoff=2.0, time_limit=math.inf)
    assert solution.chosen is None
    assert 2.0 - SLACK <= solution.bound <= 3.0
    assert master.solve(cutoff=5.0, time_limit=math.inf).chosen.tolist() == [3, 4]


def test_one_column_and_all_columns(solver) -> None:
    for columns in (1, 8):
        master = solver.master(columns, columns)
        master.add_cut(7.0, np.full(columns, -1.0))
        solution = master.solve(**NO_LIMIT)
        assert solution.chosen.tolist() == list(range(columns))
        assert 7.0 - columns - SLACK <= solution.bound <= 7.0 - columns


def test_thousands_of_cuts_or_a_clear_word_about_the_licence(solver) -> None:
    rng = np.random.default_rng(3)
    cuts = random_cuts(rng, 8, 3000)
    limit = solver.status.limit
    allowed = len(cuts) if limit is None else limit.rows - 1
    master = solver.master(8, 3)
    for cut in cuts[:allowed]:
        master.add_cut(*cut)
    expected = brute(cuts[:allowed], subsets(8, 3))
    assert master.solve(**NO_LIMIT).bound == pytest.approx(expected, abs=SLACK)
    if limit is not None:
        with pytest.raises(
            SolverFailure, match=r"licence allows .* rows, this model has .* larger"
        ):
            master.add_cut(*cuts[allowed])
        with pytest.raises(SolverFailure, match=r"licence allows .* columns"):
            solver.master(limit.columns, 3)


def test_no_time_left_is_reported_as_such(solver) -> None:
    master = solver.master(40, 15)
    hard(master)
    for _ in range(2):
        solution = master.solve(cutoff=math.inf, time_limit=0.05)
        assert solution.status is MipStatus.TIME_LIMIT
        assert solution.bound == -math.inf


def test_threads_and_seeds_change_no_answer(solver) -> None:
    cuts = random_cuts(np.random.default_rng(6), 14, 25)
    bounds = []
    for threads, seed in ((None, 0), (1, 1), (2, 20), (1, 300)):
        master = solver_by_name(solver.status.name, threads=threads, seed=seed).master(14, 5)
        for cut in cuts:
            master.add_cut(*cut)
        bounds.append(master.solve(**NO_LIMIT).bound)
    assert bounds == pytest.approx([brute(cuts, subsets(14, 5))] * 4, abs=SLACK)


def test_one_thread_and_one_seed_repeat_themselves(solver) -> None:
    runs = []
    for _ in range(2):
        master = solver_by_name(solver.status.name, threads=1, seed=5).master(20, 6)
        rng = np.random.default_rng(7)
        steps = []
        for cut in random_cuts(rng, 20, 8):
            master.add_cut(*cut)
            solution = master.solve(**NO_LIMIT)
            master.exclude(solution.chosen)
            steps.append((solution.chosen.tolist(), solution.bound, solution.nodes))
        runs.append(steps)
    assert runs[0] == runs[1]


SLOW = ("cbc", "glpk", BY_PYOMO)
"""Each solve goes through Pyomo, or starts a process: fewer instances do."""


@pytest.fixture(params=back_ends())
def name(request: pytest.FixtureRequest) -> str:
    return request.param


MASTERS_ONLY = {"enumerated": 0, "patience": ENDLESS}
"""Small subproblems go to a master too, and it is not given up."""


def correlated(seed: int, p: int, s: int, n: int = 60) -> Instance:
    """Nearly pure noise on correlated columns: the bounds decide little, the masters much."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.49) * X[:, j]
    return Instance(
        X, X[:, 0] + 2.0 * rng.standard_normal(n), support_size=s,
        x_bound=2.0, y_bound=3.0, coef_bound=2.0, ridge=4.0,
    )  # fmt: skip


CORRELATED = correlated(1, p=11, s=3)


def grouped(base: Instance) -> Instance:
    """The same columns: features of one to three, one that is always in, an intercept."""
    groups = [[0, 1], [2], [3, 4, 5], [6], [7, 8], [9], *([j] for j in range(10, base.p - 1))]
    return Instance(
        base.X, base.y, support_size=base.support_size, x_bound=2.0, y_bound=3.0, coef_bound=2.0,
        ridge=4.0, groups=groups, always=[base.p - 1], intercept=True,
    )  # fmt: skip


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(4))
def test_small_instances_that_hurt(name: str, seed: int, design: Design) -> None:
    masters = 0
    for k in range(2 if name in SLOW else 12):
        tolerance = float(np.random.default_rng(k).choice([0.0, 0.05]))
        masters += check_search(design(100 * seed + k), name, tolerance, **MASTERS_ONLY)
    if name not in SLOW:
        assert masters > 0


def test_instances_that_need_many_cuts(name: str) -> None:
    for seed in range(1 if name in SLOW else 3):
        for instance in (correlated(seed, p=11, s=4), grouped(correlated(seed, p=15, s=4))):
            assert check_search(instance, name, 0.05, [20], **MASTERS_ONLY) > 0


@pytest.mark.parametrize("loss", ["huber(0.3)", "hinge"])
def test_grouped_instances_of_other_losses(name: str, loss: str) -> None:
    masters = 0
    for seed in range(1 if name in SLOW else 4):
        base = random_grouped_instance(seed + 20, max_p=6, max_s=3) if seed else grouped(CORRELATED)
        masters += check_search(with_loss(base, loss), name, 0.05, **MASTERS_ONLY)
    if name not in SLOW:
        assert masters > 0


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_the_paper_setting_with_a_hundred_features(name: str, tolerance: float) -> None:
    """All 75 million supports were enumerated once; the file says with which result."""
    instance = load_instance("paper-p100")
    levels = mistake_levels(instance, solver=name, tolerance=tolerance)
    known = mistake_levels(instance, solver="native", tolerance=0.0)
    slack = tolerance * instance.sensitivity
    assert levels.supports[0].tolist() == known.supports[0].tolist() == [1, 3, 5, 7, 9]
    assert np.all(levels.values >= known.values * (1 - 1e-9))
    assert np.all(levels.values <= known.values * (1 + 1e-9) + slack)
    assert np.all(levels.bounds <= known.values * (1 + 1e-9))
    assert levels.effort.masters > 0


def test_threads_and_seeds_reach_the_search(name: str) -> None:
    instance = correlated(5, p=9, s=3)
    solvers = [solver_by_name(name, threads=threads, seed=3) for threads in (1, 2)]
    found = [levels_by(instance, solver, 0.0, **MASTERS_ONLY) for solver in solvers]
    for levels in found:
        assert levels.values == pytest.approx(found[0].values, rel=1e-9)
        assert levels.effort.solver == name


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
