"""Data an instance holds of its table: the rows, or for the squared loss exact sums of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.losses.base import Loss, PreparedLoss
from mipselect.losses.gram import KnownGram
from mipselect.losses.squared import EPS, ROUNDINGS, PreparedSquared, SquaredLoss


class Held(Protocol):
    """Data that a loss can be tied to."""

    @property
    def n(self) -> int:
        """Number of rows."""
        ...

    @property
    def X(self) -> FloatArray:
        """The rows, laid out as the features want it, shape (n, columns); sensitive."""
        ...

    @property
    def y(self) -> FloatArray:
        """The target, shape (n,); sensitive."""
        ...

    def prepared(self, loss: Loss, ridge: float, radius: float) -> PreparedLoss:
        """The loss tied to the data."""
        ...

    def value_error(self, loss: Loss, y_bound: float, u_bound: float, columns: int) -> float:
        """The most by which a value on so many columns differs from R; public."""
        ...

    @property
    def has_rows(self) -> bool:
        """True if there are rows, and not only sums over them."""
        ...


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows, clipped and read-only."""

    X: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    def prepared(self, loss: Loss, ridge: float, radius: float) -> PreparedLoss:
        """The loss tied to the rows."""
        return loss.prepare(self.X, self.y, ridge=ridge, radius=radius)

    def value_error(self, loss: Loss, y_bound: float, u_bound: float, columns: int) -> float:
        """That of the loss: sums over n rows are rounded."""
        return loss.value_error(self.n, y_bound, u_bound)

    @property
    def has_rows(self) -> bool:
        """Yes: a value that cancels is computed again from them."""
        return True


@dataclass(frozen=True, eq=False)
class HeldSums:
    """Sums over n rows that no rounding has entered: G = XᵀX, b = Xᵀy and d = yᵀy.

    Attributes
    ----------
    n : int
    gram : ndarray of shape (C, C)
    moment : ndarray of shape (C,)
    target_norm : float
    """

    n: int
    gram: FloatArray = field(repr=False)
    moment: FloatArray = field(repr=False)
    target_norm: float = field(repr=False)

    @property
    def X(self) -> FloatArray:
        """There are no rows: raises `InvalidInput`."""
        raise self._no_rows()

    @property
    def y(self) -> FloatArray:
        """There are no rows: raises `InvalidInput`."""
        raise self._no_rows()

    def _no_rows(self) -> InvalidInput:
        return InvalidInput(
            "an instance from moments has sums and no rows; what needs rows needs "
            "Instance.from_table or Instance(X, y, ...)"
        )

    def prepared(self, loss: Loss, ridge: float, radius: float) -> PreparedLoss:
        """The squared loss; `InvalidInput` for others."""
        require_squared(loss)
        return PreparedSquared.of_sums(
            KnownGram(self.gram),
            self.moment,
            self.target_norm,
            self.n,
            ridge=ridge,
            radius=radius,
        )

    def value_error(self, loss: Loss, y_bound: float, u_bound: float, columns: int) -> float:
        """Rounding of d - 2b·β + βᵀGβ, a sum of terms of at most n(b_y + U)² in all.

        The sums over rows are exact. What is left are a few roundings for each column, in the sum
        and in the solution of the normal equations, whose backward error moves the minimum over
        the ball by no more than it moves G on it.
        """
        return 2.0 * (ROUNDINGS + 16 * columns) * EPS * loss.spread(y_bound, u_bound)

    @property
    def has_rows(self) -> bool:
        """No."""
        return False


def require_squared(loss: Loss) -> None:
    """Raise `InvalidInput` unless sums of squares and products are all that a loss needs."""
    if not isinstance(loss, SquaredLoss):
        raise InvalidInput(
            f"moments are sums of squares and products, which the {loss.name} loss cannot be "
            "computed from; it needs rows: Instance.from_table or Instance(X, y, ...)"
        )
