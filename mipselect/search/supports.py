"""`top_supports`: the R best supports, with a proof about all the others."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np

from mipselect.arrays import IntArray
from mipselect.backends.protocols import Solver
from mipselect.errors import InvalidInput, NotCertified
from mipselect.instance import Instance
from mipselect.search.collectors import BestSupports
from mipselect.search.neighbourhood import Neighbourhood
from mipselect.search.options import SearchOptions
from mipselect.search.pool import SupportPool
from mipselect.search.progress import ProgressCallback, Stopped, refusal
from mipselect.search.setup import Search, set_up

BATCH = 65536


def top_supports(
    instance: Instance,
    pool_size: int | Literal["one-swap"] = "one-swap",
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
    pool_size : int or "one-swap"
        R, from 1 to C(p, s). "one-swap" is R = 2 + s(p-s), or C(p, s) if that is smaller: the
        number of an optimum, its one-swap neighbours and one more. The R best supports are
        returned whichever they are.
    solver : str or Solver
        "auto", "native", a name from `available_solvers`, or a back end from `solver_by_name`.
    tolerance : float, optional
        τ in units of the sensitivity, default 0.05; public, fixed before the data are seen.
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
    """
    count = number_of_listed(instance, pool_size)
    options = SearchOptions(solver, tolerance, time_limit, progress)
    return find_supports(set_up(instance, options), count)


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
        _fill(center, collector, search)
        run.reporter.total = sum(math.comb(size, level) for level in range(1, center.levels))
        for level in range(1, center.levels):
            run.reporter.stage = f"pool, level {level}"
            center.search_level(level, collector, run)
            bound = min(ahead[level:], default=math.inf)
    except Stopped as stop:
        pool = _pool(search, collector, bound)
        raise refusal(
            stop, run, pool.rest_bound, collector.target, pool if len(pool) else None
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


def _pool(search: Search, collector: BestSupports, open_bound: float) -> SupportPool:
    """What was collected; `open_bound` holds for everything that is not settled."""
    instance = search.instance
    supports, values, settled = collector.result()
    complete = len(values) == instance.number_of_supports
    return SupportPool(
        supports=supports,
        values=values,
        rest_bound=math.inf if complete else min(settled, open_bound),
        tolerance=search.options.tau,
        sensitivity=instance.sensitivity,
        n_features=instance.p,
        feature_names=instance.feature_names,
        effort=search.run.effort(search.method.name),
    )


def number_of_listed(instance: Instance, pool_size: int | str) -> int:
    """R as a number: ``one-swap`` is min(2 + s(p-s), C(p, s))."""
    s, p, most = instance.support_size, instance.p, instance.number_of_supports
    if pool_size == "one-swap":
        return min(2 + s * (p - s), most)
    if isinstance(pool_size, bool) or not isinstance(pool_size, int | np.integer):
        raise InvalidInput(f"pool_size must be an integer or 'one-swap', got {pool_size!r}")
    if not 1 <= pool_size <= most:
        raise InvalidInput(f"pool_size must be in 1..C({p}, {s}) = {most}, got {pool_size}")
    return int(pool_size)


def _fill(center: Neighbourhood, collector: BestSupports, search: Search) -> None:
    """Offer R supports near the centre, so that the search starts with a threshold.

    They are made from the centre and the features that enter most gainfully by its cut; as few
    of these as give R supports.
    """
    s = len(center.support)
    entering = center.entering
    one_swap = 1 + s * len(entering)
    used = next(
        q
        for q in range(len(entering) + 1)
        if max(one_swap - 1 - s * q, 0) + math.comb(s + q, s) >= collector.count
    )
    for removed_count in range(2, min(s, used) + 1):
        pairs = itertools.product(
            itertools.combinations(center.support, s - removed_count),
            itertools.combinations(entering[:used], removed_count),
        )
        while batch := list(itertools.islice(pairs, BATCH)):
            search.run.tick()
            supports: IntArray = np.sort([kept + added for kept, added in batch], axis=1)
            collector.offer(supports, search.method.problem.values(supports))
