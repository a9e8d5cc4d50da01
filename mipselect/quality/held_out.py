"""Rows that are kept apart: a split that does not look at them."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from mipselect.privacy.decimals import exact


def size_held_out(units: int, share: float) -> int:
    """Return how many of so many rows, or people, are kept apart under replace-one."""
    return min(max(round(units * exact(share)), 1), max(units - 1, 0))


def held_out(units: int, share: float, relation: str, source: random.Random) -> NDArray[np.bool_]:
    """Draw which of so many rows, or people, are kept apart; shape (units,).

    Parameters
    ----------
    units : int
    share : float
        Between 0 and 1.
    relation : {"replace-one", "add-remove"}
        Under replace-one a subset of a public size is drawn, each as likely. Under add-remove
        each row is kept apart with this probability, whatever the others are.
    source : random.Random

    Notes
    -----
    A row is in one part only, and which part does not depend on any row. So the fit on one part
    and the measures on the other together are as private as the weaker of the two: see
    docs/mathematics/quality.md, (1).
    """
    part = exact(share)
    apart = np.zeros(units, dtype=bool)
    if relation == "replace-one":
        apart[source.sample(range(units), size_held_out(units, share))] = True
    else:
        draws = (source.randrange(part.denominator) for _ in range(units))
        apart[:] = np.fromiter((draw < part.numerator for draw in draws), bool, units)
    return apart
