"""Whole mixed-integer models of best subset selection, in Pyomo.

With β = r·b, ‖b‖₂ ≤ 1, and c the scale of the objective both forms minimise

    (c/2n) (d - 2r Σ_k (Xᵀy)_k b_k + r² bᵀ(G + λI)b)   over   z ∈ {0,1}^p, Σ z = s, |b_k| ≤ z_j(k)

so that nothing larger than one multiplies a binary variable: the bound r on ‖β‖₂ is a valid big M.
The columns k of a feature j share its z; those that are always in have none.

- **perspective**: with G = V diag(g) Vᵀ and δ = min g the part (λ+δ) Σ b_k² becomes (λ+δ) t_j with
  the rotated cone Σ b_k² ≤ t_j z_j of each feature. The rest is a sum of squares
  u_k = √(g_k - δ) r V_k·b, one for each eigenvalue, and Σ t ≤ 1 is the norm constraint.
  A MISOCP with strong relaxations.
- **big-m**: the quadratic objective as it is and the norm constraint Σ b_j² ≤ 1. A MIQP in the
  2p variables z and b.

The hinge and the quantile loss are the larger of two lines: with a dual box [lo, hi] of every row
ℓ = max(lo(y - u), hi(y - u)). With one variable ξ_i for each row their models minimise

    (c/n) [Σ_i ξ_i + (λr²/2) ‖b‖²],   ξ_i ≥ lo_i(y_i - r x_i·b),   ξ_i ≥ hi_i(y_i - r x_i·b),

with Σ t in place of ‖b‖² in the perspective form. The ridge keeps them quadratic: no solver of
linear models takes them.

Pyomo is imported when it is needed, for that takes longer than most searches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.problem.instance import Instance
from mipselect.restricted.box_dual import PreparedBoxDual
from mipselect.restricted.features import Features, plain_features
from mipselect.restricted.grouping import FeatureProblem
from mipselect.restricted.squared import PreparedSquared
from mipselect.validation import checked_choice

UNITS = 1000.0
"""The objective of no features, in the units of the model."""

EIGENVALUE_SHARE = 1.0 - 1e-6
"""So much of the least eigenvalue is δ: rounding must not make G - δI indefinite."""

SMALLEST_EIGENVALUE = 1e-12
"""Relative to the largest one; smaller ones are zero up to rounding."""


PERSPECTIVE, BIG_M = "perspective", "big-m"
FORMULATIONS = (PERSPECTIVE, BIG_M)
"""Ways in which the binary variables switch the coefficients."""


@np.errstate(all="ignore")
def whole_model(instance: Instance, formulation: str = "perspective") -> Any:
    """Build the model of the best support in Pyomo, which writes and solves it. It is sensitive.

    It minimises c·R(S) over all supports S, where c makes the value of no features 1000. Feature j
    is chosen where ``model.z[j]`` is at one. What a solver says of it is no certificate;
    `top_supports` proves.

    Parameters
    ----------
    instance : Instance
        With the squared, the hinge or a quantile loss; also one of blocks of rows, or of moments.
    formulation : {"perspective", "big-m"}
        "perspective" has rotated cones and is strong; "big-m" has a quadratic objective, one
        quadratic row and the fewest columns.

    Returns
    -------
    pyomo.environ.ConcreteModel
        Its method ``write`` makes files such as .mps, .lp and .nl of it, which hold the data, or
        sums of them.

    Raises
    ------
    InvalidInput
        If there is no whole model of the loss.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 2.1; docs/mathematics/cuts.md, (14).

    Examples
    --------
    >>> from mipselect import load_instance, whole_model
    >>> model = whole_model(load_instance("tiny-plain"), "big-m")
    >>> len(model.z)
    8
    >>> _ = model.write("model.mps", io_options={"symbolic_solver_labels": True})
    """
    checked_choice(formulation, "formulation", FORMULATIONS)
    problem, size = instance.prepared, instance.support_size
    if isinstance(problem, PreparedSquared) and problem.gram.fits:
        return least_squares_model(problem, size, formulation)
    columns, features = problem, plain_features(instance.p)
    if isinstance(problem, FeatureProblem):
        columns, features = problem.columns, problem.features
    if isinstance(columns, PreparedBoxDual) and columns.box.softness == 0.0:
        return piecewise_linear_model(columns, features, size, formulation)
    raise InvalidInput(
        "whole models exist for the squared loss with a Gram matrix that fits, and for the hinge "
        f"and quantile losses; this instance has the loss {instance.loss!r} and "
        f"{instance.p} columns"
    )


def unit_of(baseline: float) -> float:
    """Return c, by the value of no features; where that is zero there is no unit."""
    return UNITS / baseline if baseline > 0.0 else 1.0


def least_squares_model(problem: PreparedSquared, support_size: int, formulation: str) -> Any:
    """Build the model of the squared loss, for a Gram matrix that can be held."""
    import pyomo.environ as pyo

    radius = problem.radius
    model = switched_coefficients(problem.features, support_size)
    used = len(model.b)
    G = problem.gram.full()[:used, :used] * radius**2
    add_quadratic = _perspective if formulation == PERSPECTIVE else _big_m
    quadratic = add_quadratic(model, G, problem.ridge * radius**2)
    linear = pyo.quicksum(
        float(-2.0 * radius * problem.moment[k]) * model.b[k] for k in range(used)
    )
    share = 1.0 / (2.0 * problem.n)
    factor = unit_of(share * problem.target_norm) * share
    model.objective = pyo.Objective(expr=factor * (problem.target_norm + linear + quadratic))
    return model


def _perspective(model: Any, G: FloatArray, ridge: float) -> Any:
    import pyomo.environ as pyo

    eigenvalues, vectors = np.linalg.eigh(G)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    shift = EIGENVALUE_SHARE * float(eigenvalues[0])
    weights = np.sqrt(eigenvalues - shift)[:, None] * vectors.T
    used = np.flatnonzero(eigenvalues > max(shift, SMALLEST_EIGENVALUE * eigenvalues[-1]))
    length = squared_length(model, PERSPECTIVE)
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
    squared_length(model, BIG_M)
    diagonal = pyo.quicksum(float(A[j, j]) * b[j] ** 2 for j in b)
    pairs = zip(*np.triu_indices(len(A), k=1), strict=True)
    return diagonal + pyo.quicksum(float(2.0 * A[j, k]) * b[int(j)] * b[int(k)] for j, k in pairs)


def piecewise_linear_model(
    problem: PreparedBoxDual, features: Features, support_size: int, formulation: str
) -> Any:
    """Build the model of a problem of softness zero, whose columns stand for `features`."""
    import pyomo.environ as pyo

    box, radius = problem.box, problem.radius
    model = switched_coefficients(features, support_size)
    used = range(len(model.b))
    length = squared_length(model, formulation)
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
    baseline = float(np.mean(np.maximum(box.low * box.y, box.high * box.y)))
    model.objective = pyo.Objective(expr=unit_of(baseline) / problem.n * total)
    return model


def switched_coefficients(features: Features, support_size: int) -> Any:
    """Build z ∈ {0,1}^p, Σ z = s, and coefficients |b_k| ≤ z_j of the columns k of j.

    The columns that are always in come last; they are not switched.
    """
    import pyomo.environ as pyo

    owner = np.repeat(np.arange(features.count), features.widths).tolist()
    model: Any = pyo.ConcreteModel()
    model.owner = dict(enumerate(owner + features.always * [features.count]))
    model.z = pyo.Var(range(features.count), domain=pyo.Binary)
    model.b = pyo.Var(range(len(model.owner)), bounds=(-1.0, 1.0))
    model.size = pyo.Constraint(expr=pyo.quicksum(model.z.values()) == support_size)
    switched = range(len(owner))
    model.off_above = pyo.Constraint(switched, rule=lambda m, k: m.b[k] <= m.z[owner[k]])
    model.off_below = pyo.Constraint(switched, rule=lambda m, k: -m.b[k] <= m.z[owner[k]])
    return model


def squared_length(model: Any, formulation: str) -> Any:
    """Require ‖b‖² ≤ 1, and return ‖b‖²: Σ t_j with the cones Σ b_k² ≤ t_j z_j, or Σ b_k²."""
    import pyomo.environ as pyo

    if formulation == PERSPECTIVE:
        parts = sorted(set(model.owner.values()))
        model.t = pyo.Var(parts, bounds=(0.0, 1.0))
        squares = {
            j: pyo.quicksum(model.b[k] ** 2 for k, owner in model.owner.items() if owner == j)
            for j in parts
        }
        model.cone = pyo.Constraint(
            parts, rule=lambda m, j: squares[j] <= (m.t[j] * m.z[j] if j in m.z else m.t[j])
        )
        length = pyo.quicksum(model.t.values())
    else:
        length = pyo.quicksum(b**2 for b in model.b.values())
    model.norm = pyo.Constraint(expr=length <= 1.0)
    return length
