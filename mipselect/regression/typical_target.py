"""`TypicalTarget`: the part of its range where nearly all values of a target lie.

A loss with a bounded slope has noise in proportion to the range of the target, and people state
ranges in which all values are possible (docs/mathematics/regression.md, (10)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.regression.typical_range import HALVINGS, TypicalRange

HALVING = 4
"""Percent of the values that each halving may lose. By experiment: what lies outside of the part
is not clipped, but has little weight in Huber's loss."""

IN_UNITS = ("coef_bound", "noise_scale", "noise_deviation")
"""Public numbers of a model that are in units of its target."""


class TypicalTarget(TypicalRange):
    """Permute-and-flip over the same intervals, which keeps more of the values inside.

    Without data every interval is as likely: it is drawn where rows are enough for empty ones to be
    rare.

    Examples
    --------
    >>> import random
    >>> import numpy as np
    >>> from mipselect.regression.typical_target import TypicalTarget
    >>> values = np.random.default_rng(0).normal(0.3, 0.02, 5000)
    >>> low, high = TypicalTarget(values, epsilon=0.5).draw(random.Random(0))
    >>> 0.0 < low < 0.25 and 0.35 < high < 0.6
    True
    """

    gains: ClassVar[NDArray[np.int64]] = HALVING * np.arange(len(HALVINGS) + 1)
    longer: ClassVar[Mapping[str, Fraction]] = {
        "replace-one": Fraction(0),
        "add-remove": Fraction(0),
    }


@dataclass(frozen=True)
class TargetPart:
    """A part of [-1, 1] that the target was fitted in, and what it cost; all of it is released.

    Attributes
    ----------
    low, high : float
    epsilon : float
    """

    low: float
    high: float
    epsilon: float

    @property
    def middle(self) -> float:
        """The target that is 0 in units of the part."""
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> float:
        """Half of its length."""
        return 0.5 * (self.high - self.low)

    def units(self, y: FloatArray) -> FloatArray:
        """Put targets in units of the part, not clipped; shape (n,)."""
        return (y - self.middle) / self.half

    def coefficients(self, theta: FloatArray) -> FloatArray:
        """Convert coefficients, the intercept the last, to those of a target in [-1, 1]; (d,)."""
        found = self.half * theta
        found[-1] += self.middle
        return found

    def bounds(self, of_part: Mapping[str, float]) -> dict[str, float]:
        """Convert the public numbers of a model likewise."""
        return {k: v * self.half if k in IN_UNITS else v for k, v in of_part.items()}

    def note(self, scale: float, offset: float) -> str:
        """Say where the part is, of a target that stands for offset + scale · y."""
        low, high = (offset + scale * end for end in (self.low, self.high))
        return (
            f"most values of the target lie between {low:.6g} and {high:.6g}, drawn with ε = "
            f"{self.epsilon:.6g} of the model; the loss and the noise are in units of half of that"
        )
