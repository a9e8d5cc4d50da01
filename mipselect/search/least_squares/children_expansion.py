"""Bounds around expansion points for many children of one node at once.

Each has its own point, made of features that all of them share, so that products with H are those
of matrices; else it is `NodeExpansion`, (9) to (11) of docs/mathematics/cuts.md.
"""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.modular import Budget
from mipselect.search.least_squares.children import Children
from mipselect.search.least_squares.curvature import ChildrenConvexity
from mipselect.search.least_squares.dominance import largest_sums
from mipselect.search.least_squares.expansion import PointExpansion, Rounding


class ChildrenExpansion(PointExpansion):
    """The best bounds of children around points made of some features that come later.

    Parameters
    ----------
    children : Children
    convexity : ChildrenConvexity
    needed : ndarray of shape (F,)

    Attributes
    ----------
    constants : ndarray of shape (F,)
        Constants of the best bounds, ``inf`` where there is none.
    terms : ndarray of shape (F, L)
        Zero for features that a child may not add.
    """

    def __init__(
        self, children: Children, convexity: ChildrenConvexity, needed: FloatArray
    ) -> None:
        limits, (F, L) = children.parent.tuning.expanding, children.row.shape
        budgets = [Budget(np.arange(L), children.size)]
        super().__init__(budgets, needed, limits, limits.close_if_open)
        self._children, self._convexity, self._D = children, convexity, convexity.D
        self._rounding = Rounding(children.parent)
        self._H: FloatArray = np.empty((0, L))
        self.constants, self.terms = np.full(F, np.inf), np.zeros((F, L))

    def admit(self, positions: IntArray) -> None:
        """Let points be made of these features as well."""
        new = np.setdiff1d(positions, self.members)
        node, later = self._children.parent, self._children.later
        H = node.rectangle(later[new], later)
        H[np.arange(len(new)), new] = node.h[later[new]]
        self.members = np.concatenate([self.members, new])
        self._H = np.vstack([self._H, H])
        self._convexity.admit(new)
        self.admitted[:, new] = self._children.after[:, new]

    def tried(self, rows: IntArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the gains of children by `around`, and keep the bounds that are better."""
        constants, terms, reachable = self.around(rows, z[:, self.members])
        largest = constants + largest_sums(terms.copy(), self._children.size)
        better = (-np.inf < largest) & (largest < self.lowest[rows])
        kept = rows[better]
        self.constants[kept], self.terms[kept] = constants[better], terms[better]
        self.lowest[kept] = largest[better]
        return terms, reachable

    def around(self, k: IntArray, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute constants, shares and gᵀx of children at x = (Q + D/z)⁻¹ g: see `PointBounds`.

        Parameters
        ----------
        k : ndarray of int, shape (f,)
        z : ndarray of shape (f, U)
            Weights of the members.
        """
        children, D, every = self._children, self._D[k], np.arange(len(k))[:, None]
        K = int(np.count_nonzero(z > 0.0, axis=1).max(initial=1))
        used = np.argpartition(-z, K - 1, axis=1)[:, :K]
        at, root, own = self.members[used], np.sqrt(z[every, used]), np.arange(K)
        row = children.row[k[:, None], at]
        Q = self._H[used[:, :, None], at[:, None, :]] - row[:, :, None] * row[:, None, :]
        Q -= self._convexity.blocks(k, at, used)
        Q *= root[:, :, None] * root[:, None, :]
        Q[:, own, own] += D[every, at]
        g = children.g[k[:, None], at]
        x = root * np.linalg.solve(Q, (root * g)[:, :, None])[:, :, 0]
        whole = np.zeros(z.shape)
        whole[every, used] = x
        Qx = whole @ self._H - np.einsum("fk,fk->f", row, x)[:, None] * children.row[k]
        Qx -= self._convexity.product(k, self.members, whole)
        constants = np.einsum("fk,fk->f", x, Qx[every, at])
        constants += self._rounding.allowance(x, len(children.parent.whitened) + 1)
        shares = (children.g[k] - Qx) ** 2 / D
        shares[~children.after[k]] = 0.0
        return constants, shares, np.einsum("fk,fk->f", g, x)


def best_expanded_children(
    children: Children, convexity: ChildrenConvexity, needed: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Find points whose bounds on the gains of the children are small, or below `needed`, (F,).

    Returns the constants of the bounds, shape (F,), their terms, shape (F, L), zero for features
    that a child may not add, and the largest bounds on what the children gain, shape (F,). These
    and the constants are ``inf`` where no bound was found. Last are the multiplications that it
    took.
    """
    expansion, size = ChildrenExpansion(children, convexity, needed), children.size
    F, L = children.row.shape
    # The last child has no more features than these.
    count = min(children.parent.tuning.expanding.likely * size, L - F + 1)
    alone = np.where(children.after, children.g**2 / children.h, 0.0)
    likely = np.argpartition(-alone, count - 1, axis=1)[:, :count]
    expansion.admit(np.unique(likely))
    z: FloatArray = np.zeros((F, L))
    np.put_along_axis(z, likely, size / count, axis=1)
    expansion.improve(z)
    return expansion.constants, expansion.terms, expansion.lowest, expansion.work
