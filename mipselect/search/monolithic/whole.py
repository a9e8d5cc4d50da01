"""Optimum and mistake levels by whole models: a second opinion on the search.

Supports that a solver returns are evaluated exactly. Its bounds certify nothing: a bound that is
returned is the lower one of what the solver claims, less what the tolerances of a nonlinear solver
may be worth, and of what the native search proves around the same support. Small and medium
instances only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np

from mipselect.arrays import IntArray
from mipselect.backends.discovery import NATIVE, usable_solver
from mipselect.backends.protocols import Capability, MipStatus, Solver, WholeSolver, rounded
from mipselect.errors import InvalidInput, NotCertified, SolverFailure
from mipselect.instance import Instance
from mipselect.losses.box_dual import PreparedBoxDual
from mipselect.losses.features import plain_features
from mipselect.losses.grouping import FeatureProblem
from mipselect.losses.squared import PreparedSquared
from mipselect.search.collectors import BestSupport
from mipselect.search.monolithic.formulations import Form, LeastSquaresModels, at_distance
from mipselect.search.monolithic.piecewise_linear import PiecewiseLinearModels
from mipselect.search.options import SearchOptions
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import ProgressCallback, TimeUp
from mipselect.search.setup import set_up

UNITS = 1000.0
"""The objective of no features, in the units of the model."""

TRUST = 1e-6
"""Share of the objective of no features that a nonlinear solver's tolerances may be worth."""

DEFAULT_TOLERANCE = 0.05
"""τ in units of the sensitivity: nonlinear solvers prove no less, and nothing is drawn from it."""

SHARE_OF_TAU = 0.1
"""Solvers may stop when value and bound differ by this share of τ."""


