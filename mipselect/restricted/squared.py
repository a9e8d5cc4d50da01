"""The squared loss ℓ(y, u) = ½(y - u)²: restricted problems in closed form.

With G = XᵀX, b = Xᵀy, d = yᵀy and A = G_SS + λI the solution is β = A⁻¹b_S, or, where
that is longer than r, β = (A + νI)⁻¹b_S with the ν > 0 that makes ‖β‖ = r
(docs/mathematics/restricted-problem.md, (6)).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.restricted.columns import Columns, sums_of_squares
from mipselect.restricted.features import Features, plain_features
from mipselect.restricted.gram import Gram
from mipselect.restricted.normal_equations import WELL_CONDITIONED, solve_normal_equations
from mipselect.restricted.prepared import RestrictedFit

CHUNK = 8192
"""Supports that are solved at once, at most."""

CHUNK_BYTES = 2**26
"""Memory of their systems, at most."""

ROUNDINGS = 1024
"""Roundings of a value besides those of its sums over rows, counted generously."""

EPS = float(np.finfo(np.float64).eps)


class PreparedSquared:
    """Restricted least squares on one data set.

    Attributes
    ----------
    features : Features
        Which columns of X a feature stands for; default one each.
    n : int
        Number of rows.
    gram : Gram
        G = XᵀX by columns.
    moment : ndarray of shape (C,)
        b = Xᵀy.
    target_norm : float
        d = yᵀy.
    """

    def __init__(
        self,
        gram: Gram,
        moment: FloatArray,
        target_norm: float,
        n: int,
        *,
        ridge: float,
        radius: float,
    ) -> None:
        self.gram, self.moment, self.target_norm, self.n = gram, moment, target_norm, n
        self.ridge, self.radius = ridge, radius
        self.features = plain_features(gram.p)

    @classmethod
    def of_columns(
        cls, X: Columns, y: FloatArray, *, ridge: float, radius: float
    ) -> PreparedSquared:
        """Prepare the loss on the sums over rows."""
        gram = Gram(X)
        sums = gram, gram.product(y), float(sums_of_squares(y)), len(y)
        return cls(*sums, ridge=ridge, radius=radius)

    def on_features(self, features: Features) -> PreparedSquared:
        """Return the same data, with columns taken together as features.

        Raises
        ------
        InvalidInput
            Where features of several columns need more of G than can be kept.
        """
        if not (features.singles or self.gram.fits):
            raise InvalidInput(
                f"features of several columns have {self.gram.p} columns in all; the squared loss "
                "needs XᵀX for them, which is larger than 1 GiB beyond 11,585 columns"
            )
        other = copy(self)
        other.features = features
        return other

    @cached_property
    def largest_trace(self) -> float:
        """The largest trace of a feature's block of G, or of the columns that are always in."""
        features, diagonal = self.features, self.gram.diagonal
        blocks = features.sums(diagonal[: features.starts[-1]], np.arange(features.count))
        return float(np.max(np.append(blocks, diagonal[features.always_columns].sum())))

    def fit(self, support: IntArray) -> RestrictedFit:
        """Solve the problem on `support`, shape (s,)."""
        columns = self.features.with_always(support)
        values, coef, multiplier = self._solve(columns[None], self.gram.block(columns)[None])
        own, always = self.features.split(coef[0])
        return RestrictedFit(float(values[0]), own, float(multiplier[0]), always)

    def values(self, supports: IntArray) -> FloatArray:
        """Compute R of every row of `supports`, shape (m, s); returns shape (m,)."""
        features = self.features
        blocks = self._blocks_among(features.with_always(np.unique(supports)), supports)
        order = features.by_size(supports)
        values = np.empty(len(supports))
        chunk = chunk_of(features.most_columns(supports.shape[1]))
        for start in range(0, len(supports), chunk):
            rows = order[start : start + chunk]
            columns = features.columns_of(supports[rows])
            values[rows] = self._solve(columns, blocks(columns))[0]
        return values

    def _blocks_among(self, used: IntArray, supports: IntArray) -> Callable[[IntArray], FloatArray]:
        """Return a map from rows of columns in `used`, those of all supports, to G[row][:, row]."""
        features, gram = self.features, self.gram
        # One block of all columns may be far larger than those of the supports.
        few = len(supports) * features.most_columns(supports.shape[1]) ** 2 < len(used) ** 2
        if (gram.held or few) and not features.padded:
            return gram.blocks
        place = np.full(features.size, len(used))
        place[used] = np.arange(len(used))
        block = np.pad(gram.block(used), (0, int(features.padded)))
        return lambda columns: block[place[columns][:, :, None], place[columns][:, None, :]]

    def values_of_additions(self, base: IntArray, additions: IntArray) -> FloatArray:
        """Compute R of base ∪ {j} for every j in `additions`, shape (m,), by columns of G.

        This is how all one-swap neighbours that share a base are evaluated at once.
        """
        inside = self.features.with_always(base)
        k = len(inside)
        columns = self.gram.columns(inside)
        values = np.empty(len(additions))
        for here, added in self.features.by_width(additions):
            if added.shape[1] == 1:
                values[here], done = self._values_of_one_more(inside, columns, added[:, 0])
                here, added = here[~done], added[~done]
            size = k + added.shape[1]
            chunk = chunk_of(size)
            for start in range(0, len(added), chunk):
                chosen = added[start : start + chunk]
                gram = np.empty((len(chosen), size, size))
                gram[:, :k, :k] = columns[inside]
                gram[:, k:, :k] = columns[chosen]
                gram[:, :k, k:] = gram[:, k:, :k].transpose(0, 2, 1)
                gram[:, k:, k:] = self.gram.blocks(chosen)
                supports = np.hstack([np.tile(inside, (len(chosen), 1)), chosen])
                values[here[start : start + chunk]] = self._solve(supports, gram)[0]
        return values

    def _values_of_one_more(
        self, inside: IntArray, columns: FloatArray, added: IntArray
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Compute R with one more column by eliminating those inside, once for all; shape (m,).

        Also tells where that is right: where β is not longer than r.

        Parameters
        ----------
        inside : ndarray of int, shape (k,)
        columns : ndarray of shape (C, k)
            G[:, inside].
        added : ndarray of int, shape (m,)
        """
        own, across = self.gram.diagonal[added], np.ascontiguousarray(columns[added].T)
        block, trace = columns[inside], self.gram.diagonal[inside].sum() + own.max(initial=0.0)
        if not self.ridge > WELL_CONDITIONED * trace:
            return np.full(len(added), np.nan), np.zeros(len(added), dtype=bool)
        b, c = self.moment[inside], self.moment[added]
        factor = np.linalg.cholesky(block + self.ridge * np.eye(len(inside)))
        inverse, whitened = lower_solved(factor, np.eye(len(inside))), lower_solved(factor, across)
        left = own + self.ridge - np.einsum("km,km->m", whitened, whitened)
        solved = inverse @ b
        last = (c - solved @ whitened) / left
        coef = inverse.T @ (solved[:, None] - whitened * last)
        length = np.einsum("km,km->m", coef, coef) + last**2
        linear = b @ coef + c * last
        quadratic = np.einsum("km,km->m", coef, block @ coef + 2.0 * last * across) + own * last**2
        doubled = self.target_norm - 2.0 * linear + quadratic + self.ridge * length
        return np.maximum(doubled, 0.0) / (2.0 * self.n), length <= self.radius**2

    def _solve(
        self, supports: IntArray, gram: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute (1/2n)(d - 2b·β + βᵀGβ + λ‖β‖²), β and ν."""
        moment = self.moment[supports]
        coef, multiplier = solve_normal_equations(gram, moment, self.ridge, self.radius)
        ridge_term = self.ridge * np.einsum("mi,mi->m", coef, coef)
        linear = np.einsum("mi,mi->m", moment, coef)
        quadratic = np.einsum("mi,mij,mj->m", coef, gram, coef)
        doubled = self.target_norm - 2.0 * linear + quadratic + ridge_term
        return np.maximum(doubled, 0.0) / (2.0 * self.n), coef, multiplier


def chunk_of(size: int) -> int:
    """Return the number of systems of `size` columns that are solved at once."""
    return max(1, min(CHUNK, CHUNK_BYTES // (8 * max(size, 1) ** 2)))


def lower_solved(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Compute L⁻¹B from a lower triangular L of shape (k, k) and B of shape (k, m)."""
    # Bᵀ from the right, for BLAS takes columns: B is read as it lies in memory.
    return np.asarray(dtrsm(1.0, factor, right.T, side=1, lower=1, trans_a=1).T)
