"""Certificates of every back end against enumeration, on problems that hurt a MIP solver.

    python -m tests.soak.certificates                     # 20 problems for each back end
    python -m tests.soak.certificates --solvers glpk,liar --count 1000 --seed 7

Columns of very different scale, tiny ridges, features of several columns, and every subproblem left
to a master: none is enumerated. Prints the certificates that are wrong; there must be none. "liar"
is a back end that claims of every master that it is infeasible: no certificate may depend on what
it is told.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from mipselect import Instance, MipselectError
from mipselect.backends import (
    Capability,
    FloatArray,
    Master,
    MasterSolution,
    MipStatus,
    Solver,
    SolverStatus,
    available_solvers,
    solver_by_name,
)
from mipselect.search.least_squares.cuts import SquaredMasters
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.levels import find_levels
from mipselect.search.options import DEFAULT_TOLERANCE, SearchOptions
from mipselect.search.progress import Run
from mipselect.search.setup import Search, outer_approximation
from mipselect.search.supports import find_supports
from mipselect.search.tuning import TUNING

ROUNDING = 1e-9
"""Relative; by so much a bound may pass the value of a support."""

REPORTED = 500
"""Problems between two lines of counts, so that a run that is ended has said something."""


class LyingMaster(Master):
    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        pass

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        return MasterSolution(MipStatus.INFEASIBLE, None, -np.inf, 0, "infeasible, it says")


class Liar:
    status = SolverStatus("liar", usable=True, capabilities=frozenset({Capability.MILP}))

    def master(self, columns: int, cardinality: int) -> Master:
        return LyingMaster(columns, cardinality, 0.0)


@dataclass
class Count:
    problems: int = 0
    masters: int = 0
    refused: int = 0
    wrong: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.problems + other.problems,
            self.masters + other.masters,
            self.refused + other.refused,
            self.wrong + other.wrong,
        )


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


def by_masters(instance: Instance, solver: Solver) -> Search:
    """A search that enumerates nothing."""
    tuning = replace(TUNING, masters=replace(TUNING.masters, enumerated=0))
    options = SearchOptions(solver, tuning=tuning)
    engine = outer_approximation(SquaredMasters, instance, options)
    method = LeastSquaresMethod(instance.prepared, engine, tuning)
    return Search(instance, method, DEFAULT_TOLERANCE, Run.start())


def check_pool(instance: Instance, size: int, solver: Solver) -> Count:
    """The pool's rest bound against every support that it does not list."""
    pool = find_supports(by_masters(instance, solver), size)
    supports, values = enumerated(instance)
    listed = (supports[:, None, :] == pool.supports[None]).all(axis=2).any(axis=1)
    wrong = np.any(values[~listed] < pool.rest_bound * (1.0 - ROUNDING))
    return Count(1, pool.effort.masters, 0, int(wrong or not pool.certified))


def check_levels(instance: Instance, solver: Solver) -> Count:
    """Every level's bound against the best support of that level."""
    levels = find_levels(by_masters(instance, solver))
    supports, values = enumerated(instance)
    distance = np.sum(~np.isin(supports, levels.supports[0]), axis=1)
    best = np.array([values[distance == level].min() for level in range(len(levels))])
    wrong = np.any(best < levels.bounds * (1.0 - ROUNDING))
    return Count(1, levels.effort.masters, 0, int(wrong or not levels.certified))


def enumerated(instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    supports = np.array(list(combinations(range(instance.n_features), instance.support_size)))
    return supports, instance.objectives(supports)


def check(
    solver: Solver,
    seed: int,
    number: int,
    *,
    largest: int = 58,
    make: Callable[..., Instance] = problem,
) -> Count:
    rng = np.random.default_rng([seed, number])
    instance = make(rng, largest=largest)
    try:
        if rng.random() < 0.5:
            return check_levels(instance, solver)
        return check_pool(instance, int(rng.choice([1, 2, 5, 20])), solver)
    except MipselectError as error:
        print(f"{solver.status.name} seed {seed} problem {number}: {error}", flush=True)
        return Count(1, 0, 1, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="problems for each back end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--solvers", help="comma-separated; default: all that are usable here")
    options = parser.parse_args()
    usable = [n for n, s in available_solvers().items() if Capability.MILP in s.capabilities]
    wrong = 0
    for name in options.solvers.split(",") if options.solvers else [*usable, "liar"]:
        solver: Solver = Liar() if name == "liar" else solver_by_name(name, threads=1)
        total, started = Count(), time.monotonic()
        for number in range(options.count):
            make = grouped_problem if number % 3 == 2 else problem
            count = check(solver, options.seed, number, make=make)
            total += count
            if count.wrong:
                print(f"WRONG: {name} seed {options.seed} problem {number}", flush=True)
            if (number + 1) % REPORTED == 0 or number + 1 == options.count:
                print(f"{name}: {total}, {time.monotonic() - started:.0f} s", flush=True)
        wrong += total.wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
