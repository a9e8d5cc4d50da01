"""Words for what few simulated tables tell: a rough guess, without a standard error."""

from __future__ import annotations

from collections.abc import Iterable

ENOUGH = 5
"""Tables from which on a standard error is stated: that of fewer is mostly chance itself."""

FEWER_ARE_ROUGH = 3
"""Tables of which fewer give a rough guess."""

MARK = "~"
LEGEND = f"{MARK} marks rough guesses, from fewer than {FEWER_ARE_ROUGH} simulated tables."


def rough_mark(tables: int) -> str:
    """Return the mark of a number that is a rough guess; empty for others."""
    return MARK if is_rough(tables) else ""


def is_rough(tables: int) -> bool:
    """Return whether so many tables give a rough guess."""
    return tables < FEWER_ARE_ROUGH


def rough_guess(tables: Iterable[int]) -> str:
    """Say that something is a rough guess from the fewest of these tables; empty if it is not.

    Examples
    --------
    >>> rough_guess([4, 1])
    'as a rough guess from 1 simulated table'
    >>> rough_guess([4, 3])
    ''
    """
    fewest = min(tables, default=FEWER_ARE_ROUGH)
    if not is_rough(fewest):
        return ""
    return f"as a rough guess from {fewest} simulated table{'s' * (fewest > 1)}"
