"""Products of balls: where rows lie, and the norm of the noise that hides one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray


@dataclass(frozen=True)
class Balls:
    """A product of Euclidean balls around 0, of consecutive coordinates each.

    Its norm is ‖b‖ = max_f ‖b_f‖₂/a_f, at most 1 inside.

    Attributes
    ----------
    widths : tuple of int
        How many coordinates each ball has.
    radii : tuple of float
        a_f > 0.
    """

    widths: tuple[int, ...]
    radii: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of coordinates, d."""
        return sum(self.widths)

    @property
    def radius(self) -> float:
        """The root of the mean square of the radii."""
        return math.hypot(*self.radii) / math.sqrt(len(self.radii))

    @property
    def deviation(self) -> float:
        """σ: the root of the mean variance of a coordinate of noise with density ∝ e^{-‖b‖}.

        That is a uniform point of the product times a Gamma variable G of shape d + 1, and
        E G² = (d + 1)(d + 2); a uniform point of a ball has a mean square of a² m/(m + 2).
        """
        squares = [a * a * m / (m + 2.0) for m, a in zip(self.widths, self.radii, strict=True)]
        return math.sqrt((self.size + 1.0) * (self.size + 2.0) * math.fsum(squares) / self.size)

    def norms(self, points: FloatArray) -> FloatArray:
        """Compute the norms of points, shape (n, d); returns shape (n,)."""
        ends = np.cumsum(self.widths)[:-1]
        parts = np.split(points, ends, axis=1)
        lengths = [
            np.linalg.norm(part, axis=1) / a for part, a in zip(parts, self.radii, strict=True)
        ]
        found: FloatArray = np.max(lengths, axis=0)
        return found
