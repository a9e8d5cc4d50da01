"""`top_supports`: the R best supports, with a proof about all the others."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from mipselect.backends.protocols import Solver
from mipselect.errors import InvalidInput, NotCertified
from mipselect.parameters import completed_by
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.restricted.gram import looking
from mipselect.search.collectors import Collector
from mipselect.search.options import SearchOptions
from mipselect.search.pool import SupportPool
from mipselect.search.progress import ProgressCallback, Stopped
from mipselect.search.setup import Search, set_up

LARGEST_POOL = 10_000_000
"""More supports are not listed: neither memory nor patience would do."""


@completed_by(SearchOptions)
@np.errstate(all="ignore")
def top_supports(
    instance: Instance,
    pool_size: int | Literal["one-swap", "all"] = "one-swap",
    *,
    solver: str | Solver = "auto",
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> SupportPool:
    """Find the R best supports and prove that no unlisted one is better by more than τ.

    Parameters
    ----------
    instance : Instance
    pool_size : int, "one-swap" or "all"
        R ≥ 1; C(p, s) where fewer supports than R exist. "one-swap" is R = 2 + s(p-s): the
        number of an optimum, its one-swap neighbours and one more. The R best supports are
        returned whichever they are. "all" is R = C(p, s). No more than 10,000,000.

    Returns
    -------
    SupportPool
        Sensitive.

    Raises
    ------
    NotCertified
        The time limit passed first; ``bound`` is what was proven for unlisted supports.
    InvalidInput, UnknownSolver, SolverFailure

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    sections 2.1.1 and 4, appendix B.

    Examples
    --------
    >>> from mipselect import load_instance, top_supports
    >>> pool = top_supports(load_instance("diabetes"), 20)
    >>> pool.supports[0].tolist()
    [2, 3, 8]
    >>> bool(pool.rest_bound >= pool.values[-1] - pool.allowance)
    True
    """
    count = number_of_listed(instance.problem, pool_size)
    options = SearchOptions(solver, tolerance, time_limit, progress)
    return find_supports(set_up(instance, options, listed=count), count)


def find_supports(search: Search, count: int) -> SupportPool:
    """Find the `count` best supports; see `top_supports`."""
    run, size = search.run, search.instance.support_size
    collector = Collector(count, search.allowance)
    bound = -math.inf
    try:
        run.stage = "pool"
        run.tick()
        with looking(run.tick):
            center = search.method.center(size, run)
            collector.offer(center.support[None], np.array([center.value]))
            ahead = search.bounds_ahead(center)
            bound = ahead[0]
            run.total = sum(math.comb(size, level) for level in range(1, search.levels))
            for level in range(1, search.levels):
                run.stage = f"pool, level {level}"
                bound = ahead[level]
                center.search_level(level, collector, run)
    except Stopped as stop:
        relaxed = search.relaxed()
        pool = _pool(search, collector, bound, relaxed)
        if len(pool) == count and pool.certified:
            return pool
        rows = pool.certified_rows
        proven = f"; a pool of {rows} is certified" if rows else ""
        partial = pool if len(pool) else None
        raise run.refusal(stop, pool.rest_bound, collector.target, partial, proven) from stop
    pool = _pool(search, collector, math.inf, -math.inf)
    if not pool.certified:
        raise NotCertified(
            f"{search.method.name} could only prove that unlisted supports are at "
            f"{pool.rest_bound:.9g} or above; {collector.target:.9g} was needed: "
            "use another solver",
            bound=pool.rest_bound,
            incumbent=float(pool.values[0]),
            partial=pool,
        )
    return pool


def _pool(search: Search, collector: Collector, open_bound: float, relaxed: float) -> SupportPool:
    """Build the pool of what was collected; `open_bound` holds for all that is not settled.

    What is `relaxed` holds for every support.
    """
    supports, values = collector.best()
    complete = len(values) == search.instance.number_of_supports
    rest_bound = math.inf if complete else max(relaxed, min(collector.settled, open_bound))
    return search.certificate(SupportPool, supports=supports, values=values, rest_bound=rest_bound)


def number_of_listed(problem: Problem, pool_size: int | str) -> int:
    """Return R as a number, at most C(p, s): ``one-swap`` is 2 + s(p-s), ``all`` is C(p, s)."""
    s, p, most = problem.support_size, problem.n_features, problem.number_of_supports
    if pool_size == "one-swap":
        return min(2 + s * (p - s), most)
    if pool_size == "all":
        return _listable(most)
    if isinstance(pool_size, bool) or not isinstance(pool_size, int | np.integer) or pool_size < 1:
        raise InvalidInput(
            f"pool_size must be an integer ≥ 1, 'one-swap' or 'all', got {pool_size!r}"
        )
    return _listable(min(int(pool_size), most))


def _listable(count: int) -> int:
    if count > LARGEST_POOL:
        raise InvalidInput(
            f"the pool size must be at most {LARGEST_POOL:,}, got {count:,}: a smaller pool is "
            "certified as well, and the exponential mechanism draws from all supports without one"
        )
    return count
