"""The constants of objective perturbation, and the minimiser of what it perturbs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.regression.ball import minimise_in_ball, step_in_ball
from mipselect.regression.balls import Balls
from mipselect.regression.smooth_losses import SmoothLoss, Squared

BISECTIONS = 200
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
    ridge = floor
    if derivative(floor) < 0.0:
        low, high = math.log(floor), math.log(floor)
        while derivative(math.exp(high)) < 0.0:
            high += 1.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if derivative(math.exp(middle)) < 0.0 else (low, middle)
        ridge = math.exp(high)
    return ridge


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

    low = math.log(SMALLEST_RIDGE * curvature)
    high = low + 1.0
    while missing(math.exp(high)):
        high += 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if missing(math.exp(middle)) else (low, middle)
    return math.exp(high)


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
