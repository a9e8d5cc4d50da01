"""What users ask of a search: the R best supports, or the best at every distance from the optimum.

`top_supports` and `mistake_levels` prove what they say about all other supports.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from mipselect.backends.protocols import Solver
from mipselect.errors import InvalidInput, NotCertified
from mipselect.parameters import completed_by
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.restricted.columns import looking
from mipselect.search.collectors import Collector
from mipselect.search.options import SearchOptions
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import ProgressCallback, Stopped
from mipselect.search.setup import Search, set_up

COPIES = 6
"""Times that the supports and values of a pool are in memory while two lists become one."""

TOLD_BYTES = 2**28
"""A pool that takes no more says nothing of it."""

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
    InvalidInput, SolverFailure

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
        run.stage = stage_of_pool(count, size)
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


def stage_of_pool(count: int, size: int) -> str:
    """Name the stage in which a pool begins, with the memory that it will take if that is much."""
    taken = COPIES * 8 * (size + 1) * count
    if taken < TOLD_BYTES:
        return "pool"
    return f"pool of {count:,} supports, which take up to {taken / 2**30:.1f} GiB"


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


@completed_by(SearchOptions)
@np.errstate(all="ignore")
def mistake_levels(
    instance: Instance,
    *,
    solver: str | Solver = "auto",
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> MistakeLevels:
    """Find the optimum and the best support of every mistake level, with proofs.

    Level i holds the supports with exactly i features outside the optimum. Level 0 is exact:
    every other support is proven not to be better, whatever the tolerance.

    Parameters
    ----------
    instance : Instance

    Returns
    -------
    MistakeLevels
        Sensitive.

    Raises
    ------
    NotCertified
        The time limit passed first; ``bound`` is what was proven for the open levels.
    InvalidInput, SolverFailure

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 2.1.2.

    Examples
    --------
    >>> from mipselect import load_instance, mistake_levels
    >>> levels = mistake_levels(load_instance("diabetes"))
    >>> levels.supports[:2].tolist()
    [[2, 3, 8], [2, 6, 8]]
    >>> bool((levels.bounds <= levels.values).all())
    True
    """
    return find_levels(set_up(instance, SearchOptions(solver, tolerance, time_limit, progress)))


def find_levels(search: Search) -> MistakeLevels:
    """Find the optimum and the best support of every mistake level; see `mistake_levels`."""
    run = search.run
    found: list[Collector] = []
    bound = -math.inf
    try:
        run.stage = "optimum"
        run.tick()
        with looking(run.tick):
            center = search.method.center(search.instance.support_size, run)
            while True:
                found = [Collector(1, 0.0)]
                found[0].offer(center.support[None], np.array([center.value]))
                ahead = search.bounds_ahead(center)
                bound = ahead[0]
                run.done = 0
                run.total = 2 ** len(center.support) - 1
                for level in range(1, search.levels):
                    run.stage = f"level {level}"
                    found.append(Collector(1, search.allowance, floor=center.value))
                    bound = ahead[level]
                    center.search_level(level, found[-1], run)
                    if found[-1].value < center.value:
                        break
                else:
                    return _certified(search, found)
                (support,), (value,) = found[-1].best()
                center = search.method.center_at(support, float(value), run)
    except Stopped as stop:
        known = [level for level in found if level.value < math.inf]
        relaxed = search.relaxed()
        open_bound = max(relaxed, min([bound, *(level.bound for level in found)]))
        if known and known[-1].value < known[0].value:
            known = known[-1:]  # The incumbent would have moved there, and the levels with it.
        partial = _levels(search, known, relaxed) if known else None
        if partial is not None and partial.certified:
            return partial
        needed = known[-1].target if known else math.inf
        proven = _proven_part(partial, open_bound)
        raise run.refusal(stop, open_bound, needed, partial, proven) from stop


def _levels(search: Search, found: list[Collector], relaxed: float = -math.inf) -> MistakeLevels:
    """Build the levels so far, of which a support is known; `relaxed` bounds every support."""
    found = [level for level in found if level.value < math.inf]
    supports, values = zip(*(level.best() for level in found), strict=True)
    return search.certificate(
        MistakeLevels,
        supports=np.concatenate(supports),
        values=np.concatenate(values),
        bounds=np.maximum([level.bound for level in found], relaxed),
    )


def _certified(search: Search, found: list[Collector]) -> MistakeLevels:
    levels = _levels(search, found)
    if not levels.certified:
        worst = int(np.argmax(levels.values - levels.bounds))
        tied = "the best one may be tied; " if levels.gap < 0.0 else ""
        raise NotCertified(
            f"{search.method.name} could only prove {levels.bounds[worst]:.9g} for level {worst}, "
            f"whose best known value is {levels.values[worst]:.9g}: {tied}use another solver",
            bound=float(levels.bounds[worst]),
            incumbent=float(levels.values[worst]),
            partial=levels,
        )
    return levels


def _proven_part(levels: MistakeLevels | None, open_bound: float) -> str:
    """Name the levels that are proven, for a search that is stopped."""
    if levels is None or levels.certified_rows < 2:
        return ""
    optimum = "the optimum" if open_bound >= levels.values[0] else "the best support that was found"
    last = levels.certified_rows - 1
    of = min(levels.support_size, levels.n_features - levels.support_size)
    return f"; levels 1 to {last} of {of} around {optimum} are certified"
