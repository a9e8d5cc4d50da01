"""Certificates of every back end against enumeration, on problems that hurt a MIP solver.

Columns of very different scale, tiny ridges, features of several columns, and every subproblem left
to a master: none is enumerated. "liar" is a back end that claims of every master that it is
infeasible: no certificate may depend on what it is told.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from mipselect import Instance, MipselectError
from mipselect.backends import (
    NATIVE,
    FloatArray,
    Master,
    MasterSolution,
    MipStatus,
    Solver,
    SolverStatus,
    available_solvers,
    solver_by_name,
)
from tests.support.designs import all_supports, distances
from tests.support.searches import levels_by, supports_by

ROUNDING = 1e-9
"""Relative; by so much a bound may pass the value of a support."""


class LyingMaster(Master):
    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        pass

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        return MasterSolution(MipStatus.INFEASIBLE, None, -np.inf, 0, "infeasible, it says")


class Liar:
    status = SolverStatus("liar", usable=True)

    def master(self, columns: int, cardinality: int) -> Master:
        return LyingMaster(columns, cardinality, 0.0)


def problem(rng: np.random.Generator, *, largest: int = 58) -> Instance:
    s, p = (2, int(rng.integers(37, largest + 1))) if rng.random() < 0.9 else (3, 37)
    n = int(rng.choice([60, 150, 400, 1000]))
    X = rng.standard_normal((n, p))
    rho = rng.choice([0.0, 0.5, 0.9])
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    X *= 10.0 ** rng.uniform(-6, 0, p)
    signal = np.zeros(n)
    for j in rng.choice(p, rng.integers(1, 4), replace=False):
        signal += rng.standard_normal() * X[:, j] / np.abs(X[:, j]).max()
    y = rng.choice([0.0, 1.0]) * signal + rng.choice([0.1, 1.0]) * rng.standard_normal(n)
    return Instance(
        X,
        y,
        support_size=s,
        x_bound=float(np.abs(X).max()),
        y_bound=float(np.abs(y).max()),
        coef_bound=float(10.0 ** rng.uniform(-1, 3)),
        ridge=float(10.0 ** rng.uniform(-9, -1) * np.max(np.sum(X**2, axis=0))),
    )


def grouped_problem(rng: np.random.Generator, *, largest: int = 58) -> Instance:
    """The same columns in features of one to three, the last one always in, with an intercept."""
    base = problem(rng, largest=largest)
    ends = np.cumsum(rng.integers(1, 4, base.p))
    last = base.p - 1
    edges = [0, *(int(end) for end in ends if end < last), last]
    lengths = np.linalg.norm(base.X, axis=1)
    return Instance(
        base.X,
        base.y,
        support_size=base.support_size,
        x_bound=float(lengths.max()),
        y_bound=base.y_bound,
        coef_bound=base.coef_bound,
        ridge=base.ridge,
        groups=[range(i, j) for i, j in pairwise(edges)],
        always=[last],
        intercept=bool(rng.random() < 0.5),
    )


def check(
    solver: Solver,
    seed: int,
    number: int,
    *,
    largest: int = 58,
    make: Callable[..., Instance] = problem,
) -> int:
    """Compare the bounds of levels, or of a pool, with all supports; count the masters."""
    rng = np.random.default_rng([seed, number])
    instance = make(rng, largest=largest)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    if rng.random() < 0.5:
        levels = levels_by(instance, solver, enumerated=0)
        level_of = distances(supports, levels.supports[0])
        best = np.array([values[level_of == level].min() for level in range(len(levels))])
        assert levels.certified
        assert np.all(best >= levels.bounds * (1.0 - ROUNDING))
        return levels.effort.masters
    pool = supports_by(instance, int(rng.choice([1, 2, 5, 20])), solver, enumerated=0)
    listed = (supports[:, None, :] == pool.supports[None]).all(axis=2).any(axis=1)
    assert pool.certified
    assert np.all(values[~listed] >= pool.rest_bound * (1.0 - ROUNDING))
    return pool.effort.masters


def failures(seed: int) -> list[str]:
    """One problem for every back end that is usable here, and for the liar."""
    usable = [n for n in available_solvers() if n != NATIVE]
    found, make = [], grouped_problem if seed % 3 == 2 else problem
    for solver in [Liar(), *(solver_by_name(name, threads=1) for name in usable)]:
        try:
            check(solver, 0, seed, make=make)
        except (AssertionError, MipselectError) as error:
            found.append(f"{solver.status.name}, seed {seed}: {error!r}")
    return found
