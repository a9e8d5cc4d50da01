"""Expansion points of bounds: the weights of the features that they are made of, step by step.

The best bound around a point maximises a concave function of weights 0 ≤ z ≤ 1 with a given sum in
every budget, whose gradient are the terms of the bound (docs/mathematics/cuts.md, (11) and (16)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import Budget
from mipselect.search.progress import TRY

LEAST = float(np.finfo(np.float64).min)

Before = tuple[FloatArray, FloatArray] | None
"""Weights and terms of the step before, if there was one."""


def ascended(
    z: FloatArray,
    terms: FloatArray,
    before: Before,
    budgets: Sequence[Budget],
    admitted: NDArray[np.bool_],
) -> FloatArray:
    """Compute weights after a projected step of Barzilai and Borwein; shape (f, L).

    Parameters
    ----------
    z, terms : ndarray of shape (f, L)
        Weights, and the terms of the bounds around them; a row for every node.
    before : tuple of ndarray or None
        The same one step ago.
    budgets : sequence of Budget
        Disjoint.
    admitted : ndarray of bool, shape (f, L)
        Features that the points may be made of; all others get no weight.
    """
    length, result = steps_along(z, terms, before)[:, None], np.zeros_like(z)
    for budget in budgets:
        here = budget.positions[admitted[:, budget.positions].any(axis=0)]
        moved = z[:, here] + length * terms[:, here]
        if len(z) > 1:  # What one row admits is all here.
            moved[~admitted[:, here]] = -np.inf
        result[:, here] = on_capped_simplices(moved, budget.count)
    return result


class Expansion(ABC):
    """The best bounds of F nodes around points that are made of some of their L features.

    Parameters
    ----------
    budgets : sequence of Budget
        Disjoint, of L features together.
    needed : ndarray of shape (F,)
        Bounds on the gain that need no improvement.
    steps : int
        Points that are tried at most.

    Attributes
    ----------
    lowest : ndarray of shape (F,)
        The best bounds so far on all T within the budgets.
    admitted : ndarray of bool, shape (F, L)
        Features that points may be made of.
    work : float
        Multiplications of all points that were tried: of every bound with those features.
    """

    def __init__(self, budgets: Sequence[Budget], needed: FloatArray, steps: int) -> None:
        self.budgets, self.needed = budgets, needed
        self.lowest = np.full(len(needed), np.inf)
        features = sum(len(budget.positions) for budget in budgets)
        self.admitted = np.zeros((len(needed), features), dtype=bool)
        self._steps, self.work = steps, 0.0

    @abstractmethod
    def tried(self, rows: IntArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound these nodes around the points of weights z, shape (f, L), and keep the better.

        Returns the terms of the bounds, shape (f, L), and what the best point could do at most: a
        number below every bound, shape (f,).
        """

    @abstractmethod
    def enough(self, rows: IntArray, reachable: FloatArray) -> NDArray[np.bool_]:
        """Tell for which nodes no further point is worth a try, shape (f,)."""

    @abstractmethod
    def promising(self, step: int) -> int | None:
        """Return how many features more than are added may become part of points after this step.

        None where points stay as they are.
        """

    def admit(self, positions: IntArray) -> None:
        """Let points be made of these features as well."""
        self.admitted[:, positions] = True

    def improve(self, z: FloatArray) -> None:
        """Try point after point, from those of weights z on, shape (F, L)."""
        rows = np.arange(len(z))
        before: Before = None
        for step in range(self._steps):
            terms, reachable = self.tried(rows, z)
            # A product of matrices takes less for each multiplication than what is counted else.
            self.work += TRY + 0.4 * float(z.size * np.count_nonzero(self.admitted.any(axis=0)))
            open_ = ~self.enough(rows, reachable)
            if not open_.any():
                return
            if not open_.all():
                rows, z, terms = rows[open_], z[open_], terms[open_]
                before = None if before is None else (before[0][open_], before[1][open_])
            more = self.promising(step)
            if more is not None:
                self.admit(likely(terms, self.budgets, more))
            here = z, terms
            z, before = ascended(*here, before, self.budgets, self.admitted[rows]), here


def likely(terms: FloatArray, budgets: Sequence[Budget], more: int) -> IntArray:
    """Choose the features with the largest terms of some row, `more` beyond each count; sorted."""
    found = []
    for budget in budgets:
        count = min(budget.count + more, len(budget.positions))
        places = np.argpartition(-terms[:, budget.positions], count - 1, axis=1)[:, :count]
        found.append(budget.positions[places].ravel())
    return np.unique(np.concatenate(found))


def steps_along(
    z: FloatArray, shares: FloatArray, before: tuple[FloatArray, FloatArray] | None
) -> FloatArray:
    """Compute lengths of Barzilai and Borwein's steps along the shares, the gradients; (f,).

    Weights and shares of shape (f, U), a step for every row.
    """
    count = shares.shape[1]
    largest = np.partition(shares, count - 8, axis=1)[:, count - 8 :] if count > 8 else shares
    most = largest.mean(axis=1)
    first = 1.0 / np.where(most > 0.0, most, 1.0)
    if before is None:
        return np.asarray(first)
    moved, changed = z - before[0], shares - before[1]
    curved = -np.einsum("fu,fu->f", moved, changed)
    length = np.einsum("fu,fu->f", moved, moved) / np.where(curved > 0.0, curved, 1.0)
    return np.asarray(np.where(curved > 0.0, length, 4.0 * first))


def on_capped_simplices(v: FloatArray, count: int) -> FloatArray:
    """Find the nearest z with 0 ≤ z ≤ 1 and Σ z = `count` to every row of v, shape (f, U).

    Entries of -inf become zero; all others become one if there are not more than are counted.
    It is clip(v - t) for the t where the sum is right: a piecewise linear function of t whose
    slope changes by one at every v_j and v_j - 1. Where there are too few, some z is smaller.
    """
    f, U = v.shape
    if count >= U:
        return np.where(v == -np.inf, 0.0, 1.0)
    every = np.arange(f)
    breaks = np.concatenate([v, v - 1.0], axis=1)
    order = (-breaks).argsort(axis=1, kind="stable")
    falling = np.maximum(breaks[every[:, None], order], LEAST)
    inside = np.where(order < U, 1.0, -1.0).cumsum(axis=1)
    sums = np.zeros((f, 2 * U))
    (inside[:, :-1] * (falling[:, :-1] - falling[:, 1:])).cumsum(axis=1, out=sums[:, 1:])
    last = np.maximum(np.count_nonzero(sums < count, axis=1) - 1, 0)
    past = (count - sums[every, last]) / np.maximum(inside[every, last], 1.0)
    return np.asarray(np.clip(v - (falling[every, last] - past)[:, None], 0.0, 1.0))
