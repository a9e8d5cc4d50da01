"""Division of ε between selection, ranges and coefficients: public rules, by experiment."""

from __future__ import annotations

from typing import Any

from mipselect.privacy.decimals import exact, round_down
from mipselect.validation import checked_share

SHARE_OF_BLOCKS = 0.3
SHARE_OF_OTHERS = 0.5

SHARE_OF_PRIVATE_RANGES = 0.2
"""Share of the whole ε for ranges that nobody stated."""

SHARE_OF_A_RANGE = 0.04
SHARE_OF_ALL_RANGES = 0.16
"""Share of the ε of a model for all numbers together at most; one costs `SHARE_OF_A_RANGE`."""


def share_of_selection(asked: float | None, *, in_blocks: bool) -> float:
    """Return the part of ε that the selection may cost, between 0 and 1.

    Parameters
    ----------
    asked : float or None
        None for that of the rule.
    in_blocks : bool
        True if features are drawn from scores from blocks of rows, which need less of it.
    """
    if asked is not None:
        return asked
    return SHARE_OF_BLOCKS if in_blocks else SHARE_OF_OTHERS


def epsilon_of_private_ranges(epsilon: float) -> float:
    """Return what ranges that nobody stated cost of the whole ε."""
    return round_down(exact(epsilon) * exact(SHARE_OF_PRIVATE_RANGES))


def checked_range_share(share: Any, what: str) -> None:
    """Raise `InvalidInput` unless 0 ≤ share < 1."""
    if share != 0.0:
        checked_share(share, what, closed=False)


def default_range_share(numbers: int) -> float:
    """Return the part of a model's ε that finds where most values of its numbers lie.

    Parameters
    ----------
    numbers : int
        How many fields of the model are numbers with a range.
    """
    return min(SHARE_OF_A_RANGE * numbers, SHARE_OF_ALL_RANGES)
