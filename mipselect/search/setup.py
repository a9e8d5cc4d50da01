"""Setup of every search: an instance, a method with its engine, and a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from mipselect.arrays import IntArray
from mipselect.backends.discovery import NATIVE, usable_solver
from mipselect.backends.protocols import Capability, MasterSolver
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.losses.fenchel import FenchelLoss
from mipselect.losses.squared import PreparedSquared
from mipselect.search.convex.masters import FenchelMasters
from mipselect.search.convex.method import ConvexMethod, DivideAll
from mipselect.search.convex.remembered import remembered
from mipselect.search.cutting_loop import OuterApproximation
from mipselect.search.enumeration import Enumeration
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.masters import SquaredMasters
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.neighbourhood import Method, Neighbourhood
from mipselect.search.options import SearchOptions, require_ridge
from mipselect.search.progress import Run

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
    tolerance : float
        τ in units of the sensitivity.
    run : Run
    """

    instance: Instance
    method: Method
    tolerance: float
    run: Run

    @property
    def allowance(self) -> float:
        """τ in units of the objective, less what two values that are compared may be off by."""
        tau = self.tolerance * self.instance.sensitivity
        return max(tau - self.instance.uncertain, 0.0)

    def center(self) -> Neighbourhood:
        """A support that no swap improves."""
        return self.method.center(self.instance.support_size, self.run)

    def center_at(self, support: IntArray, value: float) -> Neighbourhood:
        """The neighbourhood of a support whose value is known."""
        return self.method.center_at(support, value, self.run)


def set_up(instance: Instance, options: SearchOptions, *, listed: int = 1) -> Search:
    """Choose the method that the options ask for, and begin.

    Parameters
    ----------
    instance : Instance
    options : SearchOptions
    listed : int
        How many values are wanted, whatever the bounds are.
    """
    require_ridge(instance)
    tolerance = options.tolerance_for(instance)
    return Search(
        instance,
        _method(instance, options, listed),
        tolerance,
        Run.start(options.time_limit, options.progress),
    )


def _method(instance: Instance, options: SearchOptions, listed: int) -> Method:
    if options.solver not in ("auto", NATIVE):
        return _by_masters(instance, outer_approximation(instance, options))
    method = _native(instance)
    few: float = method.few
    if isinstance(method, LeastSquaresMethod):
        few /= method.problem.features.cost(instance.support_size)
    if instance.number_of_supports <= max(few, 2 * listed):
        batch = method.batches.supports if isinstance(method, ConvexMethod) else 4096
        return Enumeration(instance.prepared, instance.n_features, batch)
    return method


def _native(instance: Instance) -> LeastSquaresMethod | ConvexMethod:
    problem = instance.prepared
    if isinstance(problem, PreparedSquared):
        return LeastSquaresMethod(problem, ClosedForm())
    return ConvexMethod(remembered(_fenchel(instance)), DivideAll())


def _by_masters(instance: Instance, masters: OuterApproximation) -> Method:
    problem = instance.prepared
    if isinstance(problem, PreparedSquared):
        return LeastSquaresMethod(problem, SquaredMasters(masters))
    return ConvexMethod(remembered(_fenchel(instance)), FenchelMasters(masters))


def _fenchel(instance: Instance) -> FenchelLoss:
    if isinstance(instance.prepared, FenchelLoss):
        return instance.prepared
    raise InvalidInput(f"no certified search is built for the loss {instance.loss!r}")


def outer_approximation(
    instance: Instance, options: SearchOptions, **patience: int
) -> OuterApproximation:
    """The loop of masters by the solver that the options name; see `OuterApproximation`."""
    solver = cast(MasterSolver, usable_solver(options.solver, Capability.MILP))
    unit = max(options.tolerance_for(instance), SMALLEST_TAU) * instance.sensitivity / UNITS_PER_TAU
    return OuterApproximation(solver, unit, **patience)
