"""Public defaults for the two numbers that nobody knows by heart; no row is looked at.

Features and target lie in [-1, 1] and n, s and the ranges are public, so both may depend on them.
"""

from __future__ import annotations

import math

ROWS_PER_UNIT_OF_RIDGE = 1000


def default_coef_bound(support_size: int, always: int) -> float:
    """r = 1/√(s + a): no prediction can leave the range of the target.

    Then U = 1 and Δ is the same whatever the size.

    Parameters
    ----------
    support_size : int
        s, the largest number of features that may be chosen.
    always : int
        a, the fields that are always in, and 1 for an intercept.
    """
    return 1.0 / math.sqrt(support_size + always)


def default_ridge(n: int) -> float:
    """λ = max(1, n/1000): as much as one row, or as a thousandth of all of them."""
    return max(1.0, n / ROWS_PER_UNIT_OF_RIDGE)
