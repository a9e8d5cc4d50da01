"""Selectors that draw from what a certified search found: top-R and mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal, Self

from mipselect.backends import NATIVE, solver_by_name
from mipselect.errors import InvalidInput
from mipselect.mechanisms.supports.base import (
    both_relations,
    gap_in_one_direction,
    one_direction,
)
from mipselect.mechanisms.supports.mistakes import GAP_CONDITION, Mistakes
from mipselect.mechanisms.supports.top_r import TopR
from mipselect.parameters import estimator, parameter
from mipselect.privacy.decimals import exact, round_up
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.search import mistake_levels, top_supports
from mipselect.search.options import DEFAULT_TOLERANCE
from mipselect.search.progress import ProgressCallback
from mipselect.search.supports import number_of_listed
from mipselect.selectors.base import ChanceLevel
from mipselect.selectors.problem import ProblemSelector, of_values
from mipselect.validation import (
    checked_epsilon,
    checked_number,
    checked_time_limit,
    checked_tolerance,
)


@estimator
class SearchSelector(ProblemSelector):
    """A `ProblemSelector` whose distribution comes from a certified search."""

    pool_size: int | Literal["one-swap", "all"] = parameter(
        'int, "one-swap" or "all"',
        "How many of the best supports top-R lists; see `top_supports`. The more there are, the "
        "closer the draw is to the exponential mechanism; 100,000 take about a second at p = 100.",
        default="one-swap",
        flag="--pool-size",
    )
    solver: str = parameter("str", "See `available_solvers`.", default="auto", flag="--solver")
    tolerance: float | None = parameter(
        "float, optional",
        "τ in units of the sensitivity. Public; fixed before the data are seen.",
        default=None,
        flag="--tolerance",
        check=checked_tolerance,
    )
    time_limit: float | None = parameter(
        "float, optional",
        "Seconds for each search; `NotCertified` is raised if the proof is not complete by then.",
        default=None,
        flag="--time-limit",
        check=checked_time_limit,
    )

    @property
    def proven_tolerance(self) -> float:
        """τ of its searches in units of the sensitivity."""
        return DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance

    def _searching(self) -> dict[str, Any]:
        """Return the options that every search takes, by name."""
        return {"solver": self.solver, "tolerance": self.tolerance, "time_limit": self.time_limit}

    def _top_r(self, instance: Instance, progress: ProgressCallback | None) -> TopR:
        """Search for the best supports, and return the law of top-R on them."""
        pool = top_supports(instance, self.pool_size, **self._searching(), progress=progress)
        return TopR(pool, self.epsilon)

    def recorded(self, problem: Problem) -> dict[str, Any]:
        """See `PrivateSelector`."""
        name = NATIVE if self.solver == "auto" else self.solver
        release = version("mipselect") if name == NATIVE else solver_by_name(name).status.version
        return {
            "pool_size": number_of_listed(problem, self.pool_size) if self.has_pool else None,
            "tolerance": self.proven_tolerance,
            "solver": {"name": name, "version": release},
        }

    @property
    def has_pool(self) -> bool:
        """True if it draws from the best supports."""
        return True

    def chance_level(self, problem: Problem, n: int) -> ChanceLevel:
        """See `PrivateSelector`."""
        problem = self.problem(problem)
        moved = problem.sensitivity(n) * (1.0 + self.proven_tolerance)
        surprise = math.log(problem.number_of_supports)
        formula = "2(Δ + τ)/ε · ln C(p, s)"
        return of_values(problem, n, self.epsilon, 2.0 * moved / self.epsilon, formula, surprise)


@estimator
class TopRSelector(SearchSelector):
    """Select columns by top-R: pure ε-differential privacy from a certified pool; see `TopR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import TopRSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 8))
    >>> bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    >>> selector = TopRSelector(1, epsilon=10.0, **bounds).fit(X, X[:, 5])
    >>> selector.get_support(indices=True).tolist()
    [5]
    """

    name = "top-r"

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """See `TopR.guarantees`."""
        guarantee = self.guarantee
        cost = one_direction(guarantee.epsilon, self.proven_tolerance)
        return both_relations(guarantee, cost, self.relations)

    def _law(self, instance: Instance, progress: ProgressCallback | None) -> TopR:
        return self._top_r(instance, progress)


@estimator
class MistakesSelector(SearchSelector):
    """Select columns by the mistakes mechanism: the best value of every mistake level.

    As published (see `Mistakes`), its guarantee holds on a condition: the gap between the best and
    the second best value exceeds twice the sensitivity, on the data and on all their neighbours.
    `fit` raises `ConditionNotMet` where that is not proven of the data; both a refusal and a
    release tell something about them that no ε covers. With `test_epsilon` and `delta` the
    condition is tested privately, top-R answers where the test fails, and
    (test_epsilon + epsilon, delta) holds without conditions.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import MistakesSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 8))
    >>> bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    >>> selector = MistakesSelector(2, epsilon=1.0, test_epsilon=0.5, delta=1e-6, **bounds)
    >>> print(selector.fit(X, X[:, 0]).guarantee_)
    (1.5, 1e-06)-differentially private, replacing one row; no further condition
    """

    name = "mistakes"

    test_epsilon: float | None = parameter(
        "float, optional",
        "ε₀ > 0 of the test; comes on top of `epsilon`.",
        default=None,
        flag="--test-epsilon",
        check=checked_epsilon,
    )
    delta: float | None = parameter(
        "float, optional",
        "0 < δ < 1/2; given with `test_epsilon` or not at all.",
        default=None,
        flag="--delta",
        check=lambda value, name: checked_number(
            value, name, "a number strictly between 0 and 1/2", lambda v: 0.0 < v < 0.5
        ),
    )

    @property
    def has_pool(self) -> bool:
        """True if top-R answers where the test fails."""
        return self.test_epsilon is not None

    def check(self, named: Callable[[str], str] = str) -> Self:
        """See `PrivateSelector.check`."""
        if (self.test_epsilon is None) != (self.delta is None):
            raise InvalidInput(
                f"{named('test_epsilon')} and {named('delta')} belong together: give both or "
                "neither"
            )
        return super().check(named)

    @property
    def guarantee(self) -> Guarantee:
        """See `Mistakes.guarantee`."""
        if self.test_epsilon is None or self.delta is None:
            return replace(super().guarantee, conditions=(GAP_CONDITION,))
        return Guarantee(self.test_epsilon, self.delta) + Guarantee(self.epsilon)

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """See `Mistakes.guarantees`."""
        tolerance = self.proven_tolerance
        cost = one_direction(checked_epsilon(self.epsilon), tolerance)
        if self.test_epsilon is not None:
            test = gap_in_one_direction(self.test_epsilon, tolerance)
            cost = round_up(exact(test) + exact(cost))
        return both_relations(self.guarantee, cost, self.relations)

    def _law(self, instance: Instance, progress: ProgressCallback | None) -> Mistakes:
        levels = mistake_levels(instance, **self._searching(), progress=progress)
        if self.test_epsilon is None:
            return Mistakes(levels, self.epsilon)
        return Mistakes(
            levels,
            self.epsilon,
            test_epsilon=self.test_epsilon,
            delta=self.delta,
            fallback=self._top_r(instance, progress),
        )
