"""Searches whose engines are chosen and tuned by a test, without any shortcut around them."""

from __future__ import annotations

from mipselect.backends.protocols import Solver
from mipselect.instance import Instance
from mipselect.losses.squared import PreparedSquared
from mipselect.search.convex.completions import BATCHES, Batches
from mipselect.search.convex.masters import FenchelMasters
from mipselect.search.convex.method import MANY, PATIENCE, ConvexMethod, DivideAll
from mipselect.search.least_squares.additions import SCREENING, Screening
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.masters import SquaredMasters
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.levels import find_levels
from mipselect.search.options import SearchOptions
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import Deadline, ProgressCallback, Reporter, Run, Statistics
from mipselect.search.setup import Search, outer_approximation
from mipselect.search.supports import find_supports, number_of_listed

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
    return Run(Deadline(float(looks), Ticks()), Statistics(), Reporter(progress, every=2.0))


def search_by(
    instance: Instance,
    solver: str | Solver = "native",
    tolerance: float | None = None,
    *,
    run: Run | None = None,
    pairs: int = 256,
    triples: int = 96,
    columns: int = 64,
    enumerated: int = 500,
    patience: int = 30,
    screening: Screening = SCREENING,
    cheap: int = 200,
    few_columns: int = 2048,
    batches: Batches = BATCHES,
    uncentred: int = PATIENCE,
    many: int = MANY,
) -> Search:
    """A search by this solver; `enumerated=0` sends small subproblems to a master too."""
    options = SearchOptions(solver, tolerance)
    problem = instance.prepared
    squared = isinstance(problem, PreparedSquared)
    if solver == "native":
        engine = ClosedForm(of_pairs=pairs, of_triples=triples) if squared else DivideAll()
    else:
        loop = outer_approximation(instance, options, patience=patience)
        masters = SquaredMasters if squared else FenchelMasters
        engine = masters(loop, columns=columns, enumerated=enumerated)
    method = (
        LeastSquaresMethod(problem, engine, screening, patience=cheap, few_columns=few_columns)
        if squared
        else ConvexMethod(problem, engine, batches, patience=uncentred, many=many)
    )
    return Search(
        instance, method, options.tolerance_for(instance), Run.start() if run is None else run
    )


def supports_by(instance: Instance, pool_size: int | str, *args, **tuned) -> SupportPool:
    """`top_supports` by `search_by`."""
    return find_supports(search_by(instance, *args, **tuned), number_of_listed(instance, pool_size))


def levels_by(instance: Instance, *args, **tuned) -> MistakeLevels:
    """`mistake_levels` by `search_by`."""
    return find_levels(search_by(instance, *args, **tuned))
