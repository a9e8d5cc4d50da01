"""Every way in which a master may end, by masters in plain Python that end so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from searches import levels_by, supports_by

from mipselect import Instance, NotCertified, mistake_levels, top_supports
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


def noisy() -> Instance:
    rng = np.random.default_rng(2)
    return Instance(
        rng.standard_normal((50, 12)), rng.standard_normal(50), support_size=4,
        x_bound=2.0, y_bound=2.0, coef_bound=2.0, ridge=5.0,
    )  # fmt: skip


class Tree(LazyMaster):
    """One tree by enumeration, whose bound is too weak by `weak` units."""

    def __init__(self, columns: int, cardinality: int, weak: float) -> None:
        self.columns, self.cardinality, self.weak = columns, cardinality, weak
        self.choices = np.array(list(itertools.combinations(range(columns), cardinality)))
        self.eta = np.full(len(self.choices), -np.inf)
        self.trees = 0

    def add_cut(self, constant: float, coefficients: FloatArray) -> None:
        self.eta = np.maximum(self.eta, constant + coefficients[self.choices].sum(axis=1))

    def count(self, columns: IntArray, least: int, most: int) -> None:
        inside = np.isin(self.choices, columns).sum(axis=1)
        self.eta[(inside < least) | (inside > most)] = np.inf

    def solve(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        raise AssertionError("a lazy master is asked for its tree")

    def solve_in_one_tree(
        self, visit: Visit, *, cutoff: float, time_limit: float
    ) -> MasterSolution:
        self.trees += 1
        before = self.eta.copy()
        status = MipStatus.OPTIMAL
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

    def __init__(self, weak: float = 0.0) -> None:
        self.weak = weak
        self.made: list[Tree] = []

    def master(self, columns: int, cardinality: int) -> Tree:
        self.made.append(Tree(columns, cardinality, self.weak))
        return self.made[-1]


@pytest.mark.parametrize("weak", [0.0, 0.5])
def test_a_tree_whose_bound_is_too_weak_is_grown_again(weak: float) -> None:
    """With a wider margin, and with the cuts of the tree before it."""
    expected = mistake_levels(noisy(), tolerance=0.0)
    solver = Trees(weak)
    levels = levels_by(noisy(), solver, 0.0, enumerated=0)
    assert levels.certified
    assert levels.values == pytest.approx(expected.values, rel=1e-9)
    trees = sum(master.trees for master in solver.made)
    assert levels.effort.masters == len(solver.made) > 0
    assert levels.effort.iterations == trees
    assert (trees > len(solver.made)) == (weak > 0.0)


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


@pytest.mark.parametrize(
    ("ending", "error", "message"),
    [
        (MipStatus.TIME_LIMIT, NotCertified, "time limit of inf s reached; stopped in stage"),
        (MipStatus.FAILED, SolverFailure, "trees failed on a master: its own words; stopped"),
    ],
)
def test_a_master_that_ends_early_ends_the_search(
    ending: MipStatus, error: type[NotCertified], message: str
) -> None:
    class Ending(Trees):
        def master(self, columns: int, cardinality: int) -> Tree:
            master = Ended(columns, cardinality, 0.0)
            master.ending = ending
            return master

    with pytest.raises(error, match=message) as caught:
        supports_by(noisy(), 30, Ending(), enumerated=0)
    assert type(caught.value) is error
    assert np.isfinite(caught.value.bound)
    assert not caught.value.partial.certified
    assert caught.value.partial.values[0] == caught.value.incumbent
