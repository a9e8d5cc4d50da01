"""`Interval`: a number that is proven to lie between two others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Interval:
    """Proven ends, not an error bar. Sensitive.

    Attributes
    ----------
    low, high : float or ndarray of shape (p,)
    """

    low: float | FloatArray
    high: float | FloatArray

    @property
    def width(self) -> float:
        """The largest high - low."""
        return float(np.max(np.subtract(self.high, self.low)))
