"""What every search begins with: checked arguments, an engine, a clock and a centre."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from mipselect.arrays import IntArray
from mipselect.backends.discovery import NATIVE, usable_solver
from mipselect.backends.protocols import Capability, MasterSolver, Solver
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.losses.fenchel import FenchelLoss
from mipselect.losses.squared import PreparedSquared
from mipselect.search.convex.masters import FenchelMasters
from mipselect.search.convex.method import ConvexMethod, Division
from mipselect.search.cutting_loop import OuterApproximation
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.neighbourhood import Method, Neighbourhood
from mipselect.search.progress import Clock, ProgressCallback
from mipselect.validation import checked_time_limit, checked_tolerance

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
    method : Method
    clock : Clock
    tolerance : float
        In units of the sensitivity.
    """

    instance: Instance
    method: Method
    clock: Clock
    tolerance: float

    @property
    def allowance(self) -> float:
        """τ in units of the objective."""
        return self.tolerance * self.instance.sensitivity

    def center(self) -> Neighbourhood:
        """A support that no swap improves."""
        return self.method.center(self.instance.support_size, self.clock)

    def center_at(self, support: IntArray, value: float) -> Neighbourhood:
        """The neighbourhood of a support whose value is known."""
        return self.method.center_at(support, value, self.clock)


def check_limits(instance: Instance, tolerance: float | None, time_limit: float | None) -> None:
    """Raise `InvalidInput` unless a certified search can be asked for with these arguments."""
    if tolerance is not None:
        checked_tolerance(tolerance)
    if time_limit is not None:
        checked_time_limit(time_limit)
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
    """Check the arguments of a search and choose its method."""
    check_limits(instance, tolerance, time_limit)
    tolerance = DEFAULT_TOLERANCE if tolerance is None else tolerance
    method = _method(solver, instance, tolerance)
    return Search(instance, method, Clock(time_limit, progress), tolerance)


def _method(solver: str | Solver, instance: Instance, tolerance: float) -> Method:
    masters = None if solver in ("auto", NATIVE) else _masters(solver, instance, tolerance)
    problem = instance.prepared
    if isinstance(problem, PreparedSquared):
        return LeastSquaresMethod(problem, masters or ClosedForm())
    if not isinstance(problem, FenchelLoss):
        raise InvalidInput(f"no certified search is built for the loss {instance.loss!r}")
    return ConvexMethod(problem, FenchelMasters(masters) if masters else Division())


def _masters(solver: str | Solver, instance: Instance, tolerance: float) -> OuterApproximation:
    unit = max(tolerance, SMALLEST_TAU) * instance.sensitivity / UNITS_PER_TAU
    return OuterApproximation(cast(MasterSolver, usable_solver(solver, Capability.MILP)), unit)
