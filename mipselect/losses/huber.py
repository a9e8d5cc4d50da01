"""The Huber loss: ½(y-u)² for |y-u| ≤ κ, κ|y-u| - ½κ² beyond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.losses.box_dual import BoxDualLoss
from mipselect.validation import checked_scale, set_fields


@dataclass(frozen=True)
class HuberLoss(BoxDualLoss):
    """ℓ(y, u) = max over |a| ≤ κ of a(y - u) - ½a².

    Parameters
    ----------
    threshold : float
        κ > 0, in the units of y.

    Examples
    --------
    >>> from mipselect.losses import HuberLoss
    >>> HuberLoss(0.5).spread(1.0, 1.0)
    0.875
    """

    threshold: float = 1.35
    enough: ClassVar[str] = "U + κ"

    def __post_init__(self) -> None:
        threshold = checked_scale(self.threshold, "the threshold κ of the Huber loss")
        set_fields(self, threshold=threshold)

    @property
    def name(self) -> str:
        """huber(κ)."""
        return f"huber({self.threshold!r})"

    @property
    def softness(self) -> float:
        """1: the loss is quadratic near zero."""
        return 1.0

    def box(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return [-κ, κ]."""
        return np.full(len(y), -self.threshold), np.full(len(y), self.threshold)

    def spread(self, y_bound: float, u_bound: float) -> float:
        """Compute ℓ_κ(b_y + U)."""
        largest = y_bound + u_bound
        a = min(largest, self.threshold)
        return a * largest - 0.5 * a**2

    def oscillation(self, y_bound: float, u_bound: float) -> float:
        """Compute ℓ_κ(b_y + U) - ℓ_κ(b_y - U) where U ≤ b_y, else ℓ_κ(b_y + U)."""
        if u_bound > y_bound:
            return self.spread(y_bound, u_bound)
        kappa = self.threshold
        if y_bound + u_bound <= kappa:
            return 2.0 * u_bound * y_bound
        # Written so that nothing cancels for small U.
        inside = max(0.0, kappa - (y_bound - u_bound))
        return 2.0 * u_bound * kappa - 0.5 * inside**2
