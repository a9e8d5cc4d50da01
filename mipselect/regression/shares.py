"""Division of ε between selection, ranges and coefficients: public rules, by experiment."""

from __future__ import annotations

from typing import Any

from mipselect.validation import checked_share

SHARE_OF_BLOCKS = 0.3
SHARE_OF_OTHERS = 0.5

SHARE_OF_PRIVATE_RANGES = 0.2
"""Share of the whole ε for ranges that nobody stated."""

SHARE_OF_A_RANGE = 0.04
SHARE_OF_ALL_RANGES = 0.16
"""Share of the ε of a model for all numbers together at most; one costs `SHARE_OF_A_RANGE`, or more
where rows are few."""

LEAST_OF_A_RANGE = 16.0
"""Least n times the ε of a range that is looked for by default. With 300 values in all of their
range the part that is drawn holds less than half of them in 2 % of draws at 32, 19 % at 20, 68 % at
10, and with values in a tenth of it in 0, 1 and 23 %; on real tables of some hundred rows models
are better for it from 16 on."""

SHARE_OF_A_TARGET = 0.08
MOST_OF_A_TARGET = 0.25
"""Share of the ε of a model for the range of its target: the first, or up to the second where rows
are few."""

ENOUGH_FOR_A_TARGET = 32.0
LEAST_OF_A_TARGET = 24.0
"""n times the ε of that range: what is asked for, and the least with which it is looked for. In
simulations of 300 rows less than half of the values are in the part that is drawn in less than one
of a thousand draws at 32, up to 1 % at 24 and 3 % at 20."""

LEAST_OF_A_MODEL = LEAST_OF_A_TARGET / MOST_OF_A_TARGET
"""n times the ε of a model below which one is hardly ever of use (docs/regression.md); there the
range of its target is not looked for either."""


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


def checked_range_share(share: Any, what: str) -> None:
    """Raise `InvalidInput` unless 0 ≤ share < 1."""
    if share != 0.0:
        checked_share(share, what, closed=False)


def default_range_share(numbers: int, product: float | None, *, pure: bool) -> float:
    """Return the part of a model's ε that finds where most values of its numbers lie.

    For each 0.04, or of a pure model as much as makes `LEAST_OF_A_RANGE` of n rows, and 0.16
    together at most; 0 where that is too little.

    Parameters
    ----------
    numbers : int
        How many fields of the model are numbers with a range.
    product : float or None
        n times the ε of the model, where n is public.
    pure : bool
        True if the model is pure: the ρ of another one is stated for any n, so of 0.04 or nothing.
    """
    plain = min(SHARE_OF_A_RANGE * numbers, SHARE_OF_ALL_RANGES)
    if product is None:
        return plain
    most = SHARE_OF_ALL_RANGES if pure else plain
    if most * product < LEAST_OF_A_RANGE * numbers:
        return 0.0
    return min(max(plain, LEAST_OF_A_RANGE * numbers / product), most)


def target_share(product: float) -> float:
    """Return the part of a model's ε that finds where nearly all values of its target lie.

    As much as makes `ENOUGH_FOR_A_TARGET` of n rows, within 0.08 and 0.25; 0 where that is less
    than `LEAST_OF_A_TARGET`.

    Parameters
    ----------
    product : float
        n times the ε of the model.
    """
    if MOST_OF_A_TARGET * product < LEAST_OF_A_TARGET:
        return 0.0
    return min(max(SHARE_OF_A_TARGET, ENOUGH_FOR_A_TARGET / product), MOST_OF_A_TARGET)
