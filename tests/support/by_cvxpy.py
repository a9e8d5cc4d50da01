"""The restricted problem by solvers that share nothing with the package."""

from __future__ import annotations

import re

import cvxpy as cp
import numpy as np

from mipselect.problem.instance import Instance


def total_loss(name: str, y: np.ndarray, u: cp.Expression) -> cp.Expression:
    parameter = float(re.findall(r"\((.*)\)", name)[0]) if "(" in name else 0.0
    if name == "hinge":
        return cp.sum(cp.pos(1 - cp.multiply(y, u)))
    if name.startswith("huber"):
        return 0.5 * cp.sum(cp.huber(y - u, parameter))
    if name.startswith("quantile"):
        return cp.sum(cp.maximum(parameter * (y - u), (parameter - 1) * (y - u)))
    raise NotImplementedError(f"write down {name} here, apart from its class")


def value_by_cvxpy(instance: Instance, support: np.ndarray) -> float:
    """R(support); columns are brought to the scale of the bounds first."""
    scale = instance.coef_bound
    coef = cp.Variable(len(support))
    loss = total_loss(instance.loss, instance.y, (instance.X[:, support] * scale) @ coef)
    penalty = 0.5 * instance.ridge * scale**2 * cp.sum_squares(coef)
    problem = cp.Problem(cp.Minimize(loss + penalty), [cp.norm(coef) <= 1.0])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value) / instance.n


def least(G: np.ndarray, b: np.ndarray, ridge: float, radius: float) -> float:
    """min over ‖β‖ ≤ r of βᵀGβ - 2b·β + λ‖β‖², by eigenvalues and bisection."""
    values, vectors = np.linalg.eigh(G)
    turned = vectors.T @ b

    def length(multiplier: float) -> float:
        return float(np.linalg.norm(turned / (values + multiplier)))

    low, high = ridge, ridge + 1e9
    if length(low) > radius:
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if length(middle) > radius else (low, middle)
    beta = vectors @ (turned / (values + low))
    return float(beta @ G @ beta - 2 * b @ beta + ridge * beta @ beta)
