"""Scores of very many rows move by no more than Δ, in exact arithmetic, and are no further off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mipselect.mechanisms.scores.base import differences
from mipselect.privacy.audit import largest_loss, law_of
from mipselect.problem.layout import laid_out
from mipselect.selectors import SISSelector
from mipselect.selectors.kendall import GRID, RelevanceLessRedundancy, tau
from mipselect.selectors.sis import exact_lengths

ROWS = [2, 3, 100, 4097, 10**7, 94_906_267, 2**31 - 1]
ADDED, REPLACED = Fraction(3, 2), Fraction(2)


def exact_tau(discordant: int, n: int) -> Fraction:
    return Fraction(n, 2) - Fraction(2 * discordant, n - 1)


def neighbours(n: int, seed: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Discordant pairs of n rows, and (n', d') after a row was added or replaced."""
    rng = np.random.default_rng(seed)
    most = n * (n - 1) // 2
    middle = [most // 2 + int(k) for k in rng.integers(-3, 4, 8)]
    for d in {0, most, *(min(max(0, k), most) for k in middle), int(rng.integers(most + 1))}:
        for k in (0, n, int(rng.integers(n + 1))):
            if n < 2**31 - 1:
                yield d, (n + 1, d + k)
        for k in (1 - n, n - 1, -1, 1, int(rng.integers(1 - n, n))):
            if 0 <= d + k <= most:
                yield d, (n, d + k)


def taus(discordant: list[int], n: int) -> np.ndarray:
    return tau(np.array(discordant, dtype=np.int64), n)


@pytest.mark.parametrize("n", ROWS)
def test_tau_is_exact_to_the_grid_and_moves_by_no_more_than_delta(n: int) -> None:
    for d, (m, e) in neighbours(n, 1):
        one, two = (Fraction(float(taus([k], size)[0])) for k, size in ((d, n), (e, m)))
        true = exact_tau(d, n)
        assert (one / Fraction(GRID)).denominator == 1
        assert abs(one) <= abs(true) < abs(one) + Fraction(GRID)
        assert one * true >= 0
        allowed = REPLACED if m == n else ADDED
        assert abs(true - exact_tau(e, m)) <= allowed
        assert abs(one - two) <= allowed


@dataclass(frozen=True)
class Table:
    """Rank correlations by the numbers of discordant pairs: of p columns, the target last."""

    n: int
    discordant: np.ndarray

    def scorer(self, redundancy: str) -> RelevanceLessRedundancy:
        """The scores, with the strengths of all columns as if they were computed already."""
        singles, none = laid_out(5, None, groups=None, always=None), np.empty(0, dtype=np.int32)
        scores = RelevanceLessRedundancy(none, none, singles, redundancy)
        for c in range(-1, len(self.discordant) - 1):
            scores._kept[c] = np.abs(tau(self.discordant[c, :-1], self.n))
        return scores


def hostile_pair(n: int, added: bool, rng: np.random.Generator) -> tuple[Table, Table]:
    """All pairs of columns move as far as one row can move them, up or down."""
    p, m = 5, n + added
    most, after = n * (n - 1) // 2, m * (m - 1) // 2
    before = rng.integers(0, most + 1, (p + 1, p + 1))
    near = rng.random(before.shape) < 0.5
    before = np.where(near, np.clip(most // 2 + rng.integers(-5, 6, before.shape), 0, most), before)
    moves = np.array([0, n] if added else [1 - n, n - 1])
    moved = np.clip(before + rng.choice(moves, before.shape), 0, after)
    return Table(n, before), Table(m, moved)


@pytest.mark.parametrize("redundancy", ["max", "mean"])
@pytest.mark.parametrize("n", [3, 1000, 10**7, 2**31 - 2])
def test_relevance_less_redundancy_is_exact(n: int, redundancy: str) -> None:
    """Differences are what mechanisms look at: in doubles they are those of fractions."""
    rng = np.random.default_rng(3)
    largest = Fraction(0)
    for trial in range(30):
        added = trial % 2 == 0
        allowed = 2 * (ADDED if added else REPLACED)
        pair = hostile_pair(n, added, rng)
        for chosen in ((0,), (0, 2), (0, 1, 3)):
            one, two = (table.scorer(redundancy)(chosen) for table in pair)
            for a in range(5):
                move = Fraction(float(one[a])) - Fraction(float(two[a]))
                assert abs(move) <= allowed
                largest = max(largest, abs(move) / allowed)
                strengths = [abs(exact_tau(int(pair[0].discordant[c, a]), n)) for c in chosen]
                redundant = max(strengths) if redundancy == "max" else sum(strengths) / len(chosen)
                true = abs(exact_tau(int(pair[0].discordant[-1, a]), n)) - redundant
                assert abs(Fraction(float(one[a])) - true) <= 2 * Fraction(GRID)
            for a in range(5):
                gap = Fraction(float(one[a])) - Fraction(float(one[0]))
                assert Fraction(float(differences(one[a : a + 1], one[0])[0])) == gap
    assert largest > Fraction(1, 2)


def summed_lengths(sums: list[int]) -> np.ndarray:
    """Scores of sums over rows which no memory could hold."""
    products = np.zeros((len(sums) + 1, 2), dtype=np.int64)
    products[1:, 1] = sums
    return exact_lengths(products, np.arange(len(sums) + 1))


@pytest.mark.parametrize("n", [2**21 - 1, 2**21, 10**7, 2**29 + 3, 2**31 - 2])
def test_sis_of_very_many_rows_moves_by_no_more_than_delta(n: int) -> None:
    """Beyond 2^21 rows a sum has more digits than a double; Δ is 1 where a row is added."""
    rng = np.random.default_rng(n)
    unit, largest = 2**32, 0.0
    near = [n * unit, (n - 1) * unit + 1, 2**53 - unit, 2**53 + 1, n * unit // 2 + 512]
    before = [v for v in near if v < n * unit]
    before += [int(v) for v in rng.integers(0, (n - 1) * unit, 200)]
    before += [v - v % 2048 + 1024 - more for v in before[-100:] for more in (0, 1)]
    for sign in (1, -1):
        sums = [sign * v for v in before]
        one, two = summed_lengths(sums), summed_lengths([v + sign * unit for v in sums])
        for v, a, b in zip(before, one, two, strict=True):
            assert 0 <= Fraction(v, unit) - Fraction(float(a)) <= Fraction(1, 2**22)
            move = abs(Fraction(float(b)) - Fraction(float(a)))
            assert move <= 1
            largest = max(largest, float(move))
    assert largest == 1.0


BOUNDS = {"x_bound": 1.0, "y_bound": 1.0}


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 1.0), ("replace-one", 2.0)])
def test_the_relation_decides_the_sensitivity(relation: str, sensitivity: float) -> None:
    """One row is right about one column and wrong about all the others, or the other way."""
    X, y = np.full((3, 30), 1.0), np.ones(3)
    X[0, 1:] = -1.0
    other = -X[:1] if relation == "replace-one" else X[:0]
    pair = ((X, y), (np.vstack([other, X[1:]]), np.ones(2 + len(other))))

    def law(epsilon: float) -> Any:
        selector = SISSelector(1, epsilon=epsilon, top_k="peeling", relation=relation, **BOUNDS)
        return law_of(lambda data: selector.mechanism(*data), [(j,) for j in range(30)])

    mechanism = SISSelector(1, relation=relation, **BOUNDS).mechanism(X, y)
    assert mechanism.guarantee.relation == relation
    assert mechanism.sensitivity == sensitivity  # type: ignore[attr-defined]
    assert 0.85 < largest_loss(law(1.0), [pair]).epsilon <= 1.0 + 1e-9
    assert largest_loss(law(2.0), [pair]).epsilon > 1.6
