"""Every way in which a master may end, by masters in plain Python that end so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mipselect import Instance, mistake_levels, top_supports
from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.protocols import (
    Capability,
    LazyMaster,
    MasterSolution,
    MipStatus,
    SolverStatus,
    Visit,
)
from mipselect.errors import SolverFailure
from tests.support.searches import levels_by, supports_by


def noisy() -> Instance:
    rng = np.random.default_rng(2)
    return Instance(
        rng.standard_normal((50, 12)), rng.standard_normal(50), support_size=4,
        x_bound=2.0, y_bound=2.0, coef_bound=2.0, ridge=5.0,
    )  # fmt: skip


class Tree(LazyMaster):
    """One tree by enumeration: a bound too weak by `weak` units, the best choice lost at first."""

    def __init__(self, columns: int, cardinality: int, weak: float, loses: bool) -> None:
        super().__init__(columns, cardinality, 0.0)
        self.weak, self.loses = weak, loses
        self.choices = np.array(list(itertools.combinations(range(columns), cardinality)))
        self.eta = np.full(len(self.choices), -np.inf)
        self.trees = 0

    def add_cut(self, constant: float, coefficients: FloatArray) -> None:
        self.eta = np.maximum(self.eta, constant + coefficients[self.choices].sum(axis=1))

    def count(self, columns: IntArray, least: int, most: int) -> None:
        inside = np.isin(self.choices, columns).sum(axis=1)
        self.eta[(inside < least) | (inside > most)] = np.inf

    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        raise AssertionError("cuts and counts are all that is added")

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        raise AssertionError("a lazy master is asked for its tree")

    def solve_in_one_tree(
        self, visit: Visit, *, cutoff: float, time_limit: float
    ) -> MasterSolution:
        self.trees += 1
        before = self.eta.copy()
        status = MipStatus.OPTIMAL
        if self.loses and self.trees == 1:
            self.eta[np.argmin(self.eta)] = np.inf
        while (bound := float(self.eta.min())) < cutoff:
            chosen = self.choices[np.argmin(self.eta)]
            answer = visit(chosen, bound)
            self.add_cut(answer.constant, answer.coefficients)
            self.exclude(chosen)
            cutoff = answer.cutoff
            if answer.stop:
                status = MipStatus.STOPPED
                break
        proven = min(float(self.eta.min()), cutoff) - self.weak
        self.eta = before
        return MasterSolution(status, None, proven, 0, "")


class Trees:
    """A back end of such masters."""

    status = SolverStatus(
        "trees", usable=True, capabilities=frozenset({Capability.MILP, Capability.LAZY_CUTS})
    )

    def __init__(self, weak: float = 0.0, *, loses: bool = False) -> None:
        self.weak, self.loses = weak, loses
        self.made: list[Tree] = []

    def master(self, columns: int, cardinality: int) -> Tree:
        self.made.append(Tree(columns, cardinality, self.weak, self.loses))
        return self.made[-1]


@pytest.mark.parametrize("weak", [0.0, 0.5, np.inf, -np.inf])
@pytest.mark.parametrize("loses", [False, True])
def test_only_a_tree_that_lost_a_choice_is_grown_again(weak: float, loses: bool) -> None:
    """Its bound decides nothing: whether a choice is left open is told by the cuts."""
    expected = mistake_levels(noisy(), tolerance=0.0)
    solver = Trees(weak, loses=loses)
    levels = levels_by(noisy(), solver, 0.0, enumerated=0)
    assert levels.certified
    assert levels.values == pytest.approx(expected.values, rel=1e-9)
    trees = sum(master.trees for master in solver.made)
    assert levels.effort.masters == len(solver.made) > 0
    assert levels.effort.iterations == trees
    assert (trees > len(solver.made)) == loses


@pytest.mark.parametrize("weak", [0.0, np.inf])
def test_a_tree_that_is_given_up_leaves_the_work_to_the_division(weak: float) -> None:
    expected = top_supports(noisy(), 30, tolerance=0.0)
    pool = supports_by(noisy(), 30, Trees(weak), 0.0, enumerated=0, patience=0)
    assert pool.values == pytest.approx(expected.values, rel=1e-9)
    assert np.array_equal(pool.supports, expected.supports)


class Ended(Tree):
    """A master that ends as it is told."""

    ending = MipStatus.OPTIMAL

    def solve_in_one_tree(self, visit: Visit, **limits: float) -> MasterSolution:
        return MasterSolution(self.ending, None, -np.inf, 3, "its own words")


class Endings(Trees):
    """A back end whose masters end as it is told."""

    def __init__(self, ending: MipStatus) -> None:
        super().__init__()
        self.ending = ending

    def master(self, columns: int, cardinality: int) -> Tree:
        master = Ended(columns, cardinality, 0.0, False)
        master.ending = self.ending
        return master


def test_a_master_that_fails_ends_the_search() -> None:
    message = "trees failed on a master: its own words; stopped"
    with pytest.raises(SolverFailure, match=message) as caught:
        supports_by(noisy(), 30, Endings(MipStatus.FAILED), enumerated=0)
    assert np.isfinite(caught.value.bound)
    assert not caught.value.partial.certified
    assert caught.value.partial.values[0] == caught.value.incumbent


def test_a_master_that_takes_too_long_is_taken_from_its_solver() -> None:
    """There is time left, so the division does the work."""
    expected = top_supports(noisy(), 30, tolerance=0.0)
    pool = supports_by(noisy(), 30, Endings(MipStatus.TIME_LIMIT), 0.0, enumerated=0)
    assert pool.certified
    assert np.array_equal(pool.supports, expected.supports)
