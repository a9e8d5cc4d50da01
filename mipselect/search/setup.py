"""What every search begins with: checked arguments, an engine, a clock and a centre."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.losses.squared import PreparedSquared
from mipselect.search.backends import NATIVE, usable_solver
from mipselect.search.branch_and_bound import Engine
from mipselect.search.center import Center, center_at
from mipselect.search.closed_form import ClosedForm
from mipselect.search.outer_approximation import OuterApproximation
from mipselect.search.progress import Clock, ProgressCallback
from mipselect.search.protocols import Capability, MasterSolver, Solver
from mipselect.search.swaps import best_by_swaps

DEFAULT_TOLERANCE = 0.05
"""τ in units of the sensitivity; public, and fixed before the data are seen."""

UNITS_PER_TAU = 100.0
"""The master's objective is scaled so that τ is this many units."""

SMALLEST_TAU = 1e-3
"""Floor for τ in that scaling, in units of the sensitivity."""


@dataclass(frozen=True, eq=False)
class Search:
    """A search that is ready to run.

    Attributes
    ----------
    instance : Instance
    problem : PreparedSquared
    engine : Engine
    clock : Clock
    tolerance : float
        In units of the sensitivity.
    """

    instance: Instance
    problem: PreparedSquared
    engine: Engine
    clock: Clock
    tolerance: float

    @property
    def allowance(self) -> float:
        """τ in units of the objective."""
        return self.tolerance * self.instance.sensitivity

    def center(self) -> Center:
        """A support that no swap improves, with its cut."""
        if self.problem.gram.fits:
            self.problem.gram.full()
        support, value = best_by_swaps(self.problem, self.instance.support_size, self.clock)
        return center_at(self.problem, support, value, self.clock)


def check_limits(instance: Instance, tolerance: float | None, time_limit: float | None) -> None:
    """Raise `InvalidInput` unless a certified search can be asked for with these arguments."""
    if tolerance is not None and not (math.isfinite(tolerance) and tolerance >= 0.0):
        raise InvalidInput(
            f"tolerance must be a finite number ≥ 0 in units of the sensitivity, got {tolerance}"
        )
    if time_limit is not None and not time_limit > 0.0:
        raise InvalidInput(f"time_limit must be a number of seconds > 0, got {time_limit}")
    if instance.ridge <= 0.0:
        raise InvalidInput(
            f"a certified search needs ridge > 0, got {instance.ridge:g}: its cuts divide by it"
        )


def set_up(
    instance: Instance,
    solver: str | Solver,
    tolerance: float | None,
    time_limit: float | None,
    progress: ProgressCallback | None,
) -> Search:
    """Check the arguments of a search and choose its engine."""
    check_limits(instance, tolerance, time_limit)
    tolerance = DEFAULT_TOLERANCE if tolerance is None else tolerance
    engine = _engine(solver, instance, tolerance)
    problem = instance.prepared
    if not isinstance(problem, PreparedSquared):
        raise InvalidInput(f"no certified search is built for the loss {instance.loss!r} yet")
    return Search(instance, problem, engine, Clock(time_limit, progress), tolerance)


def _engine(solver: str | Solver, instance: Instance, tolerance: float) -> Engine:
    if solver in ("auto", NATIVE):
        return ClosedForm()
    unit = max(tolerance, SMALLEST_TAU) * instance.sensitivity / UNITS_PER_TAU
    masters = cast(MasterSolver, usable_solver(solver, Capability.MILP))
    return OuterApproximation(masters, unit)
