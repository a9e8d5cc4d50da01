"""Stops, wrong arguments and back ends that misbehave: nothing false, and nothing thrown away."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from mipselect.backends.protocols import (
    MipStatus,
)
from mipselect.errors import InvalidInput, NotCertified, SolverFailure
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.search import (
    Progress,
    available_solvers,
    mistake_levels,
    setup,
    top_supports,
)
from mipselect.search.least_squares import cuts, tree
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import (
    TimeUp,
)
from mipselect.search.setup import Enumeration, Search
from mipselect.search.supports import find_levels, find_supports, number_of_listed
from tests.support.counted_searches import spread
from tests.support.designs import (
    DESIGNS,
    LOSSES,
    all_supports,
    distances,
    random_instance,
    random_loss_instance,
    with_loss,
)
from tests.support.scripted_solvers import Scripted, back_ends, change_of, weak_levels
from tests.support.searches import levels_by, run_of, search_by, supports_by

MASTERS = back_ends()


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


@pytest.mark.parametrize("looks", [300, 1500])
@pytest.mark.parametrize("solver", ["native", *MASTERS])
@pytest.mark.parametrize("search", ["supports", "levels"])
def test_the_time_limit_ends_in_an_honest_refusal(search: str, solver: str, looks: int) -> None:
    instance = weak_signal()
    stopped = search_by(instance, solver, run=run_of(looks))
    with pytest.raises(
        NotCertified, match=rf"time limit of {looks} s reached; stopped in stage"
    ) as caught:
        find_supports(stopped, 446) if search == "supports" else find_levels(stopped)
    supports = np.array([np.random.default_rng(k).permutation(80)[:6] for k in range(500)])
    assert caught.value.bound <= instance.objectives(supports).min()
    assert caught.value.incumbent <= instance.objectives(supports).min()
    partial = caught.value.partial
    assert not partial.certified
    assert instance.objectives(partial.supports) == pytest.approx(partial.values, rel=1e-9)
    assert partial.values[0] == partial.values.min() == caught.value.incumbent
    if search == "supports":
        assert np.all(np.diff(partial.values) >= 0.0)


def test_a_better_support_of_an_unfinished_level_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search that stops on its way to a better centre: the levels around the old one go."""
    instance = weak_levels()
    best = mistake_levels(instance)
    worse = int(np.argmax(instance.objectives(all_supports(instance))))
    search = search_by(instance, tolerance=0.0)
    start = all_supports(instance)[worse]
    bad = search.method.center_at(start, instance.objective(start), search.run)
    monkeypatch.setattr(type(search.method), "center", lambda *_: bad)
    found = type(bad).search_level

    def interrupted(center, level, collector, run) -> None:
        found(center, level, collector, run)
        raise TimeUp

    monkeypatch.setattr(type(bad), "search_level", interrupted)
    with pytest.raises(NotCertified) as caught:
        find_levels(search)
    partial = caught.value.partial
    assert len(partial) == 1
    assert best.values[0] <= partial.values[0] < bad.value
    assert partial.values[0] == caught.value.incumbent
    assert caught.value.bound <= best.values[0]


def test_an_interrupted_enumeration_proves_nothing() -> None:
    instance = weak_levels()
    method = Enumeration(instance.prepared, instance.p, batch=10)
    for find in (lambda search: find_supports(search, 3), find_levels):
        search = Search(instance, method, 1e-5, run_of(20))
        with pytest.raises(NotCertified, match="nothing was proven yet") as caught:
            find(search)
        assert caught.value.bound == -np.inf


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
        find_supports(search_by(weak_signal(), run=run_of(1000, reports.append)), 446)
    seconds = [report.seconds for report in reports]
    assert len(reports) > 100
    assert np.all(np.diff(seconds) >= 2.0)
    assert reports[-1].stage.startswith("pool")
    assert reports[-1].nodes > 0
    assert reports[-1].bound <= reports[-1].incumbent


def test_time_passes_in_a_public_search() -> None:
    with pytest.raises(NotCertified, match="time limit of 1e-09 s reached"):
        top_supports(weak_signal(), time_limit=1e-9)
    with pytest.raises(NotCertified, match="time limit of 1e-09 s reached"):
        mistake_levels(weak_levels(), time_limit=1e-9)


