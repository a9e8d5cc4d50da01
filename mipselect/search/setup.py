"""Setup of every search: an instance, a method with its engine, and a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

from mipselect.backends import NATIVE, usable_solver
from mipselect.blocks.scores import R2
from mipselect.errors import InvalidInput
from mipselect.problem.instance import Instance
from mipselect.restricted.fenchel import FenchelLoss
from mipselect.restricted.gram import looking
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.convex import ConvexMethod, FenchelMasters
from mipselect.search.cuts import OuterApproximation
from mipselect.search.enumeration import Enumeration
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.cuts import SquaredMasters
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.options import SearchOptions
from mipselect.search.pool import Certificate
from mipselect.search.progress import Deadline, Run, TimeUp
from mipselect.search.strategies import Strategy
from mipselect.search.tree import Engine, Method, Neighbourhood

GRACE = 0.5
"""Seconds after which a search that was stopped improves its bound no more."""

Masters = TypeVar("Masters", bound=OuterApproximation[Any])
Found = TypeVar("Found", bound=Certificate)


@dataclass(frozen=True, eq=False)
class Search:
    """A search that is ready to run, with τ in units of the sensitivity."""

    instance: Instance
    method: Method
    tolerance: float
    run: Run

    @property
    def allowance(self) -> float:
        """τ in units of the objective, less what two values that are compared may be off by."""
        tau = self.tolerance * self.instance.sensitivity
        return max(tau - 2.0 * self.instance.value_error, 0.0)

    @property
    def levels(self) -> int:
        """L = min(s, p-s) + 1, the number of distances between two supports."""
        s, p = self.instance.support_size, self.instance.n_features
        return min(s, p - s) + 1

    def certificate(self, kind: Callable[..., Found], **found: object) -> Found:
        """Return what was found and proven, with the public facts and the effort so far."""
        return kind(
            **found,
            tolerance=self.tolerance,
            sensitivity=self.instance.sensitivity,
            n_features=self.instance.n_features,
            feature_names=self.instance.feature_names,
            effort=self.run.effort(self.method.name),
            relations=self.instance.problem.relations,
        )

    def relaxed(self) -> float:
        """Bound R from below on all supports, in little time: the search has been stopped."""
        grace = Deadline(GRACE)

        def look() -> None:
            if grace.remaining <= 0.0:
                raise TimeUp

        try:
            with looking(look):
                return self.method.relaxation(self.instance.support_size, grace)
        except TimeUp:
            return -math.inf

    def bounds_ahead(self, center: Neighbourhood) -> list[float]:
        """Bound all levels after each level, from 0 on; ``inf`` after the last."""
        bounds = [center.level_bound(level) for level in range(1, self.levels)]
        return [*accumulate([math.inf, *reversed(bounds)], min)][::-1]


def set_up(instance: Instance, options: SearchOptions, *, listed: int = 1) -> Search:
    """Choose the method that the options ask for, and begin.

    So many values as are `listed` are wanted, whatever the bounds are.
    """
    if instance.problem.score == R2:
        raise InvalidInput(
            "block scores are listed, not searched: ExponentialMechanism and PermuteAndFlip draw "
            "from all of them"
        )
    tolerance = options.tolerance_for(instance)
    return Search(
        instance,
        _method(instance, options, listed),
        tolerance,
        Run.start(options.time_limit, options.progress),
    )


def _method(instance: Instance, options: SearchOptions, listed: int) -> Method:
    tuning, problem = options.tuning, instance.prepared
    native = options.solver in ("auto", NATIVE)
    # So many supports take less time to evaluate than to bound.
    few, batch = float(tuning.few_convex), tuning.dual_points.supports
    if isinstance(problem, PreparedSquared):
        few = tuning.few / problem.features.cost(instance.support_size)
        batch = tuning.together.supports
    few = max(few, 2 * listed)
    if native and instance.number_of_supports <= few and tuning.uses(Strategy.ENUMERATION):
        return Enumeration(problem, instance.n_features, batch)
    if isinstance(problem, PreparedSquared):
        closed = ClosedForm() if native else outer_approximation(SquaredMasters, instance, options)
        return LeastSquaresMethod(problem, closed, tuning)
    if not isinstance(problem, FenchelLoss):
        raise InvalidInput(f"no certified search is built for the loss {instance.loss!r}")
    engine = Engine() if native else outer_approximation(FenchelMasters, instance, options)
    return ConvexMethod(problem, engine, tuning)


def outer_approximation(kind: type[Masters], instance: Instance, options: SearchOptions) -> Masters:
    """Make an engine of this kind, by the solver that the options name."""
    solver = usable_solver(options.solver)
    limits = options.tuning.masters
    tau = max(options.tolerance_for(instance), limits.smallest_tau) * instance.sensitivity
    return kind(solver, tau / limits.units_per_tau, limits)
