"""The sets of additions to a base, divided by the first feature that they take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.modular import ModularBound


@dataclass(frozen=True, eq=False)
class Division:
    """Features in an order, and what the sets gain at most of which each is the first.

    Attributes
    ----------
    order : ndarray of int, shape (L,)
        Positions of the live features.
    gains : ndarray of shape (K,)
        Gains with the first K of them; with those after them there are too few for a set.
    """

    order: IntArray
    gains: FloatArray

    def open(self, needed: float, start: int = 0) -> IntArray:
        """Return, rising, the places from `start` on whose sets may gain more than is needed."""
        return np.asarray(start + np.flatnonzero(~(self.gains[start:] <= needed)))

    def among(self, keep: IntArray) -> Division:
        """Return the division of sets whose features are all among the positions `keep`."""
        place = np.full(len(self.order), -1)
        place[keep] = np.arange(len(keep))
        order = place[self.order]
        return Division(order[order >= 0], self.gains[order[: len(self.gains)] >= 0])


@dataclass(frozen=True, eq=False)
class DivisionByShares(Division):
    """The largest share comes first, so that the gains are falling.

    Attributes
    ----------
    constant : float
    shares : ndarray of shape (L,)
        Falling.
    """

    constant: float
    shares: FloatArray

    def last(self, start: int, needed: float) -> int:
        """Return the end of the features that may be in a set which gains more than is needed.

        The first feature of the set is at `start` or later. Features from the returned place on
        are in no such set.
        """
        others = len(self.order) - len(self.gains)
        beside = self.constant + float(self.shares[start : start + others].sum())
        return int(np.searchsorted(-self.shares, beside - needed))


def by_shares(bound: ModularBound, size: int) -> DivisionByShares:
    """Divide by a constant and the largest sums of shares, for sets of `size` features."""
    order = np.argsort(-bound.terms, kind="stable")
    shares = bound.terms[order]
    gains = bound.constant + sliding_window_view(shares, size).sum(axis=1)
    return DivisionByShares(order, gains, bound.constant, shares)
