"""Bounds around centres for many children of one node at once.

Each has its own centre, made of features that all of them share, so that products with H are those
of matrices; else it is `best_centred`, (9) to (11) of docs/mathematics/cuts.md.
"""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.expansion import ascended
from mipselect.search.bounds.modular import Budget
from mipselect.search.least_squares.centring import Rounding
from mipselect.search.least_squares.children import Children
from mipselect.search.least_squares.curvature import ChildrenConvexity
from mipselect.search.least_squares.dominance import largest_sums


class ChildrenCentring:
    """The bounds of children around centres made of some features that come later.

    Parameters
    ----------
    children : Children
    convexity : ChildrenConvexity
    """

    def __init__(self, children: Children, convexity: ChildrenConvexity) -> None:
        self._children, self._convexity, self._D = children, convexity, convexity.D
        self._rounding = Rounding(children.parent)
        self.members: IntArray = np.empty(0, dtype=np.intp)
        self._H: FloatArray = np.empty((0, len(children.later)))

    def admit(self, places: IntArray) -> None:
        """Let centres be made of these features as well."""
        new = np.setdiff1d(places, self.members)
        node, later = self._children.parent, self._children.later
        H = node.rectangle(later[new], later)
        H[np.arange(len(new)), new] = node.h[later[new]]
        self.members = np.concatenate([self.members, new])
        self._H = np.vstack([self._H, H])
        self._convexity.admit(new)

    def around(self, k: IntArray, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Constants, shares and gᵀx of these children at x = (Q + D/z)⁻¹ g; see `Centring.around`.

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


def best_centred_children(
    children: Children, convexity: ChildrenConvexity, needed: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centres whose bounds on the gains of the children are small, or below `needed`, (F,).

    Returns the constants of the bounds, shape (F,), their terms, shape (F, L), zero for features
    that a child may not add, and the largest bounds on what the children gain, shape (F,). These
    and the constants are ``inf`` where no bound was found.
    """
    centring, size = ChildrenCentring(children, convexity), children.size
    limits, (F, L) = children.parent.tuning.centred, children.row.shape
    # The last child has no more than these.
    fewest = L - F + 1
    alone = np.where(children.after, children.g**2 / children.h, 0.0)
    likely = _largest(alone, min(limits.likely * size, fewest))
    centring.admit(np.unique(likely))
    z: FloatArray = np.zeros((F, L))
    np.put_along_axis(z, likely, size / likely.shape[1], axis=1)
    constant, terms, lowest = np.full(F, np.inf), np.zeros((F, L)), np.full(F, np.inf)
    k, before = np.arange(F), np.empty((0, F, L))
    for step in range(limits.steps):
        constants, shares, reachable = centring.around(k, z[:, centring.members])
        worst = constants + largest_sums(shares.copy(), size)
        better = (-np.inf < worst) & (worst < lowest[k])
        constant[k[better]], terms[k[better]] = constants[better], shares[better]
        lowest[k[better]] = worst[better]
        missing = lowest[k] - needed[k]
        close = np.where(reachable > needed[k], limits.close_if_open, limits.close)
        open_ = (missing > 0.0) & (lowest[k] - reachable > close * missing)
        if not open_.any():
            break
        k, z, shares, before = k[open_], z[open_], shares[open_], before[:, open_]
        if step in limits.admitting and len(centring.members) < limits.members:
            centring.admit(np.unique(_largest(shares, min(size + limits.promising, fewest))))
        members = centring.members
        here, along = z[:, members], shares[:, members]
        past = (before[0][:, members], before[1][:, members]) if len(before) else None
        budgets = [Budget(np.arange(len(members)), size)]
        admitted = children.after[k[:, None], members]
        before, z = np.stack([z, shares]), np.zeros_like(z)
        z[:, members] = ascended(here, along, past, budgets, admitted)
    return constant, terms, lowest


def _largest(rows: FloatArray, count: int) -> IntArray:
    """Return the positions of the `count` largest entries of every row, shape (F, count)."""
    return np.argpartition(-rows, count - 1, axis=1)[:, :count]
