"""Searches whose engines are chosen and tuned by a test, without any shortcut around them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mipselect.backends.protocols import Solver
from mipselect.problem.instance import Instance
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.convex import ConvexMethod, FenchelMasters
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.cuts import SquaredMasters
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.least_squares.node import SquaredNode
from mipselect.search.least_squares.tree import GramMeasures, SquaredTree
from mipselect.search.options import SearchOptions
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import Deadline, ProgressCallback, Run
from mipselect.search.setup import Enumeration, Search, outer_approximation
from mipselect.search.supports import find_levels, find_supports, number_of_listed
from mipselect.search.tree import Engine, Method
from mipselect.search.tuning import TUNING, Near, Screening, Spectrum, Strategy, Tuning
from tests.support.designs import all_supports, distances, provable

ENDLESS = 10**9


class Ticks:
    """A clock that moves on by one second whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def run_of(looks: int, progress: ProgressCallback | None = None) -> Run:
    """A run that ends after so many looks at the clock."""
    return Run(Deadline(float(looks), Ticks()), progress, every=2.0)


def tuned(
    *,
    cheap: int = 200,
    near: Near = TUNING.near,
    spectrum: Spectrum = TUNING.spectrum,
    screening: Screening = TUNING.screening,
    entries: int = TUNING.together.entries,
    worth: int = TUNING.together.pairs,
    least_size: int = TUNING.expanding.least_size,
    few_columns: int = TUNING.few_columns,
    bases: int = TUNING.dual_points.bases,
    supports: int = TUNING.dual_points.supports,
    columns: int = TUNING.masters.columns,
    enumerated: int = TUNING.masters.enumerated,
    patience: int = TUNING.masters.patience,
    without: Collection[Strategy] = (),
) -> Tuning:
    """Other numbers; a search that is not patient with `cheap` bounds is soon a long one."""
    return replace(
        TUNING,
        patience=cheap,
        near=replace(near, work=min(near.work, 500.0 * max(cheap, 0))),
        spectrum=spectrum,
        screening=screening,
        together=replace(TUNING.together, entries=entries, pairs=worth),
        expanding=replace(TUNING.expanding, least_size=least_size),
        few_columns=few_columns,
        dual_points=replace(TUNING.dual_points, bases=bases, supports=supports),
        masters=replace(TUNING.masters, columns=columns, enumerated=enumerated, patience=patience),
        without=frozenset(without),
    )


def tree_of(
    problem: PreparedSquared,
    tuning: Tuning = TUNING,
    collector: Collector | None = None,
    engine: Engine[SquaredNode] | None = None,
) -> SquaredTree:
    """A search that has visited no node yet."""
    return SquaredTree(
        Collector(1, 0.0) if collector is None else collector,
        ClosedForm() if engine is None else engine,
        Run(),
        tuning,
        GramMeasures(problem, tuning),
    )


def search_by(
    instance: Instance,
    solver: str | Solver = "native",
    tolerance: float | None = None,
    *,
    run: Run | None = None,
    **numbers: Any,
) -> Search:
    """A search by this solver; `enumerated=0` sends small subproblems to a master too.

    "enumeration" evaluates all supports, seven at once.
    """
    tuning = tuned(**numbers)
    enumerated = solver == "enumeration"
    options = SearchOptions("native" if enumerated else solver, tolerance, tuning=tuning)
    problem = instance.prepared
    squared = isinstance(problem, PreparedSquared)
    if options.solver == "native":
        engine = ClosedForm() if squared else Engine()
    else:
        masters = SquaredMasters if squared else FenchelMasters
        engine = outer_approximation(masters, instance, options)
    method: Method = (LeastSquaresMethod if squared else ConvexMethod)(problem, engine, tuning)
    if enumerated:
        method = Enumeration(problem, instance.n_features, batch=7)
    tau = options.tolerance_for(instance)
    return Search(instance, method, tau, Run() if run is None else run)


def supports_by(instance: Instance, pool_size: int | str, *args, **numbers) -> SupportPool:
    """`top_supports` by `search_by`."""
    search = search_by(instance, *args, **numbers)
    return find_supports(search, number_of_listed(instance, pool_size))


def levels_by(instance: Instance, *args, **numbers) -> MistakeLevels:
    """`mistake_levels` by `search_by`."""
    return find_levels(search_by(instance, *args, **numbers))


SOLVERS = ["native", "highs"]


def check_search(
    instance: Instance,
    solver: str | Solver,
    tolerance: float,
    pool_sizes: Collection[int | str] | None = None,
    **tuned: object,
) -> int:
    """Judge the levels and pools of these sizes, or of a third of all; count the masters."""
    tolerance = provable(instance, tolerance)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    sizes = {max(1, len(values) // 3)} if pool_sizes is None else pool_sizes
    masters = _check_levels(instance, supports, values, (solver, tolerance), tuned)
    for size in sizes:
        masters += _check_pool(instance, supports, values, (size, solver, tolerance), tuned)
    return masters


def _check_pool(instance, supports, values, given, tuned) -> int:
    pool, slack = supports_by(instance, *given, **tuned), given[-1] * instance.sensitivity
    R = len(pool)
    assert pool.certified
    assert len(np.unique(pool.supports, axis=0)) == R
    assert np.all(np.diff(pool.supports, axis=1) > 0)
    assert np.all(np.diff(pool.values) >= 0)
    assert instance.objectives(pool.supports) == pytest.approx(pool.values, rel=1e-9)
    assert pool.values == pytest.approx(np.sort(values)[:R], rel=1e-9)
    listed = np.array([pool.position(row) is not None for row in supports])
    assert listed.sum() == R
    assert pool.rest_bound <= np.min(values[~listed], initial=np.inf) * (1 + 1e-9)
    assert pool.rest_bound >= pool.values[-1] - slack
    assert (pool.rest_bound == np.inf) == (len(values) == R)
    return pool.effort.masters


def _check_levels(instance, supports, values, given, tuned) -> int:
    levels, slack = levels_by(instance, *given, **tuned), given[-1] * instance.sensitivity
    s = instance.support_size
    assert levels.certified
    assert len(levels) == min(s, instance.n_features - s) + 1
    assert levels.values[0] == pytest.approx(values.min(), rel=1e-9)
    level_of = distances(supports, levels.supports[0])
    best = np.array([values[level_of == i].min() for i in range(len(levels))])
    assert levels.values == pytest.approx(best, rel=1e-9)
    assert np.all(levels.bounds <= best * (1 + 1e-9))
    assert np.all(levels.bounds >= levels.values - slack)
    assert distances(levels.supports, levels.supports[0]).tolist() == list(range(len(levels)))
    assert instance.objectives(levels.supports) == pytest.approx(levels.values, rel=1e-9)
    if len(values) > 1:
        second = np.sort(values)[1]
        assert 0.0 <= levels.gap <= second - levels.values[0] + 1e-9 * second
    assert levels.sizes == tuple(np.bincount(level_of, minlength=len(levels)).tolist())
    return levels.effort.masters
