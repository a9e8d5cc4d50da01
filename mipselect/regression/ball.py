"""Smooth convex functions in a Euclidean ball: quadratics exactly, others by Newton's steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from mipselect.arrays import FloatArray

BISECTIONS = 200
NEWTON_STEPS = 1000
CLOSE = 4.0 * np.finfo(np.float64).eps

ON_SPHERE = 1e-12
"""A point that is so near to the sphere, in units of its radius, lies on it."""

ENOUGH = 0.01
"""A step ends where the slope along it is so small a share of the slope at its beginning."""

Gradient = Callable[[FloatArray], FloatArray]
"""Function from β, shape (d,), to the gradient there, shape (d,)."""

Hessian = Callable[[FloatArray], FloatArray]
"""Function from β, shape (d,), to the Hessian there, shape (d, d)."""


def step_in_ball(
    hessian: FloatArray, gradient: FloatArray, beta: FloatArray, radius: float
) -> FloatArray:
    """Minimise ½sᵀHs + gᵀs over all s with ‖β + s‖ ≤ r.

    Parameters
    ----------
    hessian : float array, shape (d, d)
        H, positive definite.
    gradient : float array, shape (d,)
        g.
    beta : float array, shape (d,)
        β, in the ball.
    radius : float
        r > 0.

    Returns
    -------
    float array, shape (d,)
        s = -(H + νI)⁻¹(g + νβ) with ν = 0 if β + s is in the ball, else the one ν > 0 with
        ‖β + s‖ = r: in the eigenbasis of H the length of β + s = (H + νI)⁻¹(Hβ - g) is a
        decreasing function of ν. Hβ is not formed, for of a steep H it would drown g.
    """
    values, vectors = eigh(hessian)
    values = np.maximum(values, np.finfo(np.float64).tiny)
    slopes, place = vectors.T @ gradient, vectors.T @ beta

    def at(multiplier: float) -> FloatArray:
        found: FloatArray = -(slopes + multiplier * place) / (values + multiplier)
        return found

    def length(multiplier: float) -> float:
        return float(np.linalg.norm(place + at(multiplier)))

    low, high = 0.0, float(np.linalg.norm(values * place - slopes)) / radius
    if length(low) > radius:
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (middle, high) if length(middle) > radius else (low, middle)
        low = high
    try:
        # Eigenvectors mix columns of small and of large units; Cholesky's factors do not.
        factor = cho_factor(hessian + low * np.eye(len(beta)))
        step: FloatArray = -cho_solve(factor, gradient + low * beta)
    except LinAlgError:
        step = vectors @ at(low)
    end = beta + step
    reached = float(np.linalg.norm(end))
    return step if reached <= radius else end * (radius / reached) - beta


def minimise_in_ball(
    gradient: Gradient,
    hessian: Hessian,
    start: FloatArray,
    radius: float,
    steps: int = NEWTON_STEPS,
) -> FloatArray:
    """Minimise a strongly convex function over ‖β‖ ≤ r by Newton's steps; shape (d,).

    Every step minimises the quadratic model over the ball. One that does not halve what is left of
    the gradient is followed as far as the function falls; the segment lies in the ball.

    Parameters
    ----------
    gradient, hessian : callable
    start : float array, shape (d,)
        In the ball.
    radius : float
    steps : int
        Most steps.
    """
    beta, slopes = start, gradient(start)
    for _ in range(steps):
        curved = hessian(beta)
        step = step_in_ball(curved, slopes, beta, radius)
        end = beta + step
        there = gradient(end)
        units = 1.0 / np.sqrt(np.diagonal(curved))
        left = np.linalg.norm(units * unbalanced(there, end, radius))
        if left > 0.5 * np.linalg.norm(units * unbalanced(slopes, beta, radius)):
            end = beta + falling(gradient, beta, step, float(slopes @ step)) * step
            there = gradient(end)
        moved = float(np.linalg.norm(end - beta))
        beta, slopes = end, there
        if moved <= CLOSE * float(np.linalg.norm(beta)):
            break
    return beta


def unbalanced(gradient: FloatArray, beta: FloatArray, radius: float) -> FloatArray:
    """Return the gradient without what the ball holds: zeros at the minimum; shape (d,)."""
    outward = -float(gradient @ beta) / radius**2
    on_sphere = float(np.linalg.norm(beta)) >= radius * (1.0 - ON_SPHERE)
    return gradient + max(outward, 0.0) * beta if on_sphere else gradient


def falling(gradient: Gradient, beta: FloatArray, step: FloatArray, first: float) -> float:
    """Find how much of a step to take, in [0, 1]: until the function is at its least, nearly.

    The slope along the step rises. It is compared, and not the function, of which differences are
    lost in the sum over all rows.

    Parameters
    ----------
    gradient : callable
    beta, step : float arrays, shape (d,)
    first : float
        The slope at the beginning.
    """

    def slope(length: float) -> float:
        return float(gradient(beta + length * step) @ step)

    if not first < 0.0:
        return 0.0
    low, high, trial = 0.0, 1.0, 1.0
    for _ in range(BISECTIONS):
        found = slope(trial)
        if abs(found) <= -ENOUGH * first or (trial == 1.0 and found < 0.0):
            return trial
        low, high = (low, trial) if found > 0.0 else (trial, high)
        trial = 0.5 * (low + high)
        if not low < trial < high:
            break
    return low
