"""The constants of objective perturbation, and the minimiser of what it perturbs, in a ball."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from mipselect.arrays import FloatArray
from mipselect.regression.rows import Balls
from mipselect.regression.smooth_losses import SmoothLoss, Squared

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


SMALLEST_RIDGE = 1e-9
"""Least c in units of λ̄, which keeps the Hessian away from singular ones."""

ROUNDING = 1e-12
"""Part of ε that pays for roundings of Γ, λ̄, j and η: each is of some units in the last place."""

LEADING = 3
"""Newton's steps for each of the losses that lead to one with a narrow kink."""

UNKNOWN_ROWS = 144.0
"""n/σ of `balanced_ridge` where n is private."""


@dataclass(frozen=True)
class Perturbation:
    """Amounts of ridge and of noise that keep ε; public numbers only.

    Attributes
    ----------
    ridge : float
        c, at least the ridge that was given.
    noise_scale : float
        1/η: the noise has the density ∝ exp(-η‖b‖).
    jacobian : float
        j = ln(1 + λ̄/c), the part of ε that the curvature takes.
    """

    ridge: float
    noise_scale: float
    jacobian: float


def lightest_ridge(
    epsilon: float, gamma: float, change: float, curvature: float, radius: float, columns: int
) -> float:
    """Choose the c ≥ γ that adds least to the gradient in the worst case.

    Parameters
    ----------
    epsilon : float
    gamma : float
        γ ≥ 0, the ridge that was given.
    change : float
        Γ: the Euclidean length by which the sum of the gradients moves between neighbours, at any
        β of the ball.
    curvature : float
        λ̄: the largest eigenvalue of one row's Hessian.
    radius : float
        r.
    columns : int
        d.

    Notes
    -----
    What is added is dΓ/(ε - j) + r(c - γ) with j = ln(1 + λ̄/c): the mean length of the noise and
    the length of the further ridge term. That is convex in c, with the derivative
    r - dΓ/(ε-j)² · λ̄/(c(c + λ̄)), which rises.
    """

    def jacobian(ridge: float) -> float:
        return math.log1p(curvature / ridge)

    def derivative(ridge: float) -> float:
        left = epsilon - jacobian(ridge)
        if left <= 0.0:
            return -math.inf
        noise = columns * change / left / left
        return radius - noise * (curvature / ridge) / (ridge + curvature)

    floor = max(gamma, SMALLEST_RIDGE * curvature)
    if derivative(floor) >= 0.0:
        return floor
    return _least_ridge(lambda ridge: derivative(ridge) < 0.0, floor)


def _least_ridge(is_small: Callable[[float], bool], floor: float) -> float:
    """Find by bisection where ridges from `floor` on are no longer too small."""
    low = math.log(floor)
    high = low + 1.0
    while is_small(math.exp(high)):
        high += 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_small(math.exp(middle)) else (low, middle)
    return math.exp(high)


def with_ridge(ridge: float, epsilon: float, change: float, curvature: float) -> Perturbation:
    """Return η = (ε - ln(1 + λ̄/c))/Γ for a ridge c whose logarithm is below ε."""
    jacobian = math.log1p(curvature / ridge)
    return Perturbation(ridge, change / (epsilon - jacobian), jacobian)


def balanced_ridge(
    balance: float,
    epsilon: float,
    change: float,
    curvature: float,
    balls: Balls,
    rows: int | None,
) -> float:
    """Choose c = kσ√(σa/n), a ridge that grows with the noise: a public rule.

    Parameters
    ----------
    balance : float
        k.
    epsilon : float
    change : float
        Γ, in the norm of the balls and in units of the bound of the target.
    curvature : float
        λ̄, the largest eigenvalue of one row's Hessian.
    balls : Balls
        Where rows lie; a is the root of the mean square of their radii.
    rows : int or None
        n; None where it is private, taken for 144 σ/a then.

    Notes
    -----
    σ is the deviation of a coordinate of the noise under this ridge, so c is the one root of an
    increasing function. Where the data say nothing, noise alone makes coefficients of size σ/c,
    √(n/σa)/k. As σ is about (d + 1)Γ/(√3 ε) for numbers, this is a rule of nε and d: few rows or
    many coefficients shrink what is released, and with many rows the ridge is lost in the data.
    """
    scale, unit = balls.deviation * change, balls.radius

    def missing(ridge: float) -> bool:
        left = epsilon - math.log1p(curvature / ridge)
        if left <= 0.0:
            return True
        noise = scale / left
        known = UNKNOWN_ROWS if rows is None else max(rows, 1) * unit / noise
        return ridge < balance * noise * unit / math.sqrt(known)

    return _least_ridge(missing, SMALLEST_RIDGE * curvature)


def perturbed_minimiser(
    loss: SmoothLoss,
    rows: FloatArray,
    y: FloatArray,
    ridge: float,
    noise: FloatArray,
    radius: float,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Minimise Σ_i w_i ℓ(y_i, x_i·β) + (c/2)‖β‖² + b·β over ‖β‖ ≤ r; shape (d,).

    All w_i are 1 without weights.
    """
    size = rows.shape[1]
    if isinstance(loss, Squared):
        counted = rows if weights is None else rows * weights[:, None]
        gram = counted.T @ rows + ridge * np.eye(size)
        return step_in_ball(gram, noise - counted.T @ y, np.zeros(size), radius)

    def rises(kind: SmoothLoss, beta: FloatArray) -> FloatArray:
        slopes = kind.values(y, rows @ beta)[1]
        found: FloatArray = rows.T @ (slopes * counts) + ridge * beta + noise
        return found

    def bends(kind: SmoothLoss, beta: FloatArray) -> FloatArray:
        curvatures = kind.values(y, rows @ beta)[2] * counts
        found: FloatArray = (rows * curvatures[:, None]).T @ rows + ridge * np.eye(size)
        return found

    counts = np.ones(len(y)) if weights is None else weights
    beta: FloatArray = np.zeros(size)
    for kind in loss.smoother(y):
        beta = minimise_in_ball(partial(rises, kind), partial(bends, kind), beta, radius, LEADING)
    return minimise_in_ball(partial(rises, loss), partial(bends, loss), beta, radius)
