"""Smooth convex functions in a Euclidean ball: quadratics exactly, others by Newton's steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

from mipselect.arrays import FloatArray

BISECTIONS = 200
NEWTON_STEPS = 200
HALVINGS = 60
CLOSE = 4.0 * np.finfo(np.float64).eps

Function = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]
"""Function from β, shape (d,), to the value, the gradient (d,) and the Hessian (d, d)."""


def quadratic_in_ball(hessian: FloatArray, linear: FloatArray, radius: float) -> FloatArray:
    """Minimise ½βᵀHβ - qᵀβ over ‖β‖ ≤ r.

    Parameters
    ----------
    hessian : float array, shape (d, d)
        H, positive definite.
    linear : float array, shape (d,)
        q.
    radius : float
        r > 0.

    Returns
    -------
    float array, shape (d,)
        (H + νI)⁻¹q with ν = 0 if that is in the ball, else the one ν > 0 with ‖β‖ = r: in the
        eigenbasis of H its length is a decreasing function of ν, between q/r - λ and q/r.
    """
    values, vectors = eigh(hessian)
    values = np.maximum(values, np.finfo(np.float64).tiny)
    inside = vectors.T @ linear

    def at(multiplier: float) -> FloatArray:
        found: FloatArray = inside / (values + multiplier)
        return found

    low, high = 0.0, float(np.linalg.norm(inside)) / radius
    if np.linalg.norm(at(low)) > radius:
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (middle, high) if np.linalg.norm(at(middle)) > radius else (low, middle)
        low = high
    beta: FloatArray = vectors @ at(low)
    length = float(np.linalg.norm(beta))
    return beta if length <= radius else beta * (radius / length)


def minimise_in_ball(function: Function, size: int, radius: float) -> FloatArray:
    """Minimise a strongly convex function over ‖β‖ ≤ r by Newton's steps; shape (size,).

    Every step minimises the quadratic model over the ball, and is halved until the function
    falls by enough. The segment lies in the ball.
    """
    beta: FloatArray = np.zeros(size)
    value, gradient, hessian = function(beta)
    for _ in range(NEWTON_STEPS):
        step = quadratic_in_ball(hessian, hessian @ beta - gradient, radius) - beta
        promised = float(gradient @ step)
        length = 1.0
        for _ in range(HALVINGS):
            trial = beta + length * step
            found = function(trial)
            if found[0] <= value + 1e-4 * length * promised + CLOSE * abs(value):
                break
            length /= 2.0
        moved = float(np.abs(length * step).max())
        beta, (value, gradient, hessian) = trial, found
        if moved <= CLOSE * radius:
            break
    return beta
