"""Optimum and mistake levels by whole models: a second opinion on the search.

Supports that a solver returns are evaluated exactly. Its bounds certify nothing: a bound that is
returned is the lower one of what the solver claims, less what the tolerances of a nonlinear solver
may be worth, and of what the native search proves around the same support. Small and medium
instances only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from mipselect.arrays import IntArray
from mipselect.backends.discovery import NATIVE, usable_solver
from mipselect.backends.protocols import Capability, MipStatus, WholeSolver, rounded
from mipselect.errors import NotCertified, SolverFailure
from mipselect.problem.instance import Instance
from mipselect.restricted.gram import looking
from mipselect.search.collectors import Collector
from mipselect.search.levels import find_levels
from mipselect.search.monolithic.forms import Form
from mipselect.search.monolithic.formulations import (
    Models,
    at_distance,
    models_of,
    unit_of,
)
from mipselect.search.neighbourhood import Neighbourhood
from mipselect.search.options import SearchOptions
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import Deadline, Run, Stopped, TimeUp
from mipselect.search.setup import Search, set_up
from mipselect.search.tuning import WholeModels

CLAIM_ERROR = 1e-6
"""Share of the objective of no features that a nonlinear solver's tolerances may be worth."""

WHOLE_TOLERANCE = 0.05
"""τ in units of the sensitivity: nonlinear solvers prove no less, and nothing is drawn from it."""


def whole_optimum(instance: Instance, *, form: Form | None = None, **options: Any) -> SupportPool:
    """Find the best support by one whole model, and prove it by the native search.

    Parameters
    ----------
    instance : Instance
    form : Form, optional
        Default: perspective, or big-M if only that fits the solver's licence.
    **options
        Those of `SearchOptions`. The solver takes whole models with quadratic terms, as "gurobi"
        and "scip" do; the default of the tolerance is 0.05, above that of the certified search,
        for a nonlinear solver's tolerances are what they are.

    Returns
    -------
    SupportPool
        A pool of one support; sensitive.

    Raises
    ------
    NotCertified
        With what was found and proven.
    InvalidInput, UnknownSolver, SolverFailure

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 2.1; the perspective form is the one of Günlük and Linderoth (2010).
    """
    method = _set_up(instance, form, SearchOptions(**options))
    native, run = method.native, method.native.run
    best = Collector(1, native.allowance)
    run.stage = "optimum"
    try:
        with looking(run.tick):
            found = method.solve(instance.support_size, run)
            best.offer(found.support[None], np.array([found.value]))
            around = native.method.center_at(found.support, found.value, run)
            for level in range(1, native.levels):
                around.search_level(level, best, run)
    except Stopped as stop:
        relaxed = native.relaxed()
        raise run.refusal(stop, max(0.0, relaxed), best.target, None, "") from stop
    bound = min(found.bound, best.bound)
    pool = method.search.certificate(
        SupportPool,
        supports=found.support[None],
        values=np.array([found.value]),
        rest_bound=math.inf if instance.number_of_supports == 1 else bound,
    )
    if not pool.certified:
        raise NotCertified(
            f"{method.name} and the native search could only prove that every support is at "
            f"{bound:.9g} or above, and the best known value is {found.value:.9g}",
            bound=bound,
            incumbent=found.value,
            partial=pool,
        )
    return pool


def whole_levels(instance: Instance, *, form: Form | None = None, **options: Any) -> MistakeLevels:
    """Find the optimum and the best support of every mistake level, one whole model for each.

    Parameters, errors and references are those of `whole_optimum`. That the optimum is one
    follows from the bounds of the other levels; where it is tied with another support, or ahead
    by less than a nonlinear solver can tell, this cannot be proven and `NotCertified` is raised.

    Returns
    -------
    MistakeLevels
        Sensitive.
    """
    return find_levels(_set_up(instance, form, SearchOptions(**options)).search)


@dataclass(frozen=True, eq=False)
class Claim:
    """Support that a whole model found, its exact value, and the bound that the solver claims."""

    support: IntArray
    value: float
    bound: float


