"""Losses with a bounded curvature, as objective perturbation needs them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.losses.base import word_and_number
from mipselect.validation import checked_scale, shown

HUBER = "huber"

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

    @property
    @abstractmethod
    def curvature(self) -> float:
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
class Squared(SmoothLoss):
    """½(y - u)²."""

    name = "squared"
    curvature = 1.0

    def slope(self, y_bound: float, u_bound: float) -> float:
        """Return B_y + U."""
        return y_bound + u_bound

    def replaced(self, x_norm: float, y_bound: float, radius: float) -> float:
        """Compute D = 2B(B_y + rBσ)√(1-σ²), σ = (√(1+8κ²) - 1)/4κ, κ = rB/B_y.

        The gradient of a row at β = r e is (x·β - y)x. Two of them are farthest apart for
        x = B(σe + τf) and z = B(σe - τf), τ = √(1-σ²), both with the residual B_y + rBσ: e
        cancels, and 2B(B_y + rBσ)τ remains, which is largest where 2κσ² + σ - κ = 0. D lies
        between B(B_y + rB), what adding a row takes, and twice that.
        """
        kappa = radius * x_norm / y_bound
        # The same root without a difference of nearly equal numbers.
        sigma = 2.0 * kappa / (math.sqrt(1.0 + 8.0 * kappa * kappa) + 1.0)
        largest = y_bound + radius * x_norm * sigma
        return 2.0 * x_norm * largest * math.sqrt((1.0 - sigma) * (1.0 + sigma))

    def values(self, y: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `SmoothLoss.values`."""
        return 0.5 * (y - u) ** 2, u - y, np.ones_like(u)


@dataclass(frozen=True)
class Huber(SmoothLoss):
    """½(y-u)² for |y-u| ≤ κ, κ|y-u| - ½κ² beyond; κ in the units of y."""

    threshold: float
    curvature = 1.0

    @property
    def name(self) -> str:
        """huber(κ)."""
        return f"huber({self.threshold!r})"

    def slope(self, y_bound: float, u_bound: float) -> float:
        """Return min(κ, B_y + U)."""
        return min(self.threshold, y_bound + u_bound)

    def replaced(self, x_norm: float, y_bound: float, radius: float) -> float:
        """Return min(2Bκ, D): slopes are those of the squared loss, shortened.

        αx - βz is convex in the slopes α and β, so farthest where each is 0 or that of the
        squared loss.
        """
        clipped = super().replaced(x_norm, y_bound, radius)
        return min(clipped, Squared().replaced(x_norm, y_bound, radius))

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
    curvature = 0.25

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


def regression_loss(name: str) -> SmoothLoss:
    """Return "squared", "huber(κ)", or "huber" with the least κ; or raise `InvalidInput`."""
    word, number = word_and_number(name) if isinstance(name, str) else ("", None)
    if number is None and word == Squared.name:
        return Squared()
    if word == HUBER:
        kappa = LEAST_THRESHOLD if number is None else number
        return Huber(checked_scale(kappa, f"the parameter of the loss {word}"))
    raise InvalidInput(
        f"loss must be one of 'squared', 'huber', 'huber(number)', got {shown(name)}"
    )
