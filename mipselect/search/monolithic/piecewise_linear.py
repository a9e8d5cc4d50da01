"""Whole models of the hinge and the quantile loss, which are the larger of two lines.

With a dual box [lo, hi] of every row the loss is ℓ = max(lo(y - u), hi(y - u)), so that with
β = r·b and one variable ξ_i for each row the models minimise

    (c/n) [Σ_i ξ_i + (λr²/2) ‖b‖²],   ξ_i ≥ lo_i(y_i - r x_i·b),   ξ_i ≥ hi_i(y_i - r x_i·b).

The ridge makes them quadratic: no solver of linear models takes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mipselect.restricted.box_dual import PreparedBoxDual
from mipselect.restricted.features import Features
from mipselect.search.monolithic.forms import Form
from mipselect.search.monolithic.formulations import squared_length, switched_coefficients


@dataclass(frozen=True, eq=False)
class PiecewiseLinearModels:
    """Whole models of a problem of softness zero, whose columns stand for `features`."""

    problem: PreparedBoxDual
    features: Features

    @property
    def baseline(self) -> float:
        """The value of no features."""
        box = self.problem.box
        return float(np.mean(np.maximum(box.low * box.y, box.high * box.y)))

    def size(self, form: Form) -> tuple[int, int]:
        """Return how many columns and rows the model has, at most."""
        p, n = self.problem.p, self.problem.n
        return (3 if form is Form.PERSPECTIVE else 2) * p + n, 3 * p + 2 * n + 3

    def terms(self, form: Form) -> int:
        """Return how many terms its longest part has: two lines for each row of X."""
        return int(2 * self.problem.n * self.problem.p)

    def build(self, support_size: int, form: Form, scale: float) -> Any:
        """Build the model of the best support of s features, as `LeastSquaresModels` does."""
        import pyomo.environ as pyo

        problem, box, radius = self.problem, self.problem.box, self.problem.radius
        model = switched_coefficients(self.features, support_size)
        used = range(len(model.b))
        length = squared_length(model, form)
        model.loss = pyo.Var(range(problem.n))
        residuals = [
            float(box.y[i])
            - pyo.quicksum(float(radius * problem.rows[k, i]) * model.b[k] for k in used)
            for i in range(problem.n)
        ]
        model.line_low = pyo.Constraint(
            range(problem.n), rule=lambda m, i: m.loss[i] >= float(box.low[i]) * residuals[i]
        )
        model.line_high = pyo.Constraint(
            range(problem.n), rule=lambda m, i: m.loss[i] >= float(box.high[i]) * residuals[i]
        )
        penalty = 0.5 * problem.ridge * radius**2 * length
        total = pyo.quicksum(model.loss.values()) + penalty
        model.objective = pyo.Objective(expr=scale / problem.n * total)
        return model
