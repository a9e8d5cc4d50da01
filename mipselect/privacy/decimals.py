"""Exact sums of budgets: a float stands for the decimal number that it is printed as.

In binary, ten times 0.1 is not 1; a budget of 1 must still pay for ten releases at 0.1 and
not for one at 1 + 1e-12. So budgets are added as fractions, and a result that no float
stands for is rounded to the cautious side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction


def exact(value: float) -> Fraction:
    """Return the decimal number that `value` is printed as."""
    return Fraction(repr(float(value)))


def total(values: Iterable[float]) -> Fraction:
    """Add up the decimal numbers that `values` are printed as."""
    return sum((exact(value) for value in values), Fraction(0))


def round_up(value: Fraction) -> float:
    """Return the float nearest to `value` that stands for no less: for what was spent."""
    result = float(value)
    while exact(result) < value:
        result = math.nextafter(result, math.inf)
    return result


def round_down(value: Fraction) -> float:
    """Return the float nearest to `value` that stands for no more: for what is left."""
    result = float(value)
    while exact(result) > value:
        result = math.nextafter(result, -math.inf)
    return result
