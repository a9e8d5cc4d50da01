"""Lower bounds on the convexity of the gain: P and a block-diagonal D, H ⪰ P and P_TT ⪰ D_T.

P = ρI + E with ρ = λ + ν and 0 ⪯ E ⪯ H - ρI. E is found once, for no base. Schur complements show
that what is left of E after a base bounds H of that base, and what is left of G where columns are
always in only grows with ρ (docs/mathematics/cuts.md, (10)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.least_squares.children import Children
from mipselect.search.least_squares.node import SquaredNode


class Convexity(Protocol):
    """P and D on the live columns of one node."""

    @property
    def least(self) -> float:
        """μ > 0 with D ⪰ μI."""

    def columns(self, places: IntArray) -> FloatArray:
        """Return P on these live columns, shape (C, K)."""

    def block(self, positions: IntArray) -> FloatArray:
        """Return D on the columns of these live features, one after another."""

    def gains(self, slope: FloatArray) -> FloatArray:
        """Compute slope_jᵀ D_j⁻¹ slope_j for every live feature, shape (L,)."""


class Curvature(Protocol):
    """E of one problem."""

    def at(self, node: SquaredNode) -> Convexity:
        """Return the P and D that E gives for a node."""


class ChildrenConvexity(Protocol):
    """P and D of every child, on the features that come later."""

    @property
    def D(self) -> FloatArray:
        """Shape (F, L)."""

    def admit(self, places: IntArray) -> None:
        """Let vectors have entries here as well."""

    def blocks(self, k: IntArray, at: IntArray, members: IntArray) -> FloatArray:
        """Return P of child k[f] on places at[f], which are admitted as members[f]; (f, K, K)."""

    def product(self, k: IntArray, members: IntArray, x: FloatArray) -> FloatArray:
        """Compute P x of child k[f] for x[f] on the members, all admitted, in order; (f, L)."""


class ChildrenCurvature(Curvature, Protocol):
    """E of a problem whose features have one column each."""

    def of_children(self, children: Children) -> ChildrenConvexity:
        """Return the P and D that E gives for many nodes, the children of one."""


@dataclass(frozen=True, eq=False)
class DiagonalConvexity:
    """A diagonal D, and P = D, for features of one column each.

    Attributes
    ----------
    D : ndarray of shape (L,)
    """

    D: FloatArray

    @property
    def least(self) -> float:
        """The smallest entry of D."""
        return float(self.D.min())

    def columns(self, places: IntArray) -> FloatArray:
        """Return P on these live columns, shape (L, K)."""
        result = np.zeros((len(self.D), len(places)))
        result[places, np.arange(len(places))] = self.D[places]
        return result

    def block(self, positions: IntArray) -> FloatArray:
        """Return D on these live features."""
        return np.diag(self.D[positions])

    def gains(self, slope: FloatArray) -> FloatArray:
        """Compute slope_j²/D_j, shape (L,)."""
        return np.asarray(slope**2 / self.D)


@dataclass(frozen=True)
class UniformCurvature:
    """E = eI.

    Attributes
    ----------
    excess : float
        e ≥ 0.
    """

    excess: float

    def at(self, node: SquaredNode) -> DiagonalConvexity:
        """Return (ρ + e)I."""
        return DiagonalConvexity(np.full(len(node.g), node.ridge + self.excess))

    def of_children(self, children: Children) -> UniformChildren:
        """Return (ρ + e)I for the children."""
        return UniformChildren(children.row.shape, children.parent.ridge + self.excess)


class UniformChildren:
    """P = D = μI for every child.

    Parameters
    ----------
    shape : tuple of int
        F and L.
    mu : float
    """

    def __init__(self, shape: tuple[int, ...], mu: float) -> None:
        self._shape, self._mu = shape, mu

    @property
    def D(self) -> FloatArray:
        """Shape (F, L)."""
        return np.full(self._shape, self._mu)

    def admit(self, places: IntArray) -> None:
        """Do nothing, for nothing has to be prepared."""

    def blocks(self, k: IntArray, at: IntArray, members: IntArray) -> FloatArray:
        """Return μI, shape (f, K, K)."""
        return np.broadcast_to(self._mu * np.eye(at.shape[1]), (len(k), *at.shape[1:] * 2))

    def product(self, k: IntArray, members: IntArray, x: FloatArray) -> FloatArray:
        """Compute μx, shape (f, L)."""
        result = np.zeros((len(k), self._shape[1]))
        result[:, members] = self._mu * x
        return result
