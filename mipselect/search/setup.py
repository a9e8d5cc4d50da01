"""Setup of every search: an instance, a method with its engine, and a run.

Where fewer supports than bounds would cost are there, the method is to evaluate all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends import NATIVE, usable_solver
from mipselect.blocks.scores import R2
from mipselect.errors import InvalidInput
from mipselect.problem.instance import Instance
from mipselect.restricted.columns import looking
from mipselect.restricted.fenchel import FenchelLoss
from mipselect.restricted.prepared import PreparedLoss
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.convex import ConvexMethod, FenchelMasters
from mipselect.search.cuts import OuterApproximation
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.cuts import SquaredMasters
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.options import SearchOptions
from mipselect.search.pool import Certificate
from mipselect.search.progress import Deadline, Run, TimeUp
from mipselect.search.tree import Engine, Method, Neighbourhood, Node
from mipselect.search.tuning import Strategy

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


@dataclass(frozen=True, eq=False)
class EvaluatedNeighbourhood:
    """A support Ŝ, shape (s,), all supports, shape (C, s), and their values."""

    support: IntArray
    value: float
    supports: IntArray
    values: FloatArray

    @cached_property
    def level_of(self) -> IntArray:
        """Distances of all supports from Ŝ."""
        return np.asarray(np.sum(~np.isin(self.supports, self.support), axis=1))

    def level_bound(self, level: int) -> float:
        """Return the smallest value of the level."""
        return float(self.values[self.level_of == level].min())

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer the whole level."""
        here = self.level_of == level
        collector.offer(self.supports[here], self.values[here])


@dataclass(frozen=True, eq=False)
class Enumeration:
    """Search by evaluating every support.

    Attributes
    ----------
    problem : PreparedLoss
    n_features : int
        p.
    batch : int
        Supports that are evaluated between two looks at the time.
    """

    problem: PreparedLoss
    n_features: int
    batch: int

    name = "native"

    def center(self, size: int, run: Run) -> EvaluatedNeighbourhood:
        """Find the best support, the first of them in lexicographic order."""
        supports, values = self._all(size, run)
        best = int(np.argmin(values))
        return EvaluatedNeighbourhood(supports[best], float(values[best]), supports, values)

    def center_at(self, support: IntArray, value: float, run: Run) -> EvaluatedNeighbourhood:
        """Return the neighbourhood of a support whose value is known."""
        return EvaluatedNeighbourhood(support, value, *self._all(len(support), run))

    def relaxation(self, size: int, grace: Deadline) -> float:
        """Return -inf: what was not evaluated is not bounded."""
        return -math.inf

    def _all(self, size: int, run: Run) -> tuple[IntArray, FloatArray]:
        """Evaluate every support in lexicographic order."""
        found: list[tuple[IntArray, FloatArray]] = []
        whole = Node(np.empty(0, dtype=np.intp), size, np.arange(self.n_features))
        for supports in whole.sets(self.batch):
            run.tick()
            with run.accounts.trying(Strategy.ENUMERATION) as account:
                found.append((supports, self.problem.values(supports)))
                account.successes += 1
            run.subproblems += 1
            run.incumbent = min(run.incumbent, float(found[-1][1].min()))
        every, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return every, values


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
        Run(Deadline(options.time_limit), options.progress),
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
