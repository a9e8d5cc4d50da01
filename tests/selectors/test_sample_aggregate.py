"""Votes of blocks: the law over all partitions, its ε, and the ballots of the Lasso."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import combinations, pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from mipselect.mechanisms import OneShotTopK, SampleAggregate
from mipselect.mechanisms.scores.sample_aggregate import PARTITIONS
from mipselect.privacy.audit import largest_loss
from mipselect.selectors.sample_aggregate import lasso_ballot, lasso_path

Table = np.ndarray
WIDTH = 12


def flipping(X: Table, y: Table) -> list[int]:
    """A row with y > 0 takes the vote from item 0 and gives it to all the others."""
    return list(range(1, WIDTH)) if (y > 0.0).any() else [0]


def built(y: Table, **options: Any) -> SampleAggregate:
    X = np.arange(len(y) * WIDTH, dtype=float).reshape(len(y), WIDTH)
    settings = {"epsilon": 2.0, "k": 1, "ballot": flipping, **options}
    return SampleAggregate(X, y, **settings)


def partitions(rows: int, count: int, relation: str) -> Iterator[list[list[int]]]:
    if relation == "add-remove":
        for labels in product(range(count), repeat=rows):
            yield [[i for i in range(rows) if labels[i] == block] for block in range(count)]
    else:
        for order in permutations(range(rows)):
            yield [list(part) for part in np.array_split(np.array(order), count)]


def enumerated(mechanism: SampleAggregate, *, sensitivity: float = 1.0) -> Table:
    """Probabilities of all items, k = 1, a row for every partition: they are equally likely."""
    y, count = np.asarray(mechanism.y), mechanism.n_blocks
    assert count is not None
    laws = []
    for blocks in partitions(y.size, count, mechanism.relation):
        votes = mechanism.votes([rows for rows in blocks if rows])
        logs = mechanism.epsilon * votes / (2.0 * sensitivity)
        laws.append(np.exp(logs - np.logaddexp.reduce(logs)))
    return np.array(laws)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n_blocks", [1, 2, 3])
def test_the_estimate_and_the_draws_have_the_law_over_all_partitions(
    relation: str, n_blocks: int
) -> None:
    y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    mechanism = built(y, n_blocks=n_blocks, relation=relation)
    laws = enumerated(mechanism)
    found = np.exp([mechanism.log_probability([j]) for j in range(WIDTH)])
    exact, spread = laws.mean(axis=0), laws.std(axis=0)
    assert (np.abs(found - exact) <= 3.0 * spread / math.sqrt(PARTITIONS) + 1e-12).all()
    assert found.sum() == pytest.approx(1.0)
    source = random.Random(2)
    zeros = sum(mechanism.sample(source) == (0,) for _ in range(3000))
    share = exact[0]
    assert abs(zeros / 3000 - share) <= 5.0 * math.sqrt(share * (1.0 - share) / 3000)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n_blocks", [1, 2])
def test_the_law_keeps_its_epsilon_and_half_the_sensitivity_does_not(
    relation: str, n_blocks: int
) -> None:
    quiet = np.full(4, -1.0)
    loud = np.append(quiet, 1.0) if relation == "add-remove" else np.append(quiet[1:], 1.0)

    def law(y: Table, sensitivity: float) -> Table:
        mechanism = built(y, n_blocks=n_blocks, relation=relation)
        return np.log(enumerated(mechanism, sensitivity=sensitivity).mean(axis=0))

    pairs = [(quiet, loud), (loud, quiet)]
    found = largest_loss(lambda y: law(y, 1.0), pairs)
    assert 0.6 * 2.0 < found.epsilon <= 2.0 * (1.0 + 1e-9)
    assert largest_loss(lambda y: law(y, 0.5), pairs).epsilon > 2.2


def test_laplace_noise_of_its_stated_scale_keeps_epsilon() -> None:
    noise = partial(OneShotTopK, noise="laplace")
    for k in (1, 2):
        outcomes = list(combinations(range(WIDTH), k))

        def law(y: Table, k: int = k, outcomes: Any = outcomes) -> list[float]:
            mechanism = built(y, n_blocks=1, k=k, top_k=noise)
            return [mechanism.log_probability(outcome) for outcome in outcomes]

        pair = (np.full(3, -1.0), np.array([-1.0, -1.0, -1.0, 1.0]))
        assert 0.6 < largest_loss(law, [pair]).epsilon <= 2.0 * (1.0 + 1e-9)


def test_how_many_blocks_there_are_and_what_the_count_costs() -> None:
    counted: list[int] = []

    def ballot(X: Table, y: Table) -> list[int]:
        counted.append(len(y))
        return [0, 0]

    y = np.zeros(103)
    replaced = built(y, relation="replace-one", ballot=ballot)
    replaced.sample(0)
    assert sorted(counted) == [10] * 7 + [11] * 3
    assert replaced.selection(np.zeros(WIDTH)).guarantee.epsilon == 2.0
    counted.clear()
    noisy = built(y, ballot=ballot, epsilon=1000.0)
    noisy.sample(0)
    assert sum(counted) == 103
    assert len(counted) == 10
    left = noisy.selection(np.zeros(WIDTH)).guarantee.epsilon
    assert left + 50.0 <= 1000.0
    assert left == pytest.approx(950.0)
    assert noisy.guarantee.epsilon == 1000.0
    public = built(y, n_blocks=4, epsilon=3.0)
    assert public.selection(np.zeros(WIDTH)).guarantee.epsilon == 3.0
    assert noisy.votes([[0], [1], [2]])[0] == 3.0


def block_sizes(n: int, **options: Any) -> list[int]:
    """The sizes of the blocks of one draw that have rows."""
    counted: list[int] = []

    def ballot(X: Table, y: Table) -> list[int]:
        counted.append(len(y))
        return [0]

    built(np.zeros(n), ballot=ballot, **options).sample(3)
    return sorted(counted)


def test_blocks_are_balanced() -> None:
    """At a large ε the noisy number of rows is the true one, give or take one."""
    sizes = block_sizes(400, epsilon=1e5, k=4)
    assert sum(sizes) in (399, 400)
    assert len(sizes) in (19, 20)
    assert sizes[0] >= 19
    assert sizes[-1] <= 22
    by_k = block_sizes(400, epsilon=1e5, k=4, n_blocks="n/k")
    assert len(by_k) in (99, 100)
    assert by_k[-1] == 4
    assert by_k[:3] in ([3, 4, 4], [4, 4, 4])
    assert block_sizes(40, relation="replace-one", k=4, n_blocks="n/k") == [4] * 10
    assert block_sizes(3, relation="replace-one", k=4, n_blocks="n/k") == [3]
    # Too few places: rows are left out. Too many: places stay empty.
    for rng in range(30):
        counted: list[int] = []

        def ballot(X: Table, y: Table, counted: list[int] = counted) -> list[int]:
            counted.append(len(y))
            return [0]

        built(np.zeros(50), ballot=ballot, epsilon=0.5, k=2, n_blocks="n/k").sample(rng)
        assert max(counted) <= 2
        assert sum(counted) <= 50


def divisions(rows: int, count: int, height: int) -> Iterator[list[list[int]]]:
    """Every injection of rows into places, or of places into rows, as blocks."""
    total = count * height
    for taken in permutations(range(max(rows, total)), min(rows, total)):
        place_of = dict(enumerate(taken)) if rows <= total else {r: p for p, r in enumerate(taken)}
        yield [
            [row for row in place_of if place_of[row] // height == block] for block in range(count)
        ]


@pytest.mark.parametrize("rows", [2, 3, 4, 5])
def test_a_law_over_balanced_blocks_keeps_its_epsilon(rows: int) -> None:
    """Two blocks of two places, and one row more or less: below, at and above four rows."""
    rng = np.random.default_rng(rows)
    epsilon, worst, halved = 2.0, 0.0, 0.0
    for _ in range(25):
        votes = {
            key: rng.integers(0, WIDTH, 3).tolist()
            for size in range(3)
            for key in combinations(range(rows + 1), size)
        }

        def law(n: int, sensitivity: float, votes: Any = votes) -> Table:
            laws = []
            for blocks in divisions(n, 2, 2):
                counts = np.zeros(WIDTH)
                for block in blocks:
                    if block:
                        counts[sorted(set(votes[tuple(sorted(block))]))] += 1.0
                logs = epsilon * counts / (2.0 * sensitivity)
                laws.append(np.exp(logs - np.logaddexp.reduce(logs)))
            return np.log(np.mean(laws, axis=0))

        one, other = law(rows, 1.0), law(rows + 1, 1.0)
        worst = max(worst, float(np.abs(one - other).max()))
        halved = max(halved, float(np.abs(law(rows, 0.25) - law(rows + 1, 0.25)).max()))
    assert worst <= epsilon
    assert halved > worst


def test_the_ballots_of_the_published_baselines() -> None:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(40, 8)) + 3.0
    y = 5.0 + X[:, 1] - 2.0 * X[:, 4] + 0.5 * X[:, 6] + 0.1 * rng.normal(size=40)
    for alpha in (0.05, 0.5):
        ones = np.column_stack([X, np.ones(40)])
        model = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=10**6).fit(ones, y)
        order = np.argsort(-np.abs(model.coef_[:8]))[:3].tolist()
        assert lasso_ballot(X, y, k=3, alpha=alpha, penalise_intercept=True) == order
        free = Lasso(alpha=alpha, tol=1e-12, max_iter=10**6).fit(X, y).coef_
        found = lasso_ballot(X, y, k=8, alpha=alpha)
        assert sorted(found) == np.flatnonzero(free).tolist()
        assert lasso_ballot(X, y, k=2, alpha=alpha) == found[:2]
    assert lasso_ballot(X[:1], y[:1], k=8, alpha=1.0) == []


@pytest.mark.deep
def test_the_ballot_of_the_path_is_the_first_model_with_k_and_has_no_units() -> None:
    rng = np.random.default_rng(7)
    for _ in range(8):
        X, k = rng.normal(size=(25, 10)), int(rng.integers(1, 5))
        y = X[:, :4] @ rng.normal(size=4) + rng.normal(size=25)
        found = set(lasso_ballot(X, y, k=k))
        for penalty in np.geomspace(3.0, 1e-3, 4000):
            coef = Lasso(alpha=penalty, tol=1e-10).fit(X, y).coef_
            if np.count_nonzero(coef) >= k:
                break
        assert found == set(np.argsort(-np.abs(coef))[:k].tolist())
        assert found == set(lasso_ballot(1e4 * X, 1e-6 * y + 3.0, k=k))


KINDS = ("normal", "signs", "related", "wide", "equal", "sums")


def centred(table: np.ndarray) -> np.ndarray:
    table = table - table.mean(axis=0)
    return table / (np.abs(table).max() or 1.0)


def problem(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    m, p = int(rng.integers(2, 40)), int(rng.integers(1, 25))
    if kind == "wide":
        p += m
    X = rng.normal(size=(m, p))
    if kind == "signs":
        X = np.sign(X)
    if kind == "related":
        X = X @ rng.normal(size=(p, p))
    if kind == "equal":
        X = np.hstack([X, X[:, ::-1], -X[:, :1], np.zeros((m, 1))])
    if kind == "sums" and p > 2:
        X[:, 2] = X[:, 0] + X[:, 1]
    y = X @ (rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < 0.4))
    y += rng.normal(size=m) * rng.choice([0.0, 0.1, 10.0])
    return centred(X), centred(y)


def violation(X: np.ndarray, y: np.ndarray, penalty: float, coef: np.ndarray) -> float:
    """How far from the optimality conditions: |c| ≤ λ, and c = λ sign(β) where β is not zero."""
    c = X.T @ (y - X @ coef)
    inside = np.abs(c).max() - penalty
    return float(max(inside, np.abs(c - penalty * np.sign(coef))[coef != 0.0].max(initial=0.0)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_of_the_path_is_optimal_and_it_goes_all_the_way(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    left = 0
    for _ in range(60):
        X, y = problem(kind, rng)
        segments = list(lasso_path(X, y))
        start = np.abs(X.T @ y).max()
        if not segments:
            assert start == 0.0
            continue
        assert segments[0].penalties[0] == start
        assert segments[-1].penalties[1] <= 1e-9 * start
        for segment in segments:
            first, last = segment.penalties
            assert last <= first
            for penalty in (first, last, (first + last) / 2.0):
                assert violation(X, y, penalty, segment.at(penalty)) <= 1e-9 * start
            np.testing.assert_allclose(segment.middle, segment.at((first + last) / 2.0), atol=1e-9)
        for one, other in pairwise(segments):
            assert one.penalties[1] == other.penalties[0]
            assert one.ends[1] is other.ends[0]
            left += int(((one.middle != 0.0) & (other.middle == 0.0)).sum())
    assert left > 0


HOSTILE = [0.0, 1.0, -1.0, 3.0, 5e-324, 1e-300, 1e-160, 1e16, 1e154, 1e200, 1e308, -1e308, 1.7e308]


@pytest.mark.parametrize("alpha", [None, 5e-324, 1e-3, 1.0, 1e300])
def test_no_rows_make_a_ballot_fail_or_speak(alpha: float | None) -> None:
    """Warnings are errors in these tests."""
    rng = np.random.default_rng(11)
    for _ in range(600):
        m, p, k = (int(rng.integers(1, top)) for top in (7, 6, 4))
        X = rng.choice(HOSTILE, (m, p))
        y = rng.choice(HOSTILE, m) if rng.random() < 0.7 else X[:, 0]
        ballot = lasso_ballot if alpha is None else partial(lasso_ballot, alpha=alpha)
        found = ballot(X, y, k=k)
        assert len(set(found)) == len(found) <= k
        assert set(found) <= set(range(p))


PROGRAM = """
import sys, numpy as np
from joblib import parallel_config
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from mipselect import Ledger
from mipselect.selectors import SampleAggregateSelector

ledger = Ledger(100.0, relation="add-remove")
X = np.random.default_rng(0).normal(size=(600, 60))
y = np.zeros(600)
y[17] = float(sys.argv[1])
for alpha in (None, 1e-3):
    selector = SampleAggregateSelector(5, alpha=alpha, ledger=ledger)
    model = make_pipeline(selector, LinearRegression())
    with parallel_config(backend="threading"):
        cross_val_score(model, np.hstack([X, X]), y, n_jobs=4, error_score="raise")
"""


@pytest.mark.deep
@pytest.mark.parametrize("entry", ["0", "1000"])
def test_threads_say_nothing_on_either_of_two_neighbours(entry: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", PROGRAM, entry],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