def whole_optimum(
    instance: Instance,
    *,
    solver: str | Solver,
    form: Form | None = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> SupportPool:
    """Find the best support by one whole model, and prove it by the native search.

    Parameters
    ----------
    instance : Instance
        With ridge > 0.
    solver : str or Solver
        A back end for whole models with quadratic terms, such as "gurobi" or "scip".
    form : Form, optional
        Default: perspective, or big-M if only that fits the solver's licence.
    tolerance : float, optional
        τ in units of the sensitivity, default 0.05: above that of the certified search, for a
        nonlinear solver's tolerances are what they are.
    time_limit : float, optional
        Seconds.
    progress : callable, optional
        Receives a `Progress` now and then.

    Returns
    -------
    SupportPool
        Of one support; sensitive.

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
    search = _WholeSearch(instance, SearchOptions(solver, tolerance, time_limit, progress), form)
    search.run.reporter.stage = "optimum"
    support, value, claimed = search.best()
    bound = min(claimed, search.proven(support, value, support, range(1, len(support) + 1)))
    pool = SupportPool(
        supports=support[None],
        values=np.array([value]),
        rest_bound=math.inf if instance.number_of_supports == 1 else bound,
        tolerance=search.tolerance,
        sensitivity=instance.sensitivity,
        n_features=instance.n_features,
        feature_names=instance.feature_names,
        effort=search.run.effort(search.name),
    )
    if not pool.certified:
        raise NotCertified(
            f"{search.name} and the native search could only prove that every support is at "
            f"{bound:.9g} or above, and the best known value is {value:.9g}",
            bound=bound,
            incumbent=value,
            partial=pool,
        )
    return pool


def whole_levels(
    instance: Instance,
    *,
    solver: str | Solver,
    form: Form | None = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> MistakeLevels:
    """Find the optimum and the best support of every mistake level, one whole model for each.

    Parameters, errors and references are those of `whole_optimum`. That the optimum is one
    follows from the bounds of the other levels; where it is tied with another support, or ahead
    by less than a nonlinear solver can tell, this cannot be proven and `NotCertified` is raised.

    Returns
    -------
    MistakeLevels
        Sensitive.
    """
    search = _WholeSearch(instance, SearchOptions(solver, tolerance, time_limit, progress), form)
    stands = search.run.reporter
    stands.stage = "optimum"
    center, value, _ = search.best()
    while True:
        found = [(center, value, value)]
        for level in range(1, min(len(center), instance.n_features - len(center)) + 1):
            stands.stage = f"level {level}"
            stands.incumbent = value
            best, best_value, claimed = search.best(center, level)
            if best_value < value:
                found.append((best, best_value, 0.0))
                break
            proven = search.proven(best, best_value, center, range(level, level + 1), floor=value)
            found.append((best, best_value, min(claimed, proven)))
        else:
            break
        center, value, _ = found[-1]
    supports, values, bounds = zip(*found, strict=True)
    levels = MistakeLevels(
        supports=np.stack(supports),
        values=np.array(values),
        bounds=np.array(bounds),
        tolerance=search.tolerance,
        sensitivity=instance.sensitivity,
        n_features=instance.n_features,
        feature_names=instance.feature_names,
        effort=search.run.effort(search.name),
    )
    if not levels.certified:
        tied = levels.gap < 0.0
        raise NotCertified(
            f"{search.name} and the native search proved the bounds "
            f"{', '.join(f'{bound:.9g}' for bound in bounds)} for levels of the values "
            f"{', '.join(f'{v:.9g}' for v in values)}: "
            + ("the best one may be tied" if tied else "not within the tolerance"),
            bound=float(np.min(levels.bounds)),
            incumbent=value,
            partial=levels,
        )
    return levels


class _WholeSearch:
    """A solver, a form and an instance, and the models solved so far."""

    def __init__(
        self,
        instance: Instance,
        options: SearchOptions,
        form: Form | None,
    ) -> None:
        tolerance = DEFAULT_TOLERANCE if options.tolerance is None else options.tolerance
        self._search = set_up(instance, replace(options, solver=NATIVE, tolerance=tolerance))
        self._models = _models_of(instance)
        needed = Capability.MIQP if form is Form.BIG_M else Capability.MISOCP
        self._solver = cast(WholeSolver, usable_solver(options.solver, needed))
        status = self._solver.status
        self._instance = instance
        self._form = _fitting_form(self._solver, self._models) if form is None else form
        status.check_size(*self._models.size(self._form), quadratic=True)
        self.name = f"{status.name}, whole {self._form} model"
        self.tolerance = self._search.tolerance
        self.run = self._search.run

    def best(
        self, center: IntArray | None = None, distance: int = 0
    ) -> tuple[IntArray, float, float]:
        """Best support, at `distance` from `center` if there is one, its value, and the claim."""
        instance, run, stands = self._instance, self.run, self.run.reporter
        baseline = self._models.baseline
        scale = UNITS / baseline if baseline > 0.0 else 1.0
        trust = TRUST * UNITS / scale
        model = self._models.build(instance.support_size, self._form, scale)
        if center is not None:
            at_distance(model, center, distance)
        tau = self.tolerance * instance.sensitivity
        run.statistics.masters += 1
        solution = self._solver.solve(
            model,
            time_limit=max(run.deadline.remaining, 0.0),
            gap=scale * max(SHARE_OF_TAU * tau, SHARE_OF_TAU * trust),
        )
        run.statistics.solver_nodes += solution.nodes
        # Every restricted problem has a value ≥ 0, whatever the solver says.
        claimed = max(0.0, solution.bound / scale - trust)
        if solution.status is MipStatus.TIME_LIMIT:
            raise self._time_up()
        if not solution.found:
            raise SolverFailure(
                f"{self.name} ended with the status {solution.status.value!r} "
                f"({solution.detail}) in stage {stands.stage!r} and found nothing; its claim is "
                f"{claimed:.9g} or above"
            )
        support = rounded(np.array([z.value for z in model.z.values()]))
        if len(support) != instance.support_size:
            raise SolverFailure(f"{self.name} returned {len(support)} features")
        value = instance.fit(support).value
        if claimed > value:
            raise SolverFailure(
                f"{self.name} claims the bound {claimed:.9g} where it found a support of value "
                f"{value:.9g}: its bound is wrong"
            )
        return support, value, claimed

    def proven(
        self,
        support: IntArray,
        value: float,
        center: IntArray,
        distances: range,
        *,
        floor: float = -math.inf,
    ) -> float:
        """Bound R from below on all supports at some distances from `center`, by the native search.

        It looks for supports better than `support` by τ, or better than `floor` if that is more.
        """
        best = BestSupport(self._search.allowance, floor)
        best.offer(support[None], np.array([value]))
        try:
            around = self._search.center_at(center, self._instance.fit(center).value)
            for distance in distances:
                if distance < around.levels:
                    around.search_level(distance, best, self.run)
        except TimeUp as stop:
            raise self._time_up() from stop
        return best.bound

    def _time_up(self) -> NotCertified:
        stands = self.run.reporter
        return NotCertified(
            f"{self.name}: time limit reached in stage {stands.stage!r}; nothing is proven of it, "
            f"and the best value of stages before it is {stands.incumbent:.6g}",
            bound=0.0,
            incumbent=stands.incumbent,
        )


def _models_of(instance: Instance) -> LeastSquaresModels | PiecewiseLinearModels:
    problem = instance.prepared
    if isinstance(problem, PreparedSquared) and problem.gram.fits:
        return LeastSquaresModels(problem)
    columns, features = problem, plain_features(instance.p)
    if isinstance(problem, FeatureProblem):
        columns, features = problem.columns, problem.features
    if isinstance(columns, PreparedBoxDual) and columns.box.softness == 0.0:
        return PiecewiseLinearModels(columns, features)
    raise InvalidInput(
        "whole models exist for the squared loss with a Gram matrix that fits, and for the hinge "
        f"and quantile losses; this instance has the loss {instance.loss!r} and "
        f"{instance.p} columns"
    )


def _fitting_form(solver: WholeSolver, models: LeastSquaresModels | PiecewiseLinearModels) -> Form:
    limit = solver.status.limit
    if limit is not None and models.size(Form.PERSPECTIVE)[0] > limit.quadratic_columns:
        return Form.BIG_M
    return Form.PERSPECTIVE
