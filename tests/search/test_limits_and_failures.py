"""Time limits, wrong arguments and back ends that misbehave."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from back_ends import back_ends
from searches import levels_by, supports_by

from mipselect.backends.discovery import solver_by_name
from mipselect.backends.protocols import (
    Capability,
    Master,
    MasterSolution,
    MipStatus,
    SolverStatus,
)
from mipselect.errors import InvalidInput, NotCertified, SolverFailure, UnknownSolver
from mipselect.instance import Instance
from mipselect.search import (
    Progress,
    available_solvers,
    mistake_levels,
    top_supports,
)
from mipselect.search.least_squares import masters

MASTERS = back_ends(Capability.MILP)


def weak_signal(n: int = 60, p: int = 80, s: int = 6) -> Instance:
    """Strongly correlated and nearly pure noise: nothing that a search settles in a second."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.81) * X[:, j]
    return Instance(
        X, rng.standard_normal(n), support_size=s,
        x_bound=2.0, y_bound=2.0, coef_bound=2.0, ridge=0.1,
    )  # fmt: skip


def orthogonal(p: int = 40) -> Instance:
    rng = np.random.default_rng(1)
    X = np.sign(rng.standard_normal((400, p)))
    y = X @ np.where(np.arange(p) < 3, 1.0, 0.05) + rng.standard_normal(400)
    return Instance(X, y, support_size=3, x_bound=1.0, y_bound=3.0, coef_bound=5.0, ridge=1.0)


@pytest.mark.parametrize("solver", ["native", *MASTERS])
@pytest.mark.parametrize("search", [top_supports, mistake_levels])
def test_the_time_limit_ends_in_an_honest_refusal(search, solver: str) -> None:
    instance = weak_signal()
    started = time.monotonic()
    with pytest.raises(
        NotCertified, match=r"time limit of 1 s reached; stopped in stage"
    ) as caught:
        search(instance, solver=solver, time_limit=1.0)
    assert time.monotonic() - started < 5.0
    supports = np.array([np.random.default_rng(k).permutation(80)[:6] for k in range(500)])
    assert caught.value.bound <= instance.objectives(supports).min()
    assert caught.value.incumbent <= instance.objectives(supports).min()
    partial = caught.value.partial
    assert not partial.certified
    assert instance.objectives(partial.supports) == pytest.approx(partial.values, rel=1e-9)
    assert partial.values[0] == caught.value.incumbent


@pytest.mark.parametrize("change", ["order", "repeat", "bound"])
def test_a_pool_that_is_not_what_it_says_is_not_certified(change: str) -> None:
    pool = top_supports(weak_levels(), 10)
    assert pool.certified
    supports, values, rest_bound = pool.supports.copy(), pool.values.copy(), pool.rest_bound
    if change == "order":
        values[[2, 7]] = values[[7, 2]]
    elif change == "repeat":
        supports[4] = supports[3]
    else:
        rest_bound = values[-1] - 1.001 * pool.tolerance * pool.sensitivity
    changed = replace(pool, supports=supports, values=values, rest_bound=rest_bound)
    assert not changed.certified


@pytest.mark.parametrize("change", ["place", "missing", "bound", "optimum"])
def test_levels_that_are_not_what_they_say_are_not_certified(change: str) -> None:
    levels = mistake_levels(weak_levels())
    assert levels.certified
    supports, values, bounds = levels.supports.copy(), levels.values.copy(), levels.bounds.copy()
    if change == "place":
        supports[2] = supports[3]
    elif change == "missing":
        supports, values, bounds = supports[:-1], values[:-1], bounds[:-1]
    elif change == "bound":
        bounds[3] = values[3] - 1.001 * levels.tolerance * levels.sensitivity
    else:
        values[0] = bounds[0] = values[1] + 1e-6
    assert not replace(levels, supports=supports, values=values, bounds=bounds).certified


def test_progress_is_reported() -> None:
    reports: list[Progress] = []
    with pytest.raises(NotCertified):
        top_supports(weak_signal(), time_limit=1.2, progress=reports.append)
    assert len(reports) >= 2
    assert [r.seconds for r in reports] == sorted(r.seconds for r in reports)
    assert reports[-1].stage.startswith("pool")
    assert reports[-1].nodes > 0
    assert reports[-1].bound <= reports[-1].incumbent


