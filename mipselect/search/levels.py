"""`mistake_levels`: the optimum, and the best support at every distance from it."""

from __future__ import annotations

import math

import numpy as np

from mipselect.backends.protocols import Solver
from mipselect.errors import NotCertified
from mipselect.instance import Instance
from mipselect.search.collectors import BestSupport
from mipselect.search.options import SearchOptions
from mipselect.search.pool import MistakeLevels
from mipselect.search.progress import ProgressCallback, Stopped, refusal
from mipselect.search.setup import Search, set_up


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
        With ridge > 0.
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
    """The levels of a search that is set up; see `mistake_levels`."""
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
            ahead = [center.level_bound(level) for level in range(1, center.levels)]
            bound = min(ahead, default=math.inf)
            reporter.done = 0
            reporter.total = 2 ** len(center.support) - 1
            for level in range(1, center.levels):
                reporter.stage = f"level {level}"
                found.append(BestSupport(search.allowance, floor=center.value))
                bound = min(ahead[level:], default=math.inf)
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
            known = known[-1:]  # The centre would have moved there, and the levels with it.
        partial = _levels(search, known) if known else None
        if partial is not None and partial.certified:
            return partial
        needed = known[-1].target if known else math.inf
        proven = _proven_part(search, partial, open_bound)
        raise refusal(stop, run, open_bound, needed, partial, proven) from stop


def _proven_part(search: Search, levels: MistakeLevels | None, open_bound: float) -> str:
    """Which levels are proven, for one that is stopped."""
    if levels is None or levels.certified_rows < 2:
        return ""
    optimum = "the optimum" if open_bound >= levels.values[0] else "the best support that was found"
    last = levels.certified_rows - 1
    of = min(levels.support_size, levels.n_features - levels.support_size)
    return f"; levels 1 to {last} of {of} around {optimum} are certified"


def _certified(search: Search, found: list[BestSupport]) -> MistakeLevels:
    levels = _levels(search, found)
    if not levels.certified:
        worst = int(np.argmax(levels.values - levels.bounds))
        raise NotCertified(
            f"{search.method.name} could only prove {levels.bounds[worst]:.9g} for level {worst}, "
            f"whose best known value is {levels.values[worst]:.9g}: use another solver",
            bound=float(levels.bounds[worst]),
            incumbent=float(levels.values[worst]),
            partial=levels,
        )
    return levels


def _levels(search: Search, found: list[BestSupport]) -> MistakeLevels:
    """The levels so far."""
    return MistakeLevels(
        supports=np.stack([level.support for level in found if level.support is not None]),
        values=np.array([level.value for level in found]),
        bounds=np.array([level.bound for level in found]),
        tolerance=search.tolerance,
        sensitivity=search.instance.sensitivity,
        n_features=search.instance.n_features,
        feature_names=search.instance.feature_names,
        effort=search.run.effort(search.method.name),
    )