@dataclass(frozen=True, eq=False)
class WholeNeighbourhood:
    """A support Ŝ, and levels around it whose best supports a whole model finds.

    The native search `around` it proves what the models claim.
    """

    support: IntArray
    value: float
    around: Neighbourhood
    method: WholeMethod

    def level_bound(self, level: int) -> float:
        """Bound R from below on a whole level, as the native search does."""
        return self.around.level_bound(level)

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer what the model of a level finds, and settle what is both claimed and proven."""
        run.incumbent = self.value
        found = self.method.solve(len(self.support), run, self.support, level)
        value = np.array([found.value])
        collector.offer(found.support[None], value)
        if found.value < self.value:
            # The driver moves there, and asks for all levels anew.
            collector.settle(0.0)
            return
        best = Collector(1, self.method.native.allowance, floor=self.value)
        best.offer(found.support[None], value)
        try:
            self.around.search_level(level, best, run)
        finally:
            collector.settle(min(found.bound, best.bound))


@dataclass(frozen=True, eq=False)
class WholeMethod:
    """Search by whole models; the native one, around the same supports, proves what they claim."""

    native: Search
    solver: WholeSolver
    models: Models
    form: Form
    limits: WholeModels

    @property
    def name(self) -> str:
        """The solver and the form."""
        return f"{self.solver.status.name}, whole {self.form} model"

    @property
    def search(self) -> Search:
        """The search by this method."""
        return replace(self.native, method=self)

    def center(self, size: int, run: Run) -> WholeNeighbourhood:
        """Find the best support by one model."""
        found = self.solve(size, run)
        return self.center_at(found.support, found.value, run)

    def center_at(self, support: IntArray, value: float, run: Run) -> WholeNeighbourhood:
        """Return the neighbourhood of a support whose value is known."""
        around = self.native.method.center_at(support, value, run)
        return WholeNeighbourhood(support, value, around, self)

    def relaxation(self, size: int, grace: Deadline) -> float:
        """Bound R from below on all supports, as the native search does."""
        return self.native.method.relaxation(size, grace)

    def solve(
        self, size: int, run: Run, center: IntArray | None = None, distance: int = 0
    ) -> Claim:
        """Solve the model of all supports, or of those at `distance` from `center`."""
        instance, scale = self.native.instance, unit_of(self.models, self.limits)
        trust = CLAIM_ERROR * self.limits.units / scale
        model = self.models.build(size, self.form, scale)
        if center is not None:
            at_distance(model, center, distance)
        tau = self.native.tolerance * instance.sensitivity
        run.masters += 1
        solution = self.solver.solve(
            model,
            time_limit=max(run.deadline.remaining, 0.0),
            gap=scale * self.limits.share_of_tau * max(tau, trust),
        )
        run.solver_nodes += solution.nodes
        # Every restricted problem has a value ≥ 0, whatever the solver says.
        bound = max(0.0, solution.bound / scale - trust)
        if solution.status is MipStatus.TIME_LIMIT:
            raise TimeUp
        if not solution.found:
            raise SolverFailure(
                f"{self.name} ended with the status {solution.status.value!r} "
                f"({solution.detail}) and found nothing; its claim is {bound:.9g} or above"
            )
        support = rounded(np.array([z.value for z in model.z.values()]))
        if len(support) != size:
            raise SolverFailure(f"{self.name} returned {len(support)} features")
        value = instance.fit(support).value
        if bound > value:
            raise SolverFailure(
                f"{self.name} claims the bound {bound:.9g} where it found a support of value "
                f"{value:.9g}: its bound is wrong"
            )
        return Claim(support, value, bound)


def _set_up(instance: Instance, form: Form | None, options: SearchOptions) -> WholeMethod:
    """Set up the native search, and whole models on it."""
    tolerance = WHOLE_TOLERANCE if options.tolerance is None else options.tolerance
    native = set_up(instance, replace(options, solver=NATIVE, tolerance=tolerance))
    models = models_of(instance)
    needed = Capability.MIQP if form is Form.BIG_M else Capability.MISOCP
    solver = cast(WholeSolver, usable_solver(options.solver, needed))
    chosen = _fitting_form(solver, models) if form is None else form
    solver.status.check_size(*models.size(chosen), quadratic=True)
    return WholeMethod(native, solver, models, chosen, options.tuning.whole_models)


def _fitting_form(solver: WholeSolver, models: Models) -> Form:
    limit = solver.status.limit
    if limit is not None and models.size(Form.PERSPECTIVE)[0] > limit.quadratic_columns:
        return Form.BIG_M
    return Form.PERSPECTIVE