def test_an_interrupt_in_the_progress_callback_stops_the_search() -> None:
    def interrupt(report: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mistake_levels(weak_signal(), progress=interrupt)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pool_size": 0}, "pool_size must be an integer ≥ 1, 'one-swap' or 'all', got 0"),
        ({"pool_size": True}, "must be an integer ≥ 1, 'one-swap' or 'all', got True"),
        ({"pool_size": "two-swap"}, "'one-swap' or 'all', got 'two-swap'"),
        ({"pool_size": 2.5}, "must be an integer ≥ 1"),
        ({"tolerance": -0.1}, "tolerance must be"),
        ({"tolerance": float("nan")}, "tolerance must be"),
        ({"tolerance": True}, "tolerance must be a finite number ≥ 0 .* got True"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"time_limit": True}, "time_limit must be a number of seconds > 0, got True"),
        ({"time_limit": float("nan")}, "time_limit must be"),
        ({"progress": 3}, "progress must be callable, got 3"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        top_supports(orthogonal(), **arguments)  # type: ignore[arg-type]


def test_a_pool_is_never_larger_than_there_are_supports() -> None:
    instance = weak_levels()
    assert number_of_listed(instance, "all") == number_of_listed(instance, 10**6) == 495
    pool = top_supports(instance, "all")
    assert len(pool) == 495
    assert pool.rest_bound == np.inf
    assert np.array_equal(pool.supports, top_supports(instance, 10**6).supports)
    assert instance.objectives(pool.supports) == pytest.approx(pool.values, rel=1e-9)


def test_block_scores_are_no_instance_to_search() -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    scores = BlockScores(X, X[:, 0], support_size=1, block_rows=4)
    for search in (mistake_levels, top_supports):
        with pytest.raises(InvalidInput, match="block scores are listed, not searched: Exp"):
            search(scores)


def test_unknown_solvers_are_named_with_what_would_work() -> None:
    with pytest.raises(InvalidInput, match=r"'cplex' is not installed; usable here: auto, .*highs"):
        top_supports(orthogonal(), solver="cplex")
    assert {"native", "highs"} <= set(available_solvers())


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
    cut_at = cuts.sparse_diagonal_cut

    def raised(sub, chosen):
        cut = cut_at(sub, chosen)
        wrong = 0.0 if len(chosen) == 0 else 0.05 * abs(cut.constant)
        return type(cut)(cut.constant - wrong, cut.terms)

    monkeypatch.setattr(cuts, "sparse_diagonal_cut", raised)
    with pytest.raises(SolverFailure, match="its cuts or its bound are wrong"):
        supports_by(weak_levels(), 100, solver, enumerated=0)


STOPPED = ["squared", "huber(1.35)"]


def instance_of(loss: str) -> Instance:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 12)) + 0.2 * rng.standard_normal((300, 1))
    y = X[:, :3] @ [1.0, 0.7, 0.4] + rng.standard_normal(300)
    base = Instance(X, y, support_size=4, x_bound=2.0, y_bound=4.0, coef_bound=2.0, ridge=5.0)
    return with_loss(base, loss)


def some_supports(search: Search) -> SupportPool:
    return find_supports(search, min(34, search.instance.number_of_supports))


class Stopped:
    """Searches of one problem that end after so many looks at the clock, and what they may say."""

    def __init__(self, instance: Instance, **tuned: int) -> None:
        self.instance, self.tuned = instance, tuned
        self.supports = all_supports(instance)
        self.values = instance.objectives(self.supports)
        self.relaxed = search_by(instance).relaxed()
        assert self.relaxed <= self.least(np.ones(len(self.values), dtype=bool))

    def least(self, of: np.ndarray) -> float:
        return float(self.values[of].min(initial=np.inf)) * (1.0 + 1e-9)

    def judged(self, find, looks: int) -> tuple[object, NotCertified | None]:
        """What a search ends with, and its refusal: all that is said is true of what is left."""
        try:
            found, refused = find(search_by(self.instance, run=run_of(looks), **self.tuned)), None
        except NotCertified as error:
            found, refused = error.partial, error
        left = np.ones(len(self.values), dtype=bool)
        if isinstance(found, SupportPool):
            left = np.array([found.position(support) is None for support in self.supports])
            self.judge_pool(found, left)
        elif isinstance(found, MistakeLevels):
            away = distances(self.supports, found.supports[0])
            left = away > 0
            for row, bound in enumerate(found.bounds):
                assert bound <= self.least(away == row)
        if refused is None:
            assert found.certified
        else:
            assert self.relaxed <= refused.bound <= self.least(left)
            self.judge_words(found, str(refused))
        return found, refused

    def judge_pool(self, pool: SupportPool, left: np.ndarray) -> None:
        assert pool.rest_bound <= self.least(left)
        for size in range(1, len(pool) + 1):
            part = pool.first(size)
            assert part.certified == (size <= pool.certified_rows)
            if part.certified:
                best = np.sort(self.values)[:size]
                assert np.all(part.values <= best + part.allowance * (1.0 + 1e-9))

    def judge_words(self, found: object, said: str) -> None:
        if isinstance(found, SupportPool) and found.certified_rows:
            assert said.endswith(f"a pool of {found.certified_rows} is certified")
        if isinstance(found, MistakeLevels) and found.certified_rows > 1:
            assert f"levels 1 to {found.certified_rows - 1} of " in said
            if "the optimum" in said:
                assert found.values[0] <= self.values.min() * (1.0 + 1e-9)


