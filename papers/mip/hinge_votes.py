"""Votes of a hinge model with an ℓ1 penalty, as in the MIP paper's comparison."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity

from ..arrays import FloatArray

HALVINGS = 8
ZERO = 1e-7


def hinge_coefficients(X: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Minimise Σ max(0, 1 - y_i x_i·β) + λ‖β‖₁, without an intercept.

    Parameters
    ----------
    X : float array, shape (m, p)
    y : float array, shape (m,)
        -1 and 1.
    penalty : float
        λ > 0.

    Returns
    -------
    float array, shape (p,)
        Zeros where the linear program could not be solved.
    """
    m, p = X.shape
    signed = csr_array(y[:, None] * X)
    # β = u - v and a slack ≥ 0 for each row: 1 - slack ≤ y x·β.
    rows = hstack([-signed, signed, -identity(m)], format="csr")
    cost = np.concatenate([np.full(2 * p, penalty), np.ones(m)])
    solution = linprog(cost, A_ub=rows, b_ub=-np.ones(m), bounds=(0.0, None), method="highs")
    if solution.x is None:
        return np.zeros(p)
    coefficients: FloatArray = solution.x[:p] - solution.x[p : 2 * p]
    return coefficients


def hinge_ballot(X: FloatArray, y: FloatArray, *, s: int) -> list[int]:
    """Vote for the non-zeros of the model with the smallest penalty that leaves at most s.

    The penalty is found by halving an interval below the one that leaves none.
    """
    if y.size < 2:
        return []
    high = float(np.abs(X.T @ y).max())
    low, chosen = 0.0, list[int]()
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle <= 0.0:
            break
        found = np.flatnonzero(np.abs(hinge_coefficients(X, y, middle)) > ZERO).tolist()
        if len(found) > s:
            low = middle
            continue
        high = middle
        if len(found) >= len(chosen):
            chosen = found
        if len(found) == s:
            break
    return chosen
