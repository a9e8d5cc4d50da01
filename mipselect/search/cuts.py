"""Cuts as rows of a master: modular bounds on -R with terms ≥ 0, whatever the choice of columns."""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.simplex import largest_sum


def least_value(cut: ModularBound, count: int) -> float:
    """Bound R from below over all choices of `count` columns, by a sort."""
    return -(cut.constant + largest_sum(cut.terms, count))


def tightened(cut: ModularBound, floor: float) -> ModularBound:
    """Tighten a cut as far as a lower bound on R allows; one that bounds nothing says R ≥ floor.

    Where every value is at least `floor`, nothing is lost by letting one column alone pull the
    cut down to it; the relaxation gets stronger and the numbers smaller.
    """
    constant = cut.constant if cut.constant < math.inf else -floor
    return ModularBound(constant, np.minimum(cut.terms, max(-constant - floor, 0.0)))


def scaled(
    cut: ModularBound, floor: float, unit: float, count: int, negligible: float
) -> tuple[float, FloatArray]:
    """Turn a cut into (R - floor)/unit ≥ constant + coefficients·z, for choices of `count` columns.

    Coefficients below `negligible` are left out; what they are worth lowers the constant, so
    that no choice is lost.
    """
    tight = tightened(cut, floor)
    terms = tight.terms / unit
    small = terms < negligible
    constant = (-tight.constant - floor) / unit - largest_sum(terms[small], count)
    return constant, np.where(small, 0.0, -terms)
