"""Modular bounds: a constant and one term for every feature, under budgets of how many are in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray


def largest_sum(shares: FloatArray, count: int) -> float:
    """Add up the `count` largest entries: the most that weights with this sum make of them."""
    if count <= 0:
        return 0.0
    if count >= len(shares):
        return float(shares.sum())
    return float(np.partition(shares, len(shares) - count)[len(shares) - count :].sum())


@dataclass(frozen=True, eq=False)
class Budget:
    """Number of features of T that are among these.

    Attributes
    ----------
    positions : ndarray of int
        Among the features that have a term.
    count : int
    """

    positions: IntArray
    count: int

    def largest(self, terms: FloatArray) -> float:
        """Return the largest sum of so many of the terms."""
        return largest_sum(terms[self.positions], self.count)


@dataclass(frozen=True, eq=False)
class ModularBound:
    """constant + Σ_{j∈T} terms_j, which the gain of the features T does not exceed.

    The gain is that of docs/mathematics/cuts.md, (6), or -R itself: then R is bounded from below.
    A bound with a number that is none bounds nothing: its constant is ``inf``, its terms zero.

    Attributes
    ----------
    constant : float
    terms : ndarray of shape (L,)
    """

    constant: float
    terms: FloatArray

    def __post_init__(self) -> None:
        if not (self.constant > -math.inf and (self.terms > -math.inf).all()):
            object.__setattr__(self, "constant", math.inf)
            object.__setattr__(self, "terms", np.zeros(len(self.terms)))

    def at(self, positions: IntArray) -> FloatArray:
        """Return the bound of T = `positions`, shape (m,), or of every row of (k, m)."""
        return np.asarray(self.constant + self.terms[positions].sum(axis=-1))

    def largest(self, budgets: Sequence[Budget]) -> float:
        """Return the largest bound of a set within disjoint budgets."""
        return self.constant + sum(budget.largest(self.terms) for budget in budgets)

    def with_each(self, size: int) -> FloatArray:
        """Compute the largest bound of `size` features that include each of them, shape (L,).

        If there are fewer features than `size`, all are in.
        """
        if size == 1:
            return np.asarray(self.constant + self.terms)
        if size > len(self.terms):
            return np.full(len(self.terms), self.constant + float(self.terms.sum()))
        at = len(self.terms) - size
        largest = np.partition(self.terms, at)[at:]
        # A feature among the largest size-1 terms is completed by the next one instead.
        completion = float(largest[1:].sum())
        return np.asarray(self.constant + (completion + np.minimum(self.terms, largest[0])))

    def screened(self, size: int, cutoff: float) -> IntArray:
        """Return the positions of the features that some set above the cutoff includes."""
        return np.flatnonzero(~(self.with_each(size) <= cutoff))

    def among(self, keep: IntArray) -> ModularBound:
        """Return the same bound where T is among `keep`."""
        return ModularBound(self.constant, self.terms[keep])

    def taking(self, position: int, keep: IntArray) -> ModularBound:
        """Return the same bound where `position` is in T and the others are among `keep`."""
        return ModularBound(self.constant + float(self.terms[position]), self.terms[keep])
