"""Cuts: lower bounds on R that are affine in the 0/1 vector z of a support.

A cut says R(S) ≥ constant + Σ_{j∈S} coefficients_j for every S in the family it was made for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Cut:
    """constant + Σ_{j∈S} coefficients_j, in the units of the objective.

    One with a number that is not finite becomes zero: no loss is negative.

    Attributes
    ----------
    constant : float
    coefficients : ndarray of shape (L,)
        One per column of the master.
    """

    constant: float
    coefficients: FloatArray

    def __post_init__(self) -> None:
        if not (math.isfinite(self.constant) and np.isfinite(self.coefficients).all()):
            object.__setattr__(self, "constant", 0.0)
            object.__setattr__(self, "coefficients", np.zeros(len(self.coefficients)))

    def at(self, positions: IntArray) -> FloatArray:
        """Return the bound at chosen columns, shape (m,) or (k, m)."""
        return np.asarray(self.constant + self.coefficients[positions].sum(axis=-1))

    def minimum(self, count: int) -> float:
        """Return the smallest bound over all choices of `count` columns, by a sort."""
        return self.constant + float(np.sort(self.coefficients)[:count].sum())

    def tightened(self, floor: float) -> Cut:
        """Raise the coefficients, all ≤ 0, as far as a lower bound allows.

        Where every value is at least `floor`, nothing is lost by letting one column alone pull
        the cut down to it; the relaxation gets stronger and the numbers smaller.
        """
        lowest = min(floor - self.constant, 0.0)
        return Cut(self.constant, np.maximum(self.coefficients, lowest))

    def scaled(self, floor: float, unit: float, count: int, negligible: float) -> Cut:
        """Return the tightened cut on (R - floor)/unit, for choices of `count` columns.

        Coefficients below `negligible` are left out; what they are worth lowers the constant, so
        that no choice is lost.
        """
        tight = self.tightened(floor)
        coefficients = tight.coefficients / unit
        small = np.abs(coefficients) < negligible
        left_out = float(np.sort(coefficients[small])[:count].sum())
        constant = (tight.constant - floor) / unit + left_out
        return Cut(constant, np.where(small, 0.0, coefficients))
