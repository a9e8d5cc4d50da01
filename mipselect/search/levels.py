"""`mistake_levels`: the optimum, and the best support at every distance from it."""

from __future__ import annotations

import math

import numpy as np

from mipselect.backends.protocols import Solver
from mipselect.errors import NotCertified
from mipselect.parameters import completed_by
from mipselect.problem.instance import Instance
from mipselect.restricted.gram import looking
from mipselect.search.collectors import Collector
from mipselect.search.options import SearchOptions
from mipselect.search.pool import MistakeLevels
from mipselect.search.progress import ProgressCallback, Stopped
from mipselect.search.setup import Search, set_up


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
    InvalidInput, UnknownSolver, SolverFailure

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
