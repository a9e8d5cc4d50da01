"""Numbers of rows that tables are made up with, and how many of them reach a goal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from mipselect.errors import InvalidInput
from mipselect.planning.guesses import Guesses
from mipselect.tables import PublicMap
from mipselect.validation import checked_integer

DOUBLINGS = 5
"""Up to 32 times the number in question is tried."""

MOST_ENTRIES = 20_000_000
"""No table with more rows times columns is made up."""


def checked_guesses(guesses: Guesses | None, rows: int, public: PublicMap) -> Guesses:
    """Return guesses from which so many rows can be made up, by default the usual ones.

    Raises
    ------
    InvalidInput
        For a guess about another target, for fewer than 2 rows, and for too many.
    """
    guesses = Guesses() if guesses is None else guesses
    guesses.target_law(public)
    checked_integer(rows, "rows", 2)
    if rows * len(public.columns) > MOST_ENTRIES:
        raise InvalidInput(
            f"rows must be at most {MOST_ENTRIES // len(public.columns):,} for "
            f"{len(public.columns)} columns, got {rows:,}; plan with fewer: what is found depends "
            "on epsilon times rows"
        )
    return guesses


def crossing(tried: Sequence[tuple[float, float, bool]], goal: float) -> float | None:
    """Estimate where a share first reaches a goal; None if nowhere.

    Between two places, linear in their logarithms; the first place where less may do.

    Parameters
    ----------
    tried : sequence of (float, float, bool)
        Places, such as numbers of rows, rising; the share at each, and whether the goal is reached.
    goal : float
    """
    if tried and tried[0][2]:
        return tried[0][0]
    for (before, low, _), (after, high, reached) in pairwise(tried):
        if reached:
            part = (goal - low) / (high - low) if low < goal < high else 1.0
            return float(before * (after / before) ** part)
    return None


def doublings(rows: int, public: PublicMap) -> tuple[int, ...]:
    """Double the rows, up to `DOUBLINGS` times and as long as so many can be made up."""
    more = (rows * 2**k for k in range(1, DOUBLINGS + 1))
    return tuple(count for count in more if count * len(public.columns) <= MOST_ENTRIES)