def test_an_interrupt_in_the_progress_callback_stops_the_search() -> None:
    def interrupt(report: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mistake_levels(weak_signal(), progress=interrupt)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pool_size": 0}, r"pool_size must be in 1\.\.C\(40, 3\) = 9880, got 0"),
        ({"pool_size": 9881}, "got 9881"),
        ({"pool_size": "two-swap"}, "must be an integer or 'one-swap'"),
        ({"pool_size": 2.5}, "must be an integer or 'one-swap'"),
        ({"tolerance": -0.1}, "tolerance must be"),
        ({"tolerance": float("nan")}, "tolerance must be"),
        ({"time_limit": 0.0}, "time_limit must be"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        top_supports(orthogonal(), **arguments)  # type: ignore[arg-type]


def test_no_ridge_is_refused_by_the_search() -> None:
    instance = Instance(
        np.eye(3), np.ones(3), support_size=1, x_bound=1, y_bound=1, coef_bound=1, ridge=0
    )
    with pytest.raises(InvalidInput, match="needs ridge > 0, got 0"):
        mistake_levels(instance)


def test_unknown_solvers_are_named_with_what_would_work() -> None:
    with pytest.raises(
        UnknownSolver, match=r"'cplex' is not installed; usable here: auto, .*highs"
    ):
        top_supports(orthogonal(), solver="cplex")
    assert {"native", "highs"} <= set(available_solvers())


class Scripted:
    """A back end whose master passes HiGHS' answers through a function."""

    status = SolverStatus("scripted", usable=True, capabilities=frozenset({Capability.MILP}))

    def __init__(self, change) -> None:
        self.change = change

    def master(self, columns: int, cardinality: int) -> Master:
        master = solver_by_name("highs").master(columns, cardinality)
        solve, change = master.solve, self.change
        master.solve = lambda **limits: change(solve(**limits))
        return master


def test_the_scripted_back_end_works_when_it_changes_nothing() -> None:
    expected = mistake_levels(weak_levels(), solver="native")
    levels = levels_by(weak_levels(), Scripted(lambda solution: solution), enumerated=0)
    assert levels.values == pytest.approx(expected.values, rel=1e-9)
    assert levels.effort.masters > 0
    assert levels.effort.iterations > levels.effort.masters
    assert levels.effort.solver == "scripted"


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


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"status": MipStatus.FAILED, "detail": "out of luck"},
            "failed on a master: out of luck",
        ),
        ({"chosen": np.array([0])}, "returned 1 columns where"),
    ],
)
def test_a_back_end_that_fails_is_named(fields: dict[str, object], message: str) -> None:
    proven = r".*; stopped in stage 'level \d': .* proven to be at \d\S+ or above, and \d"
    with pytest.raises(SolverFailure, match=f"scripted {message}{proven}"):
        levels_by(weak_levels(), Scripted(change_of(**fields)), enumerated=0)


@pytest.mark.parametrize("solver", MASTERS)
def test_a_bound_above_a_known_value_is_noticed(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deliberately wrong cuts: raised so far that the master's bound passes a support's value."""
    cut_at = masters.sparse_diagonal_cut

    def raised(sub, H, chosen):
        cut = cut_at(sub, H, chosen)
        wrong = 0.0 if len(chosen) == 0 else 0.05 * abs(cut.constant)
        return type(cut)(cut.constant + wrong, cut.coefficients)

    monkeypatch.setattr(masters, "sparse_diagonal_cut", raised)
    with pytest.raises(SolverFailure, match="its cuts or its bound are wrong"):
        supports_by(weak_levels(), 100, solver, enumerated=0)


def test_a_weak_bound_is_never_dressed_as_a_proof() -> None:
    """A back end that proves nothing leaves the work to the division, and stays exact."""
    expected = mistake_levels(weak_levels(), solver="native")
    nothing_proven = Scripted(change_of(bound=-np.inf))
    levels = levels_by(weak_levels(), nothing_proven, 0.0, enumerated=0)
    assert levels.values == pytest.approx(expected.values, rel=1e-9)
    assert np.all(levels.bounds <= levels.values)
