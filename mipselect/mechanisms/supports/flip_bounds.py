"""Bounds on ∫ Π_T (1 - x_T u) du over the supports of cells of which only sums are known.

Where the x_T of a cell are at most m ≤ 1, and add up to between l and h,

    (1 - mu)^{h/m} ≤ Π_T (1 - x_T u) ≤ exp(-lu)

(docs/mathematics/permute-and-flip.md, (5)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise.quadrature import Panels
from mipselect.mechanisms.supports.flipped_weights import PANELS, REACH

HALVINGS = 46
"""Panels towards u = 1 become half as wide so many times."""

OCTAVE = 64.0
"""m is rounded up to a power of 2^(1/64), so that equal factors are taken together."""

LOST = 1e-11
"""Relative allowance for quadratures, for what they leave out, and for sums in doubles.

A difference of two sums is off by some roundings of the larger, which is at most some 40/u where
an integral is followed: the integral is off by less than 10⁻¹² of itself.
"""


@dataclass(frozen=True, eq=False)
class Masses:
    """Sums of x_T over cells.

    Attributes
    ----------
    least, most : ndarray of shape (C,)
        l and h.
    largest : ndarray of shape (C,)
        m ≤ 1.
    """

    least: FloatArray
    most: FloatArray
    largest: FloatArray

    def without(self, cell: int, least: float, most: float, largest: float) -> Masses:
        """Take a support out of a cell.

        Parameters
        ----------
        cell : int
            Its place.
        least, most : float
            Its parts of l and h.
        largest : float
            No other x_T of the cell is larger.
        """
        new = Masses(self.least.copy(), self.most.copy(), self.largest.copy())
        new.least[cell] = max(0.0, self.least[cell] - least)
        new.most[cell] = max(0.0, self.most[cell] - most) if largest > 0.0 else 0.0
        new.largest[cell] = min(new.largest[cell], largest)
        return new

    def least_integral(self, known: float) -> float:
        """Bound ∫ (1 - known·u) Π_T (1 - x_T u) du over 0..1 from below."""
        end = min(1.0, REACH / (float(self.most.sum()) + known + 1.0))
        edges = np.linspace(0.0, end, PANELS + 1)
        if end == 1.0:
            # Powers of 1 - u are no polynomials. The last edge before 1 is 1 - 2^-6.
            edges = np.append(edges[:-1], 1.0 - 2.0 ** -np.arange(7.0, HALVINGS))
        panels = Panels(edges)
        u = panels.points
        logs = np.log1p(-known * u) + self._log_powers(u)
        return float(np.exp(panels.integrate(logs)[0])) * (1.0 - LOST)

    def most_integral(self, known: float, end: float) -> float:
        """Bound ∫ (1 - known·u) Π_T (1 - x_T u) du over 0..end from above, known·end ≤ 1."""
        total = float(self.least.sum())
        falls = total + known
        end = min(end, REACH / falls) if falls > 0.0 else end
        panels = Panels(np.linspace(0.0, end, PANELS + 1))
        u = panels.points
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log1p(-np.minimum(known * u, 1.0)) - total * u
        return float(np.exp(panels.integrate(logs)[0])) * (1.0 + LOST)

    def _log_powers(self, u: FloatArray) -> FloatArray:
        """Add up (h/m) ln(1 - mu) over the cells."""
        octaves = np.ceil(OCTAVE * np.log2(np.maximum(self.largest, 2.0**-50)))
        octaves, places = np.unique(octaves, return_inverse=True)
        sums = np.bincount(places, self.most, minlength=len(octaves))
        found = np.zeros_like(u)
        for m, h in zip(np.minimum(2.0 ** (octaves / OCTAVE), 1.0), sums, strict=True):
            found += h / m * np.log1p(-m * u)
        return found
