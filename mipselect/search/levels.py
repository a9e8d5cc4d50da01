"""`mistake_levels`: the optimum, and the best support at every distance from it."""

from __future__ import annotations

import numpy as np

from mipselect.backends.protocols import Solver
from mipselect.docstrings import described_by
from mipselect.problem.instance import Instance
from mipselect.search.drivers import find_levels
from mipselect.search.options import SearchOptions
from mipselect.search.pool import MistakeLevels
from mipselect.search.progress import ProgressCallback
from mipselect.search.setup import set_up


@described_by(SearchOptions)
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
    solver, tolerance, time_limit, progress
        See `SearchOptions`.

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
