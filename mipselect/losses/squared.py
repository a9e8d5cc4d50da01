"""The squared loss ℓ(y, u) = ½(y - u)²."""

from __future__ import annotations

from mipselect.arrays import FloatArray
from mipselect.losses.base import Loss
from mipselect.restricted.columns import Columns, roundings_of_sum
from mipselect.restricted.squared import EPS, ROUNDINGS, PreparedSquared


class SquaredLoss(Loss):
    """ℓ(y, u) = ½(y - u)².

    Examples
    --------
    >>> from mipselect.losses import SquaredLoss
    >>> SquaredLoss().spread(1.0, 0.5)
    1.125
    """

    name = "squared"
    degree = 2

    def spread(self, y_bound: float, u_bound: float) -> float:
        """Compute ½(b_y + U)²: the loss lies between 0 and this on the box."""
        return 0.5 * (y_bound + u_bound) ** 2

    def oscillation(self, y_bound: float, u_bound: float) -> float:
        """Compute 2 U b_y where U ≤ b_y, else ½(b_y + U)²: the largest is at |y| = b_y."""
        if u_bound <= y_bound:
            return 2.0 * u_bound * y_bound
        return self.spread(y_bound, u_bound)

    def value_error(self, n: int, y_bound: float, u_bound: float) -> float:
        """Bound the rounding of d - 2b·β + βᵀGβ, a sum of terms of at most n(b_y + U)² in all.

        Sums over rows lose `roundings_of_sum` of their largest possible size, sums over the support
        a few more; how far β is from the optimum enters squared and is less than that.
        """
        return 2.0 * (roundings_of_sum(n) + ROUNDINGS) * EPS * self.spread(y_bound, u_bound)

    def prepare(
        self, X: FloatArray, y: FloatArray, *, ridge: float, radius: float
    ) -> PreparedSquared:
        """Compute b, d and the diagonal of G; the rest of G comes when it is needed."""
        return PreparedSquared.of_columns(Columns(X), y, ridge=ridge, radius=radius)
