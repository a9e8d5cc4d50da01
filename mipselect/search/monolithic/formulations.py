"""Whole mixed-integer models of best subset selection, in Pyomo: a second opinion on the cuts.

With β = r·b, ‖b‖₂ ≤ 1, and c the scale of the objective both forms minimise

    (c/2n) (d - 2r Σ_j (Xᵀy)_j b_j + r² bᵀ(G + λI)b)   over   z ∈ {0,1}^p, Σ z = s, |b_j| ≤ z_j

so that nothing larger than one multiplies a binary variable: the bound r on ‖β‖₂ is a valid big M.

- **perspective**: with G = V diag(g) Vᵀ and δ = min g the part (λ+δ) b_j² becomes (λ+δ) t_j with
  the rotated cone b_j² ≤ t_j z_j. The rest is a sum of squares u_k = √(g_k - δ) r V_k·b, one for
  each eigenvalue, and Σ t ≤ 1 is the norm constraint. A MISOCP with strong relaxations.
- **big-m**: the quadratic objective as it is and the norm constraint Σ b_j² ≤ 1. A MIQP in the
  2p variables z and b.

Pyomo is imported when it is needed, for that takes longer than most searches.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.squared import PreparedSquared

EIGENVALUE_SHARE = 1.0 - 1e-6
"""So much of the least eigenvalue is δ: rounding must not make G - δI indefinite."""

SMALLEST_EIGENVALUE = 1e-12
"""Relative to the largest one; smaller ones are zero up to rounding."""


class Form(StrEnum):
    """How the binary variables switch the coefficients."""

    PERSPECTIVE = "perspective"
    BIG_M = "big-m"


@dataclass(frozen=True, eq=False)
class LeastSquaresModels:
    """Whole models of the squared loss.

    Attributes
    ----------
    problem : PreparedSquared
        With a Gram matrix that can be held.
    """

    problem: PreparedSquared

    @property
    def baseline(self) -> float:
        """The value of no features, d/2n."""
        return self.problem.target_norm / (2.0 * self.problem.n)

    def size(self, form: Form) -> tuple[int, int]:
        """Columns and rows of the model, at most."""
        p = self.problem.gram.p
        return (4 if form is Form.PERSPECTIVE else 2) * p, 4 * p + 2

    def build(self, support_size: int, form: Form, scale: float) -> Any:
        """Build the model of the best support of s features; its objective is c·R.

        Returns
        -------
        ConcreteModel
            With the binary variables ``z[0..p-1]``.
        """
        import pyomo.environ as pyo

        problem, radius = self.problem, self.problem.radius
        model = switched_coefficients(problem.gram.p, support_size)
        add_quadratic = _perspective if form is Form.PERSPECTIVE else _big_m
        quadratic = add_quadratic(model, problem.gram.full() * radius**2, problem.ridge * radius**2)
        linear = pyo.quicksum(
            float(-2.0 * radius * moment) * model.b[j] for j, moment in enumerate(problem.moment)
        )
        factor = scale / (2.0 * problem.n)
        model.objective = pyo.Objective(expr=factor * (problem.target_norm + linear + quadratic))
        return model


def switched_coefficients(p: int, support_size: int) -> Any:
    """A model with z ∈ {0,1}^p, Σ z = s, and coefficients |b_j| ≤ z_j."""
    import pyomo.environ as pyo

    features = range(p)
    model: Any = pyo.ConcreteModel()
    model.z = pyo.Var(features, domain=pyo.Binary)
    model.b = pyo.Var(features, bounds=(-1.0, 1.0))
    model.size = pyo.Constraint(expr=pyo.quicksum(model.z.values()) == support_size)
    model.off_above = pyo.Constraint(features, rule=lambda m, j: m.b[j] <= m.z[j])
    model.off_below = pyo.Constraint(features, rule=lambda m, j: -m.b[j] <= m.z[j])
    return model


def squared_length(model: Any, form: Form) -> Any:
    """‖b‖² ≤ 1 as an expression: Σ t_j with the cones b_j² ≤ t_j z_j, or Σ b_j²."""
    import pyomo.environ as pyo

    features = list(model.b)
    if form is Form.PERSPECTIVE:
        model.t = pyo.Var(features, bounds=(0.0, 1.0))
        model.cone = pyo.Constraint(features, rule=lambda m, j: m.b[j] ** 2 <= m.t[j] * m.z[j])
        length = pyo.quicksum(model.t.values())
    else:
        length = pyo.quicksum(model.b[j] ** 2 for j in features)
    model.norm = pyo.Constraint(expr=length <= 1.0)
    return length


def at_distance(model: Any, center: IntArray, distance: int) -> None:
    """Exactly `distance` features of the support must lie outside `center`, shape (s,)."""
    import pyomo.environ as pyo

    kept = pyo.quicksum(model.z[int(j)] for j in center)
    model.distance = pyo.Constraint(expr=kept == len(center) - distance)


def _perspective(model: Any, G: FloatArray, ridge: float) -> Any:
    import pyomo.environ as pyo

    eigenvalues, vectors = np.linalg.eigh(G)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    shift = EIGENVALUE_SHARE * float(eigenvalues[0])
    weights = np.sqrt(eigenvalues - shift)[:, None] * vectors.T
    used = np.flatnonzero(eigenvalues > max(shift, SMALLEST_EIGENVALUE * eigenvalues[-1]))
    length = squared_length(model, Form.PERSPECTIVE)
    model.u = pyo.Var([int(k) for k in used])
    model.rows = pyo.Constraint(
        model.u.index_set(),
        rule=lambda m, k: (
            m.u[k] == pyo.quicksum(float(weight) * m.b[j] for j, weight in enumerate(weights[k]))
        ),
    )
    squares = pyo.quicksum(u**2 for u in model.u.values())
    return squares + (ridge + shift) * length


def _big_m(model: Any, G: FloatArray, ridge: float) -> Any:
    import pyomo.environ as pyo

    b, A = model.b, G + ridge * np.eye(len(G))
    squared_length(model, Form.BIG_M)
    diagonal = pyo.quicksum(float(A[j, j]) * b[j] ** 2 for j in b)
    pairs = zip(*np.triu_indices(len(A), k=1), strict=True)
    return diagonal + pyo.quicksum(float(2.0 * A[j, k]) * b[int(j)] * b[int(k)] for j, k in pairs)
