"""`top_supports`: the R best supports, with a proof about all the others."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from mipselect.backends.protocols import Solver
from mipselect.errors import InvalidInput, NotCertified
from mipselect.instance import Instance
from mipselect.search.collectors import BestSupports
from mipselect.search.options import SearchOptions
from mipselect.search.pool import SupportPool
from mipselect.search.progress import ProgressCallback, Stopped, refusal
from mipselect.search.setup import Search, set_up

LARGEST_POOL = 10_000_000
"""More supports are not listed: neither memory nor patience would do."""


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
        With ridge > 0.
    pool_size : int, "one-swap" or "all"
        R ≥ 1; C(p, s) where fewer supports than R exist. "one-swap" is R = 2 + s(p-s): the
        number of an optimum, its one-swap neighbours and one more. The R best supports are
        returned whichever they are. "all" is R = C(p, s). No more than 10,000,000.
    solver : str or Solver
        "auto", "native", a name from `available_solvers`, or a back end from `solver_by_name`.
    tolerance : float, optional
        τ in units of the sensitivity, default 1e-5; public, fixed before the data are seen. A loss
        given as an expression has 0.004, for its values are known less well.
    time_limit : float, optional
        Seconds.
    progress : callable, optional
        Receives a `Progress` now and then.

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
    count = number_of_listed(instance, pool_size)
    options = SearchOptions(solver, tolerance, time_limit, progress)
    return find_supports(set_up(instance, options, listed=count), count)


def find_supports(search: Search, count: int) -> SupportPool:
    """The `count` best supports of a search that is set up; see `top_supports`."""
    run, size = search.run, search.instance.support_size
    collector = BestSupports(count, size, search.allowance)
    bound = float("-inf")
    try:
        run.reporter.stage = "pool"
        run.tick()
        center = search.center()
        collector.offer(center.support[None], np.array([center.value]))
        ahead = [center.level_bound(level) for level in range(1, center.levels)]
        bound = min(ahead, default=math.inf)
        center.fill(collector, count, run)
        run.reporter.total = sum(math.comb(size, level) for level in range(1, center.levels))
        for level in range(1, center.levels):
            run.reporter.stage = f"pool, level {level}"
            bound = min(ahead[level:], default=math.inf)
            center.search_level(level, collector, run)
    except Stopped as stop:
        pool = _pool(search, collector, bound)
        if len(pool) == count and pool.certified:
            return pool
        partial = pool if len(pool) else None
        raise refusal(
            stop, run, pool.rest_bound, collector.target, partial, _proven_part(pool)
        ) from stop
    pool = _pool(search, collector, math.inf)
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


def _proven_part(pool: SupportPool) -> str:
    rows = pool.certified_rows
    if rows == 0:
        return ""
    return f"; a pool of {rows} is certified"


def _pool(search: Search, collector: BestSupports, open_bound: float) -> SupportPool:
    """Build the pool of what was collected; `open_bound` holds for all that is not settled."""
    instance = search.instance
    supports, values, settled = collector.result()
    complete = len(values) == instance.number_of_supports
    return SupportPool(
        supports=supports,
        values=values,
        rest_bound=math.inf if complete else min(settled, open_bound),
        tolerance=search.tolerance,
        sensitivity=instance.sensitivity,
        n_features=instance.n_features,
        feature_names=instance.feature_names,
        effort=search.run.effort(search.method.name),
    )


def number_of_listed(instance: Instance, pool_size: int | str) -> int:
    """R as a number, at most C(p, s): ``one-swap`` is 2 + s(p-s), ``all`` is C(p, s)."""
    s, p, most = instance.support_size, instance.n_features, instance.number_of_supports
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
