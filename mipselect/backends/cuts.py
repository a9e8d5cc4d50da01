"""Cuts, and what they prove: with them no back end is trusted.

A cut is a modular bound, a constant and one term for every feature: on -R with terms ≥ 0, whatever
the choice of columns. A solver claims that every choice which was not visited has
max_k cut_k(z) ≥ target. Each cut is affine in z, so that its minimum over all choices which begin
with some columns is a sort. A tree over the choices in lexicographic order drops every beginning
that some cut proves; what is left at its leaves is open. The arithmetic has to be safe, and each
cut is lowered by a bound on its rounding (docs/mathematics/cuts.md, (13)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import EPS

ENTRIES = 2**18
"""Numbers that a proof forms at once."""


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


def least_value(cut: ModularBound, count: int) -> float:
    """Bound R from below over all choices of `count` columns, by a sort."""
    return -(cut.constant + largest_sum(cut.terms, count))


def tightened(cut: ModularBound, floor: float) -> ModularBound:
    """Tighten a cut as far as a lower bound on R allows; one that bounds nothing says R ≥ floor.

    Where every value is at least `floor`, nothing is lost by letting one column alone pull the
    cut down to it; the relaxation gets stronger and the numbers smaller.
    """
    constant = cut.constant if cut.constant < math.inf else -floor
    return ModularBound(constant, np.minimum(cut.terms, max(-constant - floor, 0.0)))


def scaled(
    cut: ModularBound, floor: float, unit: float, count: int, negligible: float
) -> tuple[float, FloatArray]:
    """Turn a cut into (R - floor)/unit ≥ constant + coefficients·z, for choices of `count` columns.

    Coefficients below `negligible` are left out; what they are worth lowers the constant, so
    that no choice is lost.
    """
    tight = tightened(cut, floor)
    terms = tight.terms / unit
    small = terms < negligible
    constant = (-tight.constant - floor) / unit - largest_sum(terms[small], count)
    return constant, np.where(small, 0.0, -terms)


class CutProof:
    """The cuts of a family of choices, and the tree that tells what they prove.

    Parameters
    ----------
    cuts : list of ModularBound
        On -R, with terms ≥ 0, shape (L,).
    size : int
        m, how many columns are chosen.
    floor : float
        A proven lower bound on every choice.
    visited : collection of tuple of int
        Choices about which nothing has to be proven; sorted.
    most : int
        Beginnings of choices that the tree may extend.
    entries : int
        Numbers that are formed at once.
    """

    def __init__(
        self,
        cuts: list[ModularBound],
        size: int,
        floor: float,
        visited: Collection[tuple[int, ...]],
        most: int,
        entries: int = ENTRIES,
    ) -> None:
        self._most, self._entries = most, entries
        self._size, self._floor, self._visited = size, floor, set(visited)
        tight = [tightened(cut, floor) for cut in cuts]
        coefficients = -np.array([cut.terms for cut in tight])
        # The most gainful columns first: late beginnings are then proven at once.
        self._order = np.argsort(coefficients.sum(axis=0), kind="stable")
        self._coefficients = coefficients[:, self._order]
        self._constants = -np.array([cut.constant for cut in tight]) - floor
        # The bound of a choice is a sum of fewer than m + 4 terms, each at most `sizes`.
        sizes = np.abs(self._constants) + size * np.abs(coefficients).max(axis=1)
        self._constants -= 4.0 * EPS * (size + 4) * sizes
        self._tails = _tails(self._coefficients, size)

    def decide(self, target: float, tick: Callable[[], None]) -> tuple[bool, IntArray | None]:
        """Walk the tree, or give up after extending too many beginnings.

        What `tick` raises, which is called now and then, passes through.

        Returns
        -------
        proven : bool
            True if every choice that was not visited is at the target or above.
        open : ndarray of int, shape (m,), or None
            A choice that was not visited and that the cuts leave below the target. None if there
            is none, or if the tree got too large to say.
        """
        # Outward: what rounds the difference down could prove too much.
        goal = float(np.nextafter(target - self._floor, np.inf))
        if goal <= 0.0:
            return True, None
        stack: list[IntArray] = [np.empty((1, 0), dtype=np.intp)]
        extended = 0
        while stack:
            tick()
            block = stack.pop()
            count = max(1, self._entries // self._coefficients.size)
            if len(block) > count:
                stack.append(block[count:])
                block = block[:count]
            extended += len(block)
            if extended > self._most:
                return False, None
            children, bounds = self._below(block, goal)
            children = children[np.argsort(bounds, kind="stable")]
            if children.shape[1] < self._size:
                if len(children):
                    stack.append(children)
                continue
            for choice in np.sort(self._order[children], axis=1):
                if tuple(choice.tolist()) not in self._visited:
                    return False, choice
        return True, None

    def _below(self, block: IntArray, goal: float) -> tuple[IntArray, FloatArray]:
        """Return the beginnings one column longer that no cut proves, each with its best bound."""
        L, depth = self._coefficients.shape[1], block.shape[1]
        first = block[:, -1] + 1 if depth else np.zeros(1, dtype=np.intp)
        at, column = np.nonzero(np.arange(L)[None, :] >= first[:, None])
        parents = self._constants[:, None] + self._coefficients[:, block].sum(axis=2)
        ahead = self._coefficients + self._tails[self._size - depth - 1][:, 1:]
        bounds = (parents[:, at] + ahead[:, column]).max(axis=0)
        below = np.flatnonzero(~(bounds >= goal))
        return np.column_stack([block[at[below]], column[below]]), bounds[below]


def _tails(coefficients: FloatArray, size: int) -> FloatArray:
    """Add up the r least coefficients from column j on: shape (size, Q, L + 1), r = 0..size-1."""
    Q, L = coefficients.shape
    least = np.full((L + 1, Q, size), np.inf)
    for j in reversed(range(L)):
        least[j] = least[j + 1]
        least[j, :, -1] = coefficients[:, j]
        least[j].sort(axis=1)
    tails = np.zeros((size, Q, L + 1))
    tails[1:] = np.cumsum(least[:, :, :-1], axis=2).transpose(2, 1, 0)
    return tails
