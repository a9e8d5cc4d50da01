"""The space of supports that belongs to a loss, and a value of R to measure the others from."""

from __future__ import annotations

import numpy as np

from mipselect.errors import InvalidInput
from mipselect.restricted.fenchel import FenchelLoss
from mipselect.restricted.prepared import PreparedLoss
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.least_squares.center import best_by_swaps
from mipselect.search.progress import Run
from mipselect.search.soft.cells import Space
from mipselect.search.soft.convex import ConvexSpace
from mipselect.search.soft.least_squares import LeastSquaresSpace
from mipselect.search.tuning import TUNING, Tuning


def space_of(
    problem: PreparedLoss, largest: int, run: Run, tuning: Tuning = TUNING
) -> tuple[Space, float]:
    """Make the space of all supports of at most `largest` features, and R at a good one of them.

    Raises
    ------
    InvalidInput
        If the loss has no bounds, or λ = 0, by which they divide.
    """
    if isinstance(problem, PreparedSquared):
        best = best_by_swaps(problem, largest, run, tuning)
        multiplier = problem.fit(best.support).multiplier
        return LeastSquaresSpace(problem, multiplier, largest, run.tick, tuning), best.value
    if isinstance(problem, FenchelLoss):
        weights = problem.bounds(np.empty((1, 0), dtype=np.intp)).weights[0]
        support = np.sort(np.argsort(-weights, kind="stable")[:largest])
        return ConvexSpace(problem, tuning), float(problem.values(support[None])[0])
    raise InvalidInput("this loss has no lower bounds, so only few supports can be drawn from")
