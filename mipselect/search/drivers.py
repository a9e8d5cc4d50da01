"""Drivers of a search that is set up: the R best supports, or the best of every level.

`top_supports` and `mistake_levels` are these with options; searches by whole models use them too.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from mipselect.errors import NotCertified
from mipselect.search.collectors import BestSupport, BestSupports
from mipselect.search.neighbourhood import Neighbourhood
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import Stopped, refusal
from mipselect.search.setup import Search


def find_supports(search: Search, count: int) -> SupportPool:
    """Find the `count` best supports; see `top_supports`."""
    run, size = search.run, search.instance.support_size
    collector = BestSupports(count, size, search.allowance)
    bound = float("-inf")
    try:
        run.reporter.stage = "pool"
        run.tick()
        center = search.center()
        collector.offer(center.support[None], np.array([center.value]))
        ahead = _bounds_ahead(center, search.levels)
        bound = ahead[0]
        run.reporter.total = sum(math.comb(size, level) for level in range(1, search.levels))
        for level in range(1, search.levels):
            run.reporter.stage = f"pool, level {level}"
            bound = ahead[level]
            center.search_level(level, collector, run)
    except Stopped as stop:
        pool = _pool(search, collector, bound)
        if len(pool) == count and pool.certified:
            return pool
        rows = pool.certified_rows
        proven = f"; a pool of {rows} is certified" if rows else ""
        partial = pool if len(pool) else None
        raise refusal(stop, run, pool.rest_bound, collector.target, partial, proven) from stop
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


def find_levels(search: Search) -> MistakeLevels:
    """Find the optimum and the best support of every mistake level; see `mistake_levels`."""
    run, reporter = search.run, search.run.reporter
    found = [BestSupport(0.0)]
    bound = float("-inf")
    try:
        reporter.stage = "optimum"
        run.tick()
        center = search.center()
        while True:
            found = [BestSupport(0.0)]
            found[0].offer(center.support[None], np.array([center.value]))
            ahead = _bounds_ahead(center, search.levels)
            bound = ahead[0]
            reporter.done = 0
            reporter.total = 2 ** len(center.support) - 1
            for level in range(1, search.levels):
                reporter.stage = f"level {level}"
                found.append(BestSupport(search.allowance, floor=center.value))
                bound = ahead[level]
                center.search_level(level, found[-1], run)
                if found[-1].value < center.value:
                    break
            else:
                return _certified(search, found)
            assert found[-1].support is not None
            center = search.center_at(found[-1].support, found[-1].value)
    except Stopped as stop:
        known = [level for level in found if level.support is not None]
        open_bound = min([bound, *(level.bound for level in known)])
        if known and known[-1].value < known[0].value:
            known = known[-1:]  # The incumbent would have moved there, and the levels with it.
        partial = _levels(search, known) if known else None
        if partial is not None and partial.certified:
            return partial
        needed = known[-1].target if known else math.inf
        proven = _proven_part(partial, open_bound)
        raise refusal(stop, run, open_bound, needed, partial, proven) from stop


def _bounds_ahead(center: Neighbourhood, levels: int) -> list[float]:
    """Bound all levels after each level, from 0 on; ``inf`` after the last."""
    bounds = [center.level_bound(level) for level in range(1, levels)]
    return [*accumulate([math.inf, *reversed(bounds)], min)][::-1]


def _pool(search: Search, collector: BestSupports, open_bound: float) -> SupportPool:
    """Build the pool of what was collected; `open_bound` holds for all that is not settled."""
    supports, values, settled = collector.result()
    complete = len(values) == search.instance.number_of_supports
    rest_bound = math.inf if complete else min(settled, open_bound)
    return search.certificate(SupportPool, supports=supports, values=values, rest_bound=rest_bound)


def _levels(search: Search, found: list[BestSupport]) -> MistakeLevels:
    """Build the levels so far."""
    return search.certificate(
        MistakeLevels,
        supports=np.stack([level.support for level in found if level.support is not None]),
        values=np.array([level.value for level in found]),
        bounds=np.array([level.bound for level in found]),
    )


def _certified(search: Search, found: list[BestSupport]) -> MistakeLevels:
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
