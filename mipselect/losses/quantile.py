"""The quantile loss: q(y-u) for y ≥ u and (1-q)(u-y) for y < u; q = ½ is half the absolute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.losses.box_dual import BoxDualLoss
from mipselect.validation import checked_number, set_fields


@dataclass(frozen=True)
class QuantileLoss(BoxDualLoss):
    """ℓ(y, u) = max(q(y - u), (q - 1)(y - u)); dual box [q - 1, q].

    Parameters
    ----------
    level : float
        q, 0 < q < 1.

    Examples
    --------
    >>> from mipselect.losses import QuantileLoss
    >>> QuantileLoss(0.9).name, QuantileLoss(0.9).spread(1.0, 1.0)
    ('quantile(0.9)', 1.8)
    """

    level: float = 0.5
    degree: ClassVar[int] = 1
    enough: ClassVar[str] = "U"

    def __post_init__(self) -> None:
        level = checked_number(
            self.level,
            "the level q of the quantile loss",
            "a number strictly between 0 and 1",
            lambda v: 0.0 < v < 1.0,
        )
        set_fields(self, level=level)

    @property
    def name(self) -> str:
        """quantile(q)."""
        return f"quantile({self.level!r})"

    def box(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return [q - 1, q]."""
        return np.full(len(y), self.level - 1.0), np.full(len(y), self.level)

    def spread(self, y_bound: float, u_bound: float) -> float:
        """Compute max(q, 1 - q)(b_y + U)."""
        return max(self.level, 1.0 - self.level) * (y_bound + u_bound)

    def oscillation(self, y_bound: float, u_bound: float) -> float:
        """Compute max(q, 1 - q)(min(b_y, U) + U)."""
        return self.spread(min(y_bound, u_bound), u_bound)
