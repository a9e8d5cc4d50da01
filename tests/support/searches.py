"""Searches whose engines are chosen and tuned by a test, without any shortcut around them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from mipselect.backends.protocols import Solver
from mipselect.problem.instance import Instance
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.convex.cuts import FenchelMasters
from mipselect.search.convex.method import ConvexMethod
from mipselect.search.enumeration import Enumeration
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.cuts import SquaredMasters
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.least_squares.node import SquaredNode
from mipselect.search.least_squares.tree import GramMeasures, SquaredTree
from mipselect.search.levels import find_levels
from mipselect.search.neighbourhood import Engine, Method
from mipselect.search.options import SearchOptions
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import Deadline, ProgressCallback, Run
from mipselect.search.setup import Search, outer_approximation
from mipselect.search.strategies import Strategy
from mipselect.search.supports import find_supports, number_of_listed
from mipselect.search.tuning import TUNING, Near, Patience, Screening, Spectrum, Tuning

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
    worth: int = TUNING.closed_form.worth,
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
        patience=Patience(cheap, near=2 * cheap, long=5 * cheap),
        near=near,
        spectrum=spectrum,
        screening=screening,
        together=replace(TUNING.together, entries=entries),
        closed_form=replace(TUNING.closed_form, worth=worth),
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
        Run.start(),
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
    return Search(instance, method, tau, Run.start() if run is None else run)


def supports_by(instance: Instance, pool_size: int | str, *args, **numbers) -> SupportPool:
    """`top_supports` by `search_by`."""
    search = search_by(instance, *args, **numbers)
    return find_supports(search, number_of_listed(instance, pool_size))


def levels_by(instance: Instance, *args, **numbers) -> MistakeLevels:
    """`mistake_levels` by `search_by`."""
    return find_levels(search_by(instance, *args, **numbers))
