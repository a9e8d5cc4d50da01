"""Best subset selection by a Markov chain."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mipselect.estimators import feature_bounds, target_bound
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.supports.metropolis import MetropolisHastings, mixing_guarantee
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
from mipselect.problem.sums import ExactSums
from mipselect.selectors.scored import RowsSelector
from mipselect.selectors.scores.residual_squares import ResidualSquares, smallest_square
from mipselect.validation import checked_epsilon, checked_integer, checked_scale, checked_share


@estimator
class MCMCSelector(RowsSelector):
    """Select columns by Metropolis-Hastings over supports: (ε, δ) if the chain has mixed.

    The chain makes single swaps and has the stationary law P(S) ∝ exp(-ε RSS_S / 2Δ), where
    RSS_S = min ‖y - X_S β‖² over ‖β‖₁ ≤ B on clipped data and Δ = (b_y + B b_x)². With features of
    several columns X_S are all columns of S and those that are always in, and b_x is the largest
    of the bounds, 1 of an intercept among them: no entry of a row exceeds it, so Δ is what it is
    for single columns, however many there are.

    Notes
    -----
    The guarantee carries the condition that the chain has mixed, by name, and nothing here
    proves it. `MetropolisHastings` says how close the chain must have come, and has the source.
    The 2 of 2Δ is part of the mechanism: without it ε would be twice what is stated.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import MCMCSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 6))
    >>> bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0}
    >>> selector = MCMCSelector(2, epsilon=1.0, delta=1e-6, n_steps=200, **bounds).fit(X, X[:, 0])
    >>> len(selector.guarantee_.conditions)
    1
    """

    delta: float = parameter(
        "float",
        "0 < δ < 1.",
        default=1e-6,
        flag="--delta",
        check=lambda value, name: checked_share(value, name, closed=False),
    )
    x_bound: float | Sequence[float] | None = feature_bounds(
        "; see `TopRSelector`. Public; required."
    )
    y_bound: float | None = target_bound("This is b_y. Public; required.")
    coef_bound: float | None = parameter(
        "float",
        "B, the largest ‖β‖₁, in units of y over units of x; of the columns that are always in "
        "too. Public; required by `fit`. Of an instance it may be None: r√s, which allows every β "
        "with ‖β‖₂ ≤ r where every feature is one column; each part that is always in counts in s. "
        "Without `intercept` centre by public constants.",
        default=None,
        assumption="the largest sum of |coefficients|",
        flag="--mcmc-radius",
        check=checked_scale,
    )
    intercept: bool = parameter("bool", "Whether a column of ones is always in.", default=False)
    always_bound: float | None = parameter(
        "float, optional",
        "Bound of the columns that are always in; default the largest `x_bound`.",
        default=None,
    )
    n_steps: int = parameter(
        "int",
        "How long the chain runs.",
        default=5000,
        flag="--mcmc-steps",
        check=lambda value, name: checked_integer(value, name, 1),
    )

    @property
    def guarantee(self) -> Guarantee:
        """See `MetropolisHastings.guarantee`."""
        return mixing_guarantee(checked_epsilon(self.epsilon), self.delta, self.n_steps)

    @property
    def bounds(self) -> tuple[str, ...]:
        """b_x and b_y, and r where there is no B."""
        return ("x_bound", "y_bound", *(("coef_bound",) if self.coef_bound is None else ()))

    def _asked(self) -> dict[str, Any]:
        given = self._public("x_bound", "y_bound", "coef_bound")
        del given["coef_bound"]
        return {"intercept": self.intercept, "always_bound": self.always_bound, **given}

    def radius_of(self, problem: Problem) -> float:
        """Return B, the bound of the coefficients."""
        if self.coef_bound is not None:
            return float(self.coef_bound)
        layout = problem.layout
        parts = problem.support_size + len(layout.always) + layout.intercept
        largest = problem.bound("coef_bound") * math.sqrt(parts)
        return checked_scale(largest, "coef_bound · √support_size")

    def stated(self, problem: Problem) -> dict[str, Guarantee]:
        """Return the guarantees; `InvalidInput` for a B that is too large."""
        self.sensitivity_of(problem)
        return self.guarantees

    def sensitivity_of(self, problem: Problem) -> float:
        """Compute Δ = (b_y + Bb)² of the sums of squared residuals."""
        layout, y_bound = problem.layout, checked_scale(problem.bound("y_bound"), "y_bound")
        layout.require_scales()
        bounds = [float(layout.bounds.max())]
        bounds += [layout.always_bound] if layout.always else []
        bounds += [1.0] if layout.intercept else []
        return (y_bound + self.radius_of(problem) * max(bounds)) ** 2

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> MetropolisHastings:
        y_bound, layout = problem.bound("y_bound"), problem.layout
        squares = ResidualSquares(
            layout.clipped(np.asarray(rows.X, dtype=np.float64)),
            np.clip(rows.y, -y_bound, y_bound),
            self.radius_of(problem),
        )

        def value(support: Support) -> float:
            return squares(layout.features.with_always(np.array(support)))

        return self._chain(value, problem)

    def _of_sums(self, problem: Problem, sums: ExactSums) -> MetropolisHastings:
        radius, features = self.radius_of(problem), problem.layout.features

        def value(support: Support) -> float:
            columns = features.with_always(np.array(support))
            gram = sums.gram[np.ix_(columns, columns)]
            return smallest_square(gram, sums.moment[columns], sums.target_norm, radius)

        return self._chain(value, problem)

    def _chain(self, value: Callable[[Support], float], problem: Problem) -> MetropolisHastings:
        return MetropolisHastings(
            value,
            problem.feature_names,
            problem.support_size,
            self.epsilon,
            delta=self.delta,
            sensitivity=self.sensitivity_of(problem),
            n_steps=self.n_steps,
        )
