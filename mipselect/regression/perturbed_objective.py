"""Losses with a bounded curvature, what objective perturbation adds to them, and the minimiser."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.losses.base import word_and_number
from mipselect.regression.rows import HUBER, Balls
from mipselect.validation import checked_scale, shown

SQUARED = "squared"

LEAST_THRESHOLD = 0.25
FEW_ROWS = 2000.0
"""κ of the loss "huber" in bounds of the target, and n times ε up to which it is that."""

NARROWER = 4.0
"""Ratio of the widths of two kinks, of which the wider one leads to the narrower."""

WIDE = 16.0
"""A kink is narrow where targets are beyond so many of its widths."""


class SmoothLoss(ABC):
    """ℓ(y, u) of a target y and a linear predictor u; convex in u."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the loss for models."""

    curvature: ClassVar[float]
    """The largest second derivative in u."""

    @abstractmethod
    def slope(self, y_bound: float, u_bound: float) -> float:
        """Return the largest |dℓ/du| for |y| ≤ y_bound and |u| ≤ u_bound."""

    def replaced(self, x_norm: float, y_bound: float, radius: float) -> float:
        """Bound how far the gradient in β moves when a row is replaced, ‖x‖ ≤ B and ‖β‖ ≤ r.

        Twice the largest gradient of one row.
        """
        return 2.0 * x_norm * self.slope(y_bound, radius * x_norm)

    def smoother(self, y: FloatArray) -> Sequence[SmoothLoss]:
        """Return losses with wider kinks that lead to this one, the widest first; here none.

        Newton's steps know nothing of a kink that no row is in, and do not end near it.
        """
        return ()

    @abstractmethod
    def values(self, y: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute ℓ and its first and second derivatives in u, all of shape (n,)."""


@dataclass(frozen=True)
class Huber(SmoothLoss):
    """½(y-u)² for |y-u| ≤ κ, κ|y-u| - ½κ² beyond; κ in the units of y, ``inf`` for squares."""

    threshold: float
    curvature: ClassVar[float] = 1.0

    @property
    def name(self) -> str:
        """huber(κ), or squared."""
        return f"huber({self.threshold!r})" if self.bounds_slopes else SQUARED

    @property
    def bounds_slopes(self) -> bool:
        """False for squares."""
        return math.isfinite(self.threshold)

    def slope(self, y_bound: float, u_bound: float) -> float:
        """Return min(κ, B_y + U)."""
        return min(self.threshold, y_bound + u_bound)

    def replaced(self, x_norm: float, y_bound: float, radius: float) -> float:
        """Compute min(2Bκ, D), D = 2B(B_y + rBσ)√(1-σ²), σ = (√(1+8κ²) - 1)/4κ, κ = rB/B_y.

        The gradient of a row for squares at β = r e is (x·β - y)x. Two of them are farthest apart
        for x = B(σe + τf) and z = B(σe - τf), τ = √(1-σ²), both with the residual B_y + rBσ: e
        cancels, and 2B(B_y + rBσ)τ remains, which is largest where 2κσ² + σ - κ = 0. D lies
        between B(B_y + rB), what adding a row takes, and twice that. Slopes of Huber's loss are
        shortened ones, and αx - βz is convex in the slopes α and β, so farthest where each is 0 or
        that of the squared loss.
        """
        kappa = radius * x_norm / y_bound
        # The same root without a difference of nearly equal numbers.
        sigma = 2.0 * kappa / (math.sqrt(1.0 + 8.0 * kappa * kappa) + 1.0)
        largest = y_bound + radius * x_norm * sigma
        of_squares = 2.0 * x_norm * largest * math.sqrt((1.0 - sigma) * (1.0 + sigma))
        return min(super().replaced(x_norm, y_bound, radius), of_squares)

    def smoother(self, y: FloatArray) -> Sequence[SmoothLoss]:
        """Return Huber's losses up to a κ that no target is beyond; see `SmoothLoss.smoother`.

        None where κ is not narrow beside the targets.
        """
        largest = float(np.abs(y).max(initial=0.0))
        if largest <= WIDE * self.threshold:
            return []
        steps = math.ceil(math.log(largest / self.threshold, NARROWER))
        return [Huber(self.threshold * NARROWER**k) for k in range(steps, 0, -1)]

    def values(self, y: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `SmoothLoss.values`."""
        slope = np.clip(u - y, -self.threshold, self.threshold)
        value = slope * (u - y) - 0.5 * slope**2
        return value, slope, (np.abs(u - y) < self.threshold).astype(np.float64)


@dataclass(frozen=True)
class LogisticLoss(SmoothLoss):
    """ln(1 + e^{-yu}) for y = -1 or +1; a row with y = 0 does not count."""

    name = "logistic"
    curvature: ClassVar[float] = 0.25

    def slope(self, y_bound: float, u_bound: float) -> float:
        """Compute 1/(1 + e^-U)."""
        return 1.0 / (1.0 + math.exp(-u_bound))

    def values(self, y: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `SmoothLoss.values`."""
        margin = y * u
        wrong = np.exp(-np.logaddexp(0.0, margin))
        return np.logaddexp(0.0, -margin), -y * wrong, y * y * wrong * (1.0 - wrong)


def default_threshold(epsilon: float, rows: int | None) -> float:
    """Return κ of the loss "huber", in bounds of the target: ¼√(nε/2000), from ¼ to 1.

    Noise grows with κ, and the bias where errors are skewed falls with it, whatever n is; so κ
    grows with the root of n, as without privacy, and ¼ is for where n is not public.

    Parameters
    ----------
    epsilon : float
    rows : int or None
        n, where it is public.

    References
    ----------
    Sun, Zhou and Fan, "Adaptive Huber regression", 2020, for the root; docs/regression.md for the
    numbers, which are by experiment.
    """
    if rows is None:
        return LEAST_THRESHOLD
    wanted = LEAST_THRESHOLD * math.sqrt(rows * epsilon / FEW_ROWS)
    return float(f"{min(max(wanted, LEAST_THRESHOLD), 1.0):.2g}")


def regression_loss(name: str) -> Huber:
    """Return "squared", "huber(κ)", or "huber" with the least κ; or raise `InvalidInput`."""
    word, number = word_and_number(name) if isinstance(name, str) else ("", None)
    if number is None and word == SQUARED:
        return Huber(math.inf)
    if word == HUBER:
        kappa = LEAST_THRESHOLD if number is None else number
        return Huber(checked_scale(kappa, f"the parameter of the loss {word}"))
    raise InvalidInput(
        f"loss must be one of 'squared', 'huber', 'huber(number)', got {shown(name)}"
    )


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
    """

    ridge: float
    noise_scale: float


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

    def is_small(ridge: float) -> bool:
        left = epsilon - math.log1p(curvature / ridge)
        if left <= 0.0:
            return True
        noise = columns * change / left / left
        return radius < noise * (curvature / ridge) / (ridge + curvature)

    return _least_ridge(is_small, max(gamma, SMALLEST_RIDGE * curvature))


def _least_ridge(is_small: Callable[[float], bool], floor: float) -> float:
    """Find by bisection where ridges from `floor` on are no longer too small."""
    if not is_small(floor):
        return floor
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
    return Perturbation(ridge, change / (epsilon - math.log1p(curvature / ridge)))


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
