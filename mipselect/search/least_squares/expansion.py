"""Bounds on the gain around any coefficients: a constant and one share for every feature.

With P, D of `Convexity` and Q = H - P ⪰ 0, for every x and every set T of live features,

    g_Tᵀ H_TT⁻¹ g_T ≤ xᵀQx + Σ_{j∈T} (g - Qx)_jᵀ D_j⁻¹ (g - Qx)_j

(docs/mathematics/cuts.md, (9)). x = 0 gives the bound by shares alone; where columns are
correlated, x near the coefficients of good supports gives a far better one. Many children of a node
are bounded at once: each has its own x, on features that all of them share, so that products with H
are those of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import Budget, ModularBound
from mipselect.restricted.squared import EPS
from mipselect.search.expansion import Expansion
from mipselect.search.least_squares.curvature import ChildrenConvexity, Convexity
from mipselect.search.least_squares.node import Children, SquaredNode
from mipselect.search.least_squares.shares import largest_sums
from mipselect.search.tuning import Expanding


@dataclass(frozen=True, eq=False)
class ExpandedBound(ModularBound):
    """A bound around a point.

    Attributes
    ----------
    weights : ndarray of shape (L,)
        Those of the point.
    work : float
        Multiplications that it took.
    """

    weights: FloatArray
    work: float = 0.0


class Rounding:
    """Bound of what rounding may take from a doubled gain that is bounded around x.

    The computed g and Q belong to moments that are off by about k·EPS of their size, and products
    with x add K·EPS. What this changes is at most 2·e(√d + Σ|β_j|√G_jj + Σ|x_j|√G_jj)², at the β
    that has to be bounded.
    """

    def __init__(self, node: SquaredNode) -> None:
        problem = node.problem
        self._longest_column = math.sqrt(float(problem.gram.diagonal.max()))
        longest = min(problem.radius, math.sqrt(problem.target_norm / problem.ridge))
        lengths = math.sqrt(problem.features.most_columns(node.size)) * longest
        self._reach = math.sqrt(problem.target_norm) + self._longest_column * lengths

    def allowance(self, x: FloatArray, eliminated: int) -> FloatArray:
        """Bound the rounding for x in the last axis, after so many columns have been eliminated."""
        terms = x.shape[-1] + eliminated + 8
        reach = self._reach + self._longest_column * np.abs(x).sum(axis=-1)
        return np.asarray(4.0 * EPS * terms * reach**2)


class PointBounds:
    """The bounds of one node around expansion points made of some of its features."""

    def __init__(self, node: SquaredNode, convexity: Convexity) -> None:
        self._node, self._convexity = node, convexity
        self._rounding = Rounding(node)
        self.members: IntArray = np.empty(0, dtype=np.intp)
        self._Q: FloatArray = np.empty((0, len(node.g)))

    def admit(self, positions: IntArray) -> None:
        """Let points be made of these features as well."""
        node = self._node
        known = np.zeros(len(node.live), dtype=bool)
        known[self.members] = True
        new = np.flatnonzero(np.bincount(positions, minlength=len(known)).astype(bool) & ~known)
        X = node.places(new)
        H = node.problem.gram.columns(node.columns[X]).T.take(node.columns, axis=1)
        H -= node.whitened[:, X].T @ node.whitened
        H[np.arange(len(X)), X] = node.h[X]
        H -= self._convexity.columns(X).T
        self.members = np.concatenate([self.members, new])
        self._Q = np.vstack([self._Q, H])

    def around(self, weights: FloatArray) -> tuple[ModularBound, float]:
        """Compute the bound at x = (Q + D/z)⁻¹ g for weights z ≥ 0 of the members, and gᵀx.

        gᵀx is what the best x could do at most: it is below the bound of every x on sets whose
        members are in with these weights.
        """
        node, features = self._node, self._node.problem.features
        every = np.repeat(weights, features.widths[node.live[self.members]])
        used, Q, root = self.members[weights > 0.0], self._Q[every > 0.0], np.sqrt(every[every > 0])
        X = node.places(used)
        system = root[:, None] * Q[:, X] * root + self._convexity.block(used)
        x = root * np.linalg.solve(system, root * node.g[X])
        Qx = x @ Q
        left = node.g - Qx
        constant = float(x @ Qx[X] + self._rounding.allowance(x, len(node.whitened)))
        return ModularBound(constant, self._convexity.gains(left)), float(node.g[X] @ x)


class PointExpansion(Expansion):
    """The best bounds of nodes around points.

    Parameters
    ----------
    budgets : sequence of Budget
    needed : ndarray of shape (F,)
    limits : Expanding
    close_if_open : float
        Share of what is missing, where no point will do.

    Attributes
    ----------
    members : ndarray of int, shape (U,)
        Features that points may be made of.
    """

    def __init__(
        self,
        budgets: Sequence[Budget],
        needed: FloatArray,
        limits: Expanding,
        close_if_open: float,
    ) -> None:
        # Fewer additions are looked at one by one in less time than points of many columns take.
        self._many = sum(budget.count for budget in budgets) >= limits.least_size
        super().__init__(budgets, needed, limits.steps_late if self._many else limits.steps)
        self._limits, self._close_if_open = limits, close_if_open
        self.members: IntArray = np.empty(0, dtype=np.intp)

    def promising(self, step: int) -> int | None:
        """Return few at first, and many where a bound of many additions takes long."""
        limits = self._limits
        if step in limits.admitting:
            return limits.promising
        return limits.promising_late if self._many and step in limits.admitting_late else None

    def enough(self, rows: IntArray, reachable: FloatArray) -> NDArray[np.bool_]:
        """Tell where little of what is missing can be reached, more where no point will do."""
        lowest, needed = self.lowest[rows], self.needed[rows]
        missing = lowest - needed
        close = np.where(reachable > needed, self._close_if_open, self._limits.close)
        return ~((missing > 0.0) & (lowest - reachable > close * missing))


class NodeExpansion(PointExpansion):
    """The best bound of one node.

    Parameters
    ----------
    node : SquaredNode
    convexity : Convexity
    budgets : sequence of Budget
    cutoff : float
        A bound on the gain that needs no improvement.
    close_if_open : float
    """

    def __init__(
        self,
        node: SquaredNode,
        convexity: Convexity,
        budgets: Sequence[Budget],
        cutoff: float,
        close_if_open: float,
    ) -> None:
        super().__init__(budgets, np.array([cutoff]), node.tuning.expanding, close_if_open)
        self._bounds = PointBounds(node, convexity)
        self.best = ExpandedBound(math.inf, np.zeros(len(node.live)), np.zeros(len(node.live)))

    def admit(self, positions: IntArray) -> None:
        """Let points be made of these features as well."""
        super().admit(positions)
        self._bounds.admit(positions)
        self.members = self._bounds.members

    def tried(self, rows: IntArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the gain by `PointBounds.around`, and keep the bound if it is better."""
        bound, reachable = self._bounds.around(z[0, self.members])
        largest = bound.largest(self.budgets)
        if largest < self.lowest[0]:
            self.best = ExpandedBound(bound.constant, bound.terms, z[0])
            self.lowest[0] = largest
        return bound.terms[None], np.array([reachable])


def best_expanded(
    node: SquaredNode,
    convexity: Convexity,
    budgets: Sequence[Budget],
    start: FloatArray,
    cutoff: float,
    close_if_open: float,
) -> ExpandedBound:
    """Find the best bound of a `NodeExpansion` that begins with these weights, shape (L,)."""
    expansion = NodeExpansion(node, convexity, budgets, cutoff, close_if_open)
    expansion.admit(np.flatnonzero(start))
    expansion.improve(start[None])
    return replace(expansion.best, work=expansion.work)


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