TUNED = {"cheap": 0, "bases": 2, "supports": 2}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relaxation may take as long as it will, on a busy machine too."""
    monkeypatch.setattr(setup, "GRACE", math.inf)


PATIENT = pytest.mark.usefixtures("patient")


@pytest.mark.parametrize("loss", STOPPED)
@pytest.mark.parametrize("tuned", [{}, TUNED])
@pytest.mark.parametrize("find", [some_supports, find_levels])
@PATIENT
def test_a_stopped_search_is_proven_as_far_as_it_says(
    find, tuned: dict[str, int], loss: str
) -> None:
    problem, some = Stopped(instance_of(loss), **tuned), 0
    for looks in range(1, 90, 1 if loss == "squared" else 6):
        found, refused = problem.judged(find, looks)
        some += refused is not None and getattr(found, "certified_rows", 0) > (find is find_levels)
    assert some > 2 or loss != "squared"


@pytest.mark.parametrize("loss", [None, *LOSSES])
@pytest.mark.parametrize("tuned", [{}, {**TUNED, "worth": 0}])
@pytest.mark.parametrize("seed", range(2))
@PATIENT
def test_what_is_said_of_hostile_designs_is_true_whenever_the_search_is_stopped(
    seed: int, loss: str | None, tuned: dict[str, int]
) -> None:
    for design in [partial(random_loss_instance, loss=loss)] if loss else DESIGNS:
        problem = Stopped(design(seed), **tuned)
        for find in (some_supports, find_levels):
            for looks in range(1, 60, 1 if loss is None else 3):
                if problem.judged(find, looks)[1] is None:
                    break


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("loss", [*STOPPED, "hinge", "quantile(0.5)"])
@pytest.mark.parametrize("find", [some_supports, find_levels])
@PATIENT
def test_a_refusal_says_what_is_proven_and_how_far_that_is(loss: str, early: bool, find) -> None:
    problem = Stopped(instance_of(loss))
    _, refused = problem.judged(find, 1 if early else 9)
    assert refused is not None
    assert 0.8 * problem.values.min() <= refused.bound
    assert early or re.search(r"was (needed|found): a gap of \d\S*, \d+% of", str(refused))


@pytest.mark.parametrize("seed", range(0, 60, 20))
@pytest.mark.parametrize("quick", [0, 1024])
@PATIENT
def test_relaxations_are_below_every_support(
    quick: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "QUICK_COLUMNS", quick)
    for design in [*DESIGNS, *(partial(random_loss_instance, loss=loss) for loss in LOSSES)]:
        for k in range(seed, seed + 20):
            Stopped(design(k))


@pytest.mark.deep
@PATIENT
def test_the_bound_of_a_refusal_is_the_least_of_all_open_nodes() -> None:
    """Nodes that are left open deep in a level are bounded better than all supports together."""
    problem, better = Stopped(spread(30, 18, 6, 0.5, 0.3, 0.01), cheap=0), 0
    for looks in range(1, 220, 3):
        _, refused = problem.judged(find_levels, looks)
        better += refused is not None and refused.bound > 1.05 * problem.relaxed
    assert better > 3


@pytest.mark.parametrize("loss", STOPPED)
@pytest.mark.parametrize("find", [some_supports, find_levels])
def test_a_certificate_that_is_complete_when_time_is_up_is_kept(
    loss: str, find, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = instance_of(loss)
    search = search_by(instance)
    center = search.method.center(instance.support_size, search.run)
    complete, last = type(center).search_level, search.levels - 1

    def late(self, level, collector, run) -> None:
        complete(self, level, collector, run)
        if level == last:
            raise TimeUp

    monkeypatch.setattr(type(center), "search_level", late)
    assert find(search).certified


@pytest.mark.parametrize("seed", range(20))
def test_a_part_of_a_pool_is_the_smaller_pool(seed: int) -> None:
    instance = random_instance(seed)
    pool = supports_by(instance, 12, tolerance=0.0)
    assert pool.certified_rows == len(pool)
    for rows in range(1, len(pool) + 1):
        part, smaller = pool.first(rows), supports_by(instance, rows, tolerance=0.0)
        assert part.certified
        assert part.values == pytest.approx(smaller.values, rel=1e-12)


@pytest.mark.parametrize("rows", [0, 13, True, 1.0])
def test_a_part_has_at_least_one_row_and_at_most_all(rows: object) -> None:
    pool = find_supports(search_by(instance_of("squared")), 12)
    with pytest.raises(InvalidInput, match=r"rows must be an integer in 1\.\.12"):
        pool.first(rows)  # type: ignore[arg-type]
