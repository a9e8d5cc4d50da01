"""Losses that are a maximum of lines or parabolas.

A loss of the form

    ℓ(y, u) = max over lo(y) ≤ a ≤ hi(y) of a(y - u) - (q/2)a²,   q ≥ 0,

is convex and piecewise linear (q = 0) or piecewise quadratic. The hinge, Huber and quantile
losses are of this form; a new one states its box, its q, its name and its range.
"""

from __future__ import annotations

from abc import abstractmethod

from mipselect.arrays import FloatArray
from mipselect.losses.base import Loss
from mipselect.restricted.box_dual import ACCURACY, ROUNDING, PreparedBoxDual
from mipselect.restricted.certified import BoxDual


class BoxDualLoss(Loss):
    """A loss given by the box of its dual variable.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.losses import BoxDualLoss
    >>> class HalfAbsolute(BoxDualLoss):
    ...     name = "half-absolute"
    ...     def box(self, y):
    ...         return np.full(len(y), -0.5), np.full(len(y), 0.5)
    ...     def spread(self, y_bound, u_bound):
    ...         return 0.5 * (y_bound + u_bound)
    ...
    >>> HalfAbsolute().largest(1.0, 2.0)
    1.5
    """

    @property
    def softness(self) -> float:
        """q ≥ 0; zero where the loss is piecewise linear."""
        return 0.0

    @abstractmethod
    def box(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return lo(y) < hi(y), shape (n,) each."""

    def largest(self, y_bound: float, u_bound: float) -> float:
        """Return the largest ℓ there; `spread` where the smallest is zero, else to be stated."""
        return self.spread(y_bound, u_bound)

    def value_error(self, n: int, y_bound: float, u_bound: float) -> float:
        """Return the most by which a returned value may differ from R: `ACCURACY` Δ and rounding.

        Public: it depends on the bounds alone. A value that is not proven to it is an error.
        """
        proven = ACCURACY * self.spread(y_bound, u_bound) / n
        return proven + 2.0 * ROUNDING * self.largest(y_bound, u_bound)

    def prepare(
        self, X: FloatArray, y: FloatArray, *, ridge: float, radius: float
    ) -> PreparedBoxDual:
        """Tie the loss to clipped data, a ridge λ ≥ 0 and a coefficient radius r > 0."""
        low, high = self.box(y)
        return PreparedBoxDual(X, BoxDual(y, low, high, self.softness), ridge, radius)
