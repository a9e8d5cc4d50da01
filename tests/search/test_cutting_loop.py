"""Every way in which a master may end, by masters in plain Python; and what cuts prove, exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from mipselect import mistake_levels, top_supports
from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import ENTRIES, CutProof, ModularBound, least_value, scaled, tightened
from mipselect.backends.protocols import (
    Master,
    MasterSolution,
    MipStatus,
    SolverStatus,
)
from mipselect.errors import SolverFailure
from tests.support.scripted_solvers import weak_levels
from tests.support.searches import levels_by, supports_by


class Listed(Master):
    """A master by enumeration: a bound off by `weak` units, the best choice lost at first."""

    def __init__(self, columns: int, cardinality: int, weak: float, loses: bool) -> None:
        super().__init__(columns, cardinality, 0.0)
        self.weak, self.loses = weak, loses
        self.choices = np.array(list(itertools.combinations(range(columns), cardinality)))
        self.eta = np.full(len(self.choices), -np.inf)
        self.solves = 0

    def add_cut(self, constant: float, coefficients: FloatArray) -> None:
        self.eta = np.maximum(self.eta, constant + coefficients[self.choices].sum(axis=1))

    def count(self, columns: IntArray, least: int, most: int) -> None:
        inside = np.isin(self.choices, columns).sum(axis=1)
        self.eta[(inside < least) | (inside > most)] = np.inf

    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        raise AssertionError("cuts and counts are all that is added")

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        self.solves += 1
        eta = self.eta.copy()
        if self.loses and self.solves == 1:
            eta[np.argmin(eta)] = np.inf
        best = float(eta.min())
        if best >= cutoff:
            return MasterSolution(MipStatus.OPTIMAL, None, cutoff - self.weak, 0, "")
        chosen = self.choices[np.argmin(eta)]
        return MasterSolution(MipStatus.OPTIMAL, chosen, best - self.weak, 0, "")


class Lists:
    """A back end of such masters."""

    status = SolverStatus("lists", usable=True)

    def __init__(self, weak: float = 0.0, *, loses: bool = False) -> None:
        self.weak, self.loses = weak, loses
        self.made: list[Listed] = []

    def master(self, columns: int, cardinality: int) -> Listed:
        self.made.append(Listed(columns, cardinality, self.weak, self.loses))
        return self.made[-1]


@pytest.mark.parametrize("weak", [0.0, 0.5, np.inf, -np.inf])
@pytest.mark.parametrize("loses", [False, True])
def test_neither_a_wrong_bound_nor_a_lost_choice_decides(weak: float, loses: bool) -> None:
    """Whether a choice is left open is told by the cuts."""
    expected = mistake_levels(weak_levels(), tolerance=0.0)
    solver = Lists(weak, loses=loses)
    levels = levels_by(weak_levels(), solver, 0.0, enumerated=0)
    assert levels.certified
    assert levels.values == pytest.approx(expected.values, rel=1e-9)
    assert levels.effort.masters == len(solver.made) > 0
    assert levels.effort.iterations == sum(master.solves for master in solver.made)


@pytest.mark.parametrize("weak", [0.0, np.inf])
def test_a_master_that_is_given_up_leaves_the_work_to_the_division(weak: float) -> None:
    expected = top_supports(weak_levels(), 30, tolerance=0.0)
    pool = supports_by(weak_levels(), 30, Lists(weak), 0.0, enumerated=0, patience=0)
    assert pool.values == pytest.approx(expected.values, rel=1e-9)
    assert np.array_equal(pool.supports, expected.supports)


class Ended(Listed):
    """A master that ends as it is told."""

    ending = MipStatus.OPTIMAL

    def run(self, **limits: float) -> MasterSolution:
        return MasterSolution(self.ending, None, -np.inf, 3, "its own words")


class Endings(Lists):
    """A back end whose masters end as it is told."""

    def __init__(self, ending: MipStatus) -> None:
        super().__init__()
        self.ending = ending

    def master(self, columns: int, cardinality: int) -> Listed:
        master = Ended(columns, cardinality, 0.0, False)
        master.ending = self.ending
        return master


def test_a_master_that_fails_ends_the_search() -> None:
    message = "lists failed on a master: its own words; stopped"
    with pytest.raises(SolverFailure, match=message) as caught:
        supports_by(weak_levels(), 30, Endings(MipStatus.FAILED), enumerated=0)
    assert np.isfinite(caught.value.bound)
    assert not caught.value.partial.certified
    assert caught.value.partial.values[0] == caught.value.incumbent


def test_a_master_that_takes_too_long_is_taken_from_its_solver() -> None:
    """There is time left, so the division does the work."""
    expected = top_supports(weak_levels(), 30, tolerance=0.0)
    pool = supports_by(weak_levels(), 30, Endings(MipStatus.TIME_LIMIT), 0.0, enumerated=0)
    assert pool.certified
    assert np.array_equal(pool.supports, expected.supports)


def hard_cuts(rng: np.random.Generator, columns: int, count: int) -> list[ModularBound]:
    """Terms of very different size, as columns of very different scale give them."""
    scales = 10.0 ** rng.uniform(-9, 0, columns)
    return [
        ModularBound(-float(rng.uniform(1, 3)), rng.uniform(0, 3, columns) * scales)
        for _ in range(count)
    ]


def exact(cuts: list[ModularBound], choice: tuple[int, ...]) -> Fraction:
    return max(
        -Fraction(cut.constant) - sum(Fraction(float(cut.terms[j])) for j in choice) for cut in cuts
    )


@pytest.mark.parametrize("seed", range(32))
def test_it_proves_what_is_true_and_finds_what_is_open(seed: int) -> None:
    entries = ENTRIES if seed % 2 else 100
    rng = np.random.default_rng(seed)
    columns, size = int(rng.integers(4, 10)), int(rng.integers(1, 5))
    size = min(size, columns)
    cuts = hard_cuts(rng, columns, int(rng.integers(1, 8)))
    values = {c: exact(cuts, c) for c in itertools.combinations(range(columns), size)}
    floor = max(least_value(cut, size) for cut in cuts)
    ordered = sorted(values.values())
    for rank in {0, len(ordered) // 3, len(ordered) - 1}:
        target = float(ordered[rank])
        below = {c for c, value in values.items() if value < Fraction(target)}
        visited: set[tuple[int, ...]] = set()
        while True:
            proof = CutProof(cuts, size, floor, visited, 10**6, entries)
            proven, found = proof.decide(target, lambda: None)
            if proven:
                break
            assert found is not None
            choice = tuple(found.tolist())
            assert choice not in visited
            assert float(values[choice]) <= target * (1 + 1e-12)
            visited.add(choice)
        assert below <= visited
        assert all(float(values[c]) <= target * (1 + 1e-12) for c in visited)


def test_a_tree_that_gets_too_large_says_nothing() -> None:
    rng = np.random.default_rng(0)
    cuts = [ModularBound(-1.0, rng.uniform(0.1, 1.0, 30)) for _ in range(20)]
    proof = CutProof(cuts, 6, -10.0, set(), most=3)
    assert proof.decide(0.5, lambda: None) == (False, None)


def test_a_scaled_cut_is_never_above_what_it_was_made_of() -> None:
    rng = np.random.default_rng(0)
    choices = np.array(list(itertools.combinations(range(7), 3)))
    left_out = 0
    for _ in range(50):
        cut = ModularBound(-float(rng.uniform(0, 2)), 10.0 ** rng.uniform(-6, 0, 7))
        floor, unit, negligible = float(rng.uniform(0, 0.5)), float(rng.uniform(0.01, 9)), 1e-3
        constant, coefficients = scaled(cut, floor, unit, 3, negligible)
        kept = coefficients != 0.0
        assert np.all(np.abs(coefficients[kept]) >= negligible)
        exact = (np.maximum(-cut.at(choices), -tightened(cut, floor).at(choices)) - floor) / unit
        found = constant + coefficients[choices].sum(axis=1)
        assert np.all(found <= exact + 1e-12)
        assert np.all(found >= exact - 3 * negligible - 1e-12)
        left_out += int((~kept).sum())
    assert left_out > 20
