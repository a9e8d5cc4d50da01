"""Public defaults for the two numbers that nobody knows by heart; no row is looked at.

Features and target lie in [-1, 1] and n, s and the ranges are public, so both may depend on them.
"""

from __future__ import annotations

import math

ROWS_PER_UNIT_OF_RIDGE = 1000

REACH = 1.25
"""U with an intercept: how far predictions may reach, in halves of the range of the target."""


def default_coef_bound(support_size: int, always: int, intercept: bool) -> float:
    """r = 1/√(s + a), or 1.25/√(s + a + 1) with an intercept, so that U = 1 or 1.25.

    U = 1 lets predictions reach both ends of the range of the target. An intercept needs a little
    room of its own, for a mean that is far from the middle of the range: else features that hardly
    vary would stand in for it. More room costs ε, for Δ grows with (1 + U)²; it does not grow with
    the size. docs/plan.md has the measurements.

    Parameters
    ----------
    support_size : int
        s, the largest number of features that may be chosen.
    always : int
        a, the fields that are always in.
    intercept : bool
    """
    reach = REACH if intercept else 1.0
    return reach / math.sqrt(support_size + always + intercept)


def default_ridge(n: int) -> float:
    """λ = max(1, n/1000): as much as one row, or as a thousandth of all of them.

    More of it would not buy privacy, for Δ does not depend on λ, and would hide features that vary
    little; much less would slow the exact draw down.
    """
    return max(1.0, n / ROWS_PER_UNIT_OF_RIDGE)
