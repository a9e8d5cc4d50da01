"""Public defaults for the two numbers that nobody knows by heart; no row is looked at.

Features and target lie in [-1, 1]. Neither depends on n: what is said of a release when a row is
added or removed needs an objective without it.
"""

from __future__ import annotations

import math

DEFAULT_RIDGE = 1.0
"""λ: as much as one row. More would buy no privacy, for Δ does not depend on it, and would hide
features that vary little."""

REACH = 1.25
"""U with an intercept: how far predictions may reach, in halves of the range of the target."""


def default_coef_bound(support_size: int, always: int, intercept: bool) -> float:
    """Compute r = 1/√(s + a), or 1.25/√(s + a + 1) with an intercept, so that U = 1 or 1.25.

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
