"""The nodes that begin with one of some features, all at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.least_squares.node import SquaredNode


@dataclass(frozen=True, eq=False)
class Children:
    """Child k takes one feature of its parent and may add `later`[l] where `since`[l] ≥ k.

    Features of one column each. All positions are among the live features of the parent, and
    places among `later`.

    Attributes
    ----------
    parent : SquaredNode
    first : ndarray of int, shape (F, 1)
        Positions of what every child takes; of shape (1, 0) for the parent itself.
    later : ndarray of int, shape (L,)
        Positions.
    since : ndarray of int, shape (L,)
        The last child that may add each.
    row : ndarray of shape (F, L)
        H_kl / √H_kk, so that child k has H_jl - row_kj row_kl in place of H_jl.
    step : ndarray of shape (F,)
        g_k / √H_kk, so that child k has g_l - row_kl step_k in place of g_l.
    """

    parent: SquaredNode
    first: IntArray
    later: IntArray
    since: IntArray
    row: FloatArray
    step: FloatArray

    @property
    def size(self) -> int:
        """Number of features that every child still has to add."""
        return self.parent.size - int(self.first.shape[1])

    @cached_property
    def g(self) -> FloatArray:
        """Vectors g of all children, one in each row; shape (F, L)."""
        return self.parent.g[self.later] - self.row * self.step[:, None]

    @cached_property
    def h(self) -> FloatArray:
        """The diagonals of H, shape (F, L)."""
        return np.maximum(self.parent.h[self.later] - self.row**2, self.parent.ridge)

    @cached_property
    def after(self) -> NDArray[np.bool_]:
        """Mask of the features that a child may add, shape (F, L)."""
        return self.since >= np.arange(len(self.row))[:, None]

    def among(self, places: IntArray) -> Children:
        """Return the same children, which may add no others than these."""
        return replace(
            self, later=self.later[places], row=self.row[:, places], since=self.since[places]
        )

    def needed_gains(self, cutoff: float) -> FloatArray:
        """Compute the gains that the additions of the children must exceed, shape (F,)."""
        needed = self.parent.needed_gain(cutoff) - self.step**2
        return np.where(needed < np.inf, needed, -np.inf)


def children_of(node: SquaredNode, order: IntArray, start: int, stop: int) -> Children:
    """Make a child for each of order[start:stop]; children after it do not add its feature."""
    first, later = order[start:stop], order[start + 1 :]
    root = np.sqrt(node.h[first])
    row = node.rectangle(first, later) / root[:, None]
    return Children(node, first[:, None], later, np.arange(len(later)), row, node.g[first] / root)


def itself(node: SquaredNode) -> Children:
    """Return the node as its own only child, which takes nothing."""
    L = len(node.live)
    none = np.empty((1, 0), dtype=np.intp)
    return Children(node, none, np.arange(L), np.arange(L), np.zeros((1, L)), np.zeros(1))
