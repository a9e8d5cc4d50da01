"""Losses that are a maximum of lines or parabolas.

A loss of the form

    ℓ(y, u) = max over lo(y) ≤ a ≤ hi(y) of a(y - u) - (q/2)a²,   q ≥ 0,

is convex and piecewise linear (q = 0) or piecewise quadratic. The hinge, Huber and quantile
losses are of this form; a new one states its box, its q, its name and its range.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.losses.base import Loss, wants_classes
from mipselect.restricted.box_dual import ACCURACY, ROUNDING, PreparedBoxDual
from mipselect.restricted.certified import BoxDual

GRID = 41
"""Points on each side of the grid that a stated range is compared on."""

ROUNDED = 1e-14
"""Share of the largest value that rounding may add to a range."""


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

    def require_stated(self, y_bound: float, u_bound: float) -> None:
        """Raise `InvalidInput` where a grid shows that the loss varies by more than is stated.

        Privacy rests on `spread` and `oscillation`. A grid finds gross mistakes and proves nothing.
        """
        ends = np.array([-1.0, 1.0])
        y = ends if wants_classes(self) else y_bound * np.linspace(-1.0, 1.0, GRID)
        low, high = self.box(y)
        if not np.all(low < high):
            raise InvalidInput(f"loss {self.name!r}: box must return lo(y) < hi(y)")
        errors = y[:, None] - u_bound * np.linspace(-1.0, 1.0, GRID)
        with np.errstate(all="ignore"):
            values = _maxima(errors, low[:, None], high[:, None], self.softness)
        rounding = ROUNDED * float(np.abs(values).max())
        for name, found in (
            ("spread", values.max() - values.min()),
            ("oscillation", np.ptp(values, axis=1).max()),
        ):
            stated = getattr(self, name)(y_bound, u_bound)
            if found > stated + rounding:
                raise InvalidInput(
                    f"loss {self.name!r}: {name} is stated as {stated:g} for |y| ≤ {y_bound:g} and "
                    f"|u| ≤ {u_bound:g}, but it is {found:g} at least; privacy rests on it"
                )

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


def _maxima(errors: FloatArray, low: FloatArray, high: FloatArray, softness: float) -> FloatArray:
    """Compute the largest a·e - (q/2)a² over the boxes, for errors e of shape (rows, points)."""
    if softness == 0.0:
        return np.maximum(low * errors, high * errors)
    best = np.clip(errors / softness, low, high)
    found: FloatArray = best * errors - 0.5 * softness * best**2
    return found
