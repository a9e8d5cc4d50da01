"""Rank correlations against a count of all pairs, and DPKendall's exact privacy loss."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.stats import chisquare, kendalltau

from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling
from mipselect.privacy.audit import largest_loss, law_of
from mipselect.problem import data
from mipselect.problem.layout import laid_out
from mipselect.problem.problem import Problem
from mipselect.selectors import KendallSelector, kendall
from mipselect.selectors.kendall import (
    GRID,
    RelevanceLessRedundancy,
    inversions,
    ranks_of,
)

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 127, 128, 129, 255, 256, 257, 300]
RELATIONS = ["add-remove", "replace-one"]
ROUNDING = 1.0 + 1e-9

Rows = np.ndarray
"""A table whose last column is the target."""


def directly(x: np.ndarray, y: np.ndarray) -> float:
    n = len(x)
    signs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    return n / 2 - 2 * (signs < 0).sum() / 2 / (n - 1) if n > 1 else 0.0


def correlations(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return kendall.correlations(ranks_of(X, 1), ranks_of(y[:, None], 2)[0])


def scorer(rows: Rows, seed: int = 1, redundancy: str = "max") -> RelevanceLessRedundancy:
    *ranks, target = ranks_of(rows, seed)
    singles = laid_out(len(ranks), None, groups=None, always=None)
    return RelevanceLessRedundancy(np.array(ranks), target, singles, redundancy)


@pytest.mark.parametrize("n", SIZES)
def test_correlations_are_those_of_all_pairs(n: int) -> None:
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 4)), rng.normal(size=n)
    X[:, 1], X[:, 2] = y, -y
    expected = [directly(column, y) for column in X.T]
    np.testing.assert_allclose(correlations(X, y), expected, rtol=0.0, atol=GRID)
    if n > 1:
        assert correlations(X, y)[1:3].tolist() == [n / 2, -n / 2]
        scipys = [n / 2 * kendalltau(column, y).statistic for column in X.T]
        np.testing.assert_allclose(correlations(X, y), scipys, rtol=0.0, atol=GRID)


@pytest.mark.parametrize("n", SIZES)
def test_ties_are_broken_and_nothing_else_is_moved(n: int) -> None:
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.integers(0, 2, n), rng.integers(0, n, n), np.ones(n), np.arange(n)])
    rankings = ranks_of(X.astype(float), 3)
    for ranks, column in zip(rankings, X.T, strict=True):
        assert sorted(ranks.tolist()) == list(range(n))
        assert np.all(np.diff(column[np.argsort(ranks)]) >= 0)
    target = rankings[1]
    expected = [directly(ranks, target) for ranks in rankings]
    np.testing.assert_allclose(
        kendall.correlations(rankings, target), expected, rtol=0.0, atol=GRID
    )


@pytest.mark.parametrize("n", [513, 1000, 1537, 5000])
def test_long_columns(n: int) -> None:
    rng = np.random.default_rng(n)
    y = rng.normal(size=n)
    X = rng.normal(size=(n, 60)) + np.linspace(-2.0, 2.0, 60) * y[:, None]
    scipys = [n / 2 * kendalltau(column, y).statistic for column in X.T]
    np.testing.assert_allclose(correlations(X, y), scipys, rtol=0.0, atol=1.01 * GRID)
    backwards = np.arange(n)[::-1]
    assert inversions(backwards[None]).tolist() == [n * (n - 1) // 2]


def test_ties_are_broken_uniformly_and_apart() -> None:
    column = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    X = np.column_stack([column, column])
    found = [ranks_of(X, seed) for seed in range(2400)]
    single = Counter(tuple(ranks[0].tolist()) for ranks in found)
    assert len(single) == 12
    assert chisquare(list(single.values())).pvalue > 1e-4
    pairs = Counter(tuple(ranks.ravel().tolist()) for ranks in found)
    assert len(pairs) == 144
    assert chisquare(list(pairs.values())).pvalue > 1e-4


def ordered(rng: np.random.Generator, n: int) -> np.ndarray:
    """The numbers 0..n-1 in order, backwards, at random, or nearly in order."""
    up = np.arange(n, dtype=float)
    kind = rng.integers(4)
    if kind < 2:
        return up if kind == 0 else -up
    if kind == 2:
        return rng.permutation(up)
    for i in rng.integers(0, n - 1, n // 2):
        up[[i, i + 1]] = up[[i + 1, i]]
    return up


def extreme(rng: np.random.Generator, n: int, size: int) -> np.ndarray:
    """A row that is beyond all others in every column, or now and then among them."""
    row = rng.choice([-n - 1.0, n + 1.0], size)
    if rng.random() < 0.2:
        row[rng.integers(size)] = rng.uniform(-n, n)
    return row + rng.uniform(0.0, 0.4, size)


def pairs(relation: str, p: int, designs: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    rng = np.random.default_rng(seed)
    for _ in range(designs):
        n = int(rng.integers(3, 12))
        rows = np.column_stack([ordered(rng, n) for _ in range(p + 1)])
        kept = rows
        if relation == "replace-one":
            rows, kept = np.vstack([rows, extreme(rng, n, p + 1)]), rows
        for _ in range(6):
            yield rows, np.vstack([kept, extreme(rng, n, p + 1)])


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 1.5), ("replace-one", 2.0)])
def test_the_sensitivity_of_a_correlation(relation: str, sensitivity: float) -> None:
    moves = []
    for rows, other in pairs(relation, 12, 400, seed=6):
        before = correlations(rows[:, :-1], rows[:, -1])
        after = correlations(other[:, :-1], other[:, -1])
        moves.append([np.abs(after - before).max(), np.abs(abs(after) - abs(before)).max()])
    assert len(moves) == 2400
    np.testing.assert_allclose(np.max(moves, axis=0), sensitivity, rtol=1e-12)


def audited(
    relation: str,
    p: int,
    k: int,
    epsilon: float,
    one: float | None = None,
    redundancy: str = "max",
) -> float:
    """The largest loss in units of ε; with Δ = `one`, then 2 `one`, in place of the right ones."""

    def build(rows: Rows) -> AdaptivePeeling:
        if one is None:
            selector = KendallSelector(k, epsilon=epsilon, relation=relation, redundancy=redundancy)
            return selector.mechanism(rows[:, :-1], rows[:, -1])
        widths = [one] + [2 * one] * (k - 1)
        scores = scorer(rows, redundancy=redundancy)
        return AdaptivePeeling(scores, k, epsilon, sensitivities=widths, relation=relation)

    law = law_of(build, list(combinations(range(p), k)))
    found: dict[bytes, np.ndarray] = {}

    def law_once(rows: Rows) -> np.ndarray:
        key = rows.tobytes()
        if key not in found:
            found[key] = law(rows)
        return found[key]

    loss = largest_loss(law_once, pairs(relation, p, 80, seed=k))
    assert loss.pairs == 480
    return loss.epsilon / epsilon


SETTINGS = [(3, 1, 4.0, 0.75), (3, 1, 0.5, 0.45), (5, 2, 6.0, 0.5)]
FURTHER = pytest.param(4, 3, 6.0, 0.25, marks=pytest.mark.deep)


@pytest.mark.parametrize(("p", "k", "epsilon", "reached"), [*SETTINGS, FURTHER])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("redundancy", ["max", "mean"])
def test_audit(
    redundancy: str, relation: str, p: int, k: int, epsilon: float, reached: float
) -> None:
    ratio = audited(relation, p, k, epsilon, redundancy=redundancy)
    print(f"{relation}, p = {p}, k = {k}, ε = {epsilon}: {ratio:.3f} ε")
    assert reached < ratio <= ROUNDING


@pytest.mark.parametrize(("p", "k"), [(3, 1), (5, 2)])
@pytest.mark.parametrize(("relation", "half"), [("add-remove", 0.75), ("replace-one", 1.0)])
def test_half_the_sensitivities_fail(relation: str, half: float, p: int, k: int) -> None:
    assert audited(relation, p, k, 6.0, half) > 1.15


def test_those_of_add_remove_fail_under_replace_one() -> None:
    assert audited("replace-one", 3, 1, 6.0, 1.5) > 1.15


def consistent(column: np.ndarray) -> list[tuple[int, ...]]:
    """Every way to rank a column in which ties may be broken; all are equally likely."""
    n = len(column)
    return [
        ranks
        for ranks in permutations(range(n))
        if all(ranks[i] < ranks[j] for i, j in product(range(n), repeat=2) if column[i] < column[j])
    ]


def test_the_mixture_over_all_ways_to_break_ties() -> None:
    epsilon, singles = 20.0, laid_out(2, None, groups=None, always=None)

    def law_with(sensitivity: float) -> Callable[[Rows], np.ndarray]:
        def law(rows: Rows) -> np.ndarray:
            probabilities = []
            for *columns, target in product(*map(consistent, rows.T)):
                ranks = np.array(columns)
                scores = RelevanceLessRedundancy(ranks, np.array(target), singles)
                mechanism = AdaptivePeeling(scores, 1, epsilon, sensitivities=[sensitivity])
                probabilities.append([mechanism.log_probability([j]) for j in range(2)])
            return np.log(np.exp(probabilities).mean(axis=0))

        return law

    rng = np.random.default_rng(4)
    tied = [rng.integers(0, 3, (4, 3)).astype(float) for _ in range(8)]
    tied.append(np.array([[0, 3, 0], [0, 0, 1], [2, 1, 2], [3, 2, 3], [-9.0, 9, 9]]))
    neighbours = [(rows, rows[:-1]) for rows in tied]
    loss = largest_loss(law_with(1.5), neighbours)
    assert 0.45 * epsilon < loss.epsilon <= epsilon * ROUNDING
    assert largest_loss(law_with(0.5), neighbours).epsilon > 1.3 * epsilon


def test_ties_are_broken_alike_when_a_last_row_comes() -> None:
    """The stated ε holds for every way to break ties: priorities must not depend on n."""
    selector = KendallSelector(1, epsilon=2.0, random_state=7)
    law = law_of(lambda rows: selector.mechanism(rows[:, :-1], rows[:, -1]), [(0,), (1,), (2,)])
    rng = np.random.default_rng(0)
    tables = [rng.integers(0, 2, (int(rng.integers(4, 30)), 4)).astype(float) for _ in range(100)]
    assert largest_loss(law, [(rows, rows[:-1]) for rows in tables]).epsilon <= 2.0 * ROUNDING
    for rows in tables:
        same = ranks_of(rows, 1).argsort(axis=1)
        for column, shorter in zip(same, ranks_of(rows[:-1], 1), strict=True):
            assert column[column < len(rows) - 1].tolist() == shorter.argsort().tolist()


def two_signals_and_a_copy() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    first, second, *noise = rng.normal(size=(5, 400))
    copy = first + 0.01 * rng.normal(size=400)
    return np.column_stack([first, copy, second, *noise]), first + 0.5 * second


def test_a_copy_comes_back_under_the_mean_and_not_under_the_maximum() -> None:
    """Correlations .9, .2, .2, .2, .2 with the target, and a copy of the first: theorem 3.8."""
    rng = np.random.default_rng(11)
    n = 2000
    y = rng.normal(size=n)
    sine = np.sin(np.pi / 2.0 * np.array([0.9, 0.2, 0.2, 0.2, 0.2]))
    X = sine * y[:, None] + np.sqrt(1.0 - sine**2) * rng.normal(size=(n, 5))
    X = np.column_stack([X, X[:, 0] + 1e-6 * rng.normal(size=n)])
    for redundancy, copies in (("mean", 2), ("max", 1)):
        selector = KendallSelector(5, epsilon=1e5, redundancy=redundancy, random_state=0).fit(X, y)
        assert len({0, 5}.intersection(selector.release_.support)) == copies
        two = KendallSelector(2, epsilon=1e5, redundancy=redundancy, random_state=0).fit(X, y)
        assert len({0, 5}.intersection(two.release_.support)) == 1


def test_one_row_and_constant_columns() -> None:
    selector = KendallSelector(2, random_state=0)
    mechanism = selector.mechanism([[1.0, 2.0, 3.0]], [1.0])
    assert mechanism.log_probability([0, 1]) == pytest.approx(-np.log(3.0))
    X, y = two_signals_and_a_copy()
    X[:, 3:] = 1.0
    assert KendallSelector(2, epsilon=1e4).fit(X, y).release_.support in [(0, 2), (1, 2)]
    assert KendallSelector(2).fit(np.zeros((10, 4)), np.zeros(10)).transform(X[:, :4]).shape[1] == 2


def test_seeds_have_256_bits() -> None:
    asked = []

    class Counting(random.Random):
        def getrandbits(self, k: int) -> int:
            asked.append(k)
            return super().getrandbits(k)

    problem = Problem.of_columns(2, None, support_size=1, loss=None)
    KendallSelector().law(problem, data.Rows(np.ones((3, 2)), np.ones(3)), Counting(1))
    assert asked == [256, 256]
