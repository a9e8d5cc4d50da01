"""Rank-one steps of ridge regression within blocks: from a support to one with a further column.

With K = Σ zzᵀ + ℓI over the columns z of a support, M = ℓK⁻¹ on the centred vectors is all that its
adjusted R² needs. No b × b matrix is kept: a step changes the products of the columns that may
still come, zᵀMz', zᵀM²z' and zᵀM³z'. A step divides by ℓ + zᵀMz ≥ ℓ.

Every step is a sum, product or quotient of numbers of one block, in an order that no other block
has a part in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Products:
    """Products of c columns that may still come and of the target, for each of B blocks.

    Attributes
    ----------
    once, twice : ndarray of shape (c + 1, c + 1, B)
        zᵀMz' and zᵀM²z'; the target is last.
    thrice : ndarray of shape (c, c, B)
        zᵀM³z'.
    trace, square : ndarray of shape (B,)
        tr M = b - 1 - degrees of freedom, and tr M², over the centred vectors.
    penalty : float
        ℓ.
    """

    once: FloatArray
    twice: FloatArray
    thrice: FloatArray
    trace: FloatArray
    square: FloatArray
    penalty: float

    @classmethod
    def of_columns(cls, columns: FloatArray, penalty: float) -> Products:
        """Add up products for the empty support, of centred columns with the target as the last.

        Parameters
        ----------
        columns : ndarray of shape (c + 1, b, B)
        penalty : float
        """
        c, b, blocks = columns.shape
        gram = np.zeros((c, c, blocks))
        for k in range(b):
            gram += columns[:, None, k] * columns[None, :, k]
        dimensions = np.full(blocks, b - 1.0)
        return cls(gram, gram, gram[:-1, :-1], dimensions, dimensions, penalty)

    def without(self, count: int) -> Products:
        """Leave the first columns out; nothing is copied."""
        left = slice(count, None)
        return self._of(self.once[left, left], self.twice[left, left], self.thrice[left, left])

    def alone(self, first: int, count: int) -> Products:
        """Keep a few adjacent columns, and the target."""
        columns = [*range(first, first + count)]
        kept = [*columns, len(self.once) - 1]
        both = np.ix_(kept, kept)
        return self._of(self.once[both], self.twice[both], self.thrice[np.ix_(columns, columns)])

    def _of(self, once: FloatArray, twice: FloatArray, thrice: FloatArray) -> Products:
        return Products(once, twice, thrice, self.trace, self.square, self.penalty)

    def with_first(self) -> Products:
        """Take the first column into the support."""
        row, row_twice, row_thrice = self.once[0, 1:], self.twice[0, 1:], self.thrice[0, 1:]
        norm, norm_thrice = self.twice[0, 0], self.thrice[0, 0]
        weight = 1.0 / (self.penalty + self.once[0, 0])
        share = row * weight
        # M' = M - Mz zᵀM/(ℓ + zᵀMz), its square and its cube.
        once = self.once[1:, 1:] - share[:, None] * row[None]
        half = share[:, None] * (row_twice - (0.5 * norm) * share)[None]
        twice = self.twice[1:, 1:] - half - half.swapaxes(0, 1)
        left, share = (row_twice - norm * share)[:-1], share[:-1]
        half = share[:, None] * (row_thrice - (0.5 * norm_thrice) * share)[None]
        thrice = self.thrice[1:, 1:] - half - half.swapaxes(0, 1)
        thrice -= left[:, None] * (weight * left)[None]
        traces = _traces_after(self.trace, self.square, norm * weight, norm_thrice * weight)
        return Products(once, twice, thrice, *traces, self.penalty)

    def diagonal(self) -> Single:
        """Take from the products what a last step with a single column needs."""
        c = len(self.once) - 1
        places = np.arange(c)
        return Single(
            self.once[places, places],
            self.once[:c, c],
            self.twice[places, places],
            self.twice[:c, c],
            self.twice[c, c],
            self.thrice[places, places],
            self.trace,
            self.square,
            self.penalty,
        )

    def diagonal_with_first(self) -> Single:
        """Compute `with_first().diagonal()` without the products of two columns."""
        c = len(self.once) - 1
        places = np.arange(1, c)
        row, row_twice, row_thrice = self.once[0, 1:], self.twice[0, 1:], self.thrice[0, 1:]
        norm, norm_thrice = self.twice[0, 0], self.thrice[0, 0]
        weight = 1.0 / (self.penalty + self.once[0, 0])
        share = row * weight
        last = share[-1]
        share, row, column_twice = share[:-1], row[:-1], row_twice[:-1]
        half = column_twice - (0.5 * norm) * share
        half_thrice = row_thrice - (0.5 * norm_thrice) * share
        left = column_twice - norm * share
        half_last = row_twice[-1] - (0.5 * norm) * last
        return Single(
            self.once[places, places] - share * row,
            self.once[1:c, c] - last * row,
            self.twice[places, places] - 2.0 * (share * half),
            self.twice[1:c, c] - share * half_last - last * half,
            self.twice[c, c] - 2.0 * (last * half_last),
            self.thrice[places, places] - 2.0 * (share * half_thrice) - weight * (left * left),
            *_traces_after(self.trace, self.square, norm * weight, norm_thrice * weight),
            self.penalty,
        )


@dataclass(frozen=True, eq=False)
class Single:
    """Products of c columns of which one more is taken, each with itself and with the target.

    Attributes
    ----------
    once, once_target, twice, twice_target : ndarray of shape (c, B)
        zᵀMz, zᵀMy, zᵀM²z, zᵀM²y.
    target : ndarray of shape (B,)
        yᵀM²y = ‖ℓK⁻¹y‖².
    thrice : ndarray of shape (c, B)
        zᵀM³z.
    trace, square : ndarray of shape (B,)
        tr M and tr M².
    penalty : float
    """

    once: FloatArray
    once_target: FloatArray
    twice: FloatArray
    twice_target: FloatArray
    target: FloatArray
    thrice: FloatArray
    trace: FloatArray
    square: FloatArray
    penalty: float

    def adjusted(self, rows: int) -> FloatArray:
        """Compute the adjusted R² with each of the columns, shape (c, B); b = `rows`."""
        weight = 1.0 / (self.penalty + self.once)
        share = self.once_target * weight
        residual = self.target - share * (2.0 * self.twice_target - share * self.twice)
        traces = self.trace, self.square, self.twice * weight, self.thrice * weight
        return adjusted_r_squared(residual, *_traces_after(*traces), rows)


def _traces_after(
    trace: FloatArray, square: FloatArray, twice: FloatArray, thrice: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute tr M' and tr M'² from zᵀM²z and zᵀM³z, both over ℓ + zᵀMz."""
    return trace - twice, square - 2.0 * thrice + twice * twice


def adjusted_r_squared(
    residual: FloatArray, trace: FloatArray, square: FloatArray, rows: int
) -> FloatArray:
    """Compute g = 1 - (b - 1)^(3/2) ‖My‖² / (tr M √tr M²) for targets of length 1.

    That is the geometric mean of an unbiased share of noise and of generalised cross-validation.

    Parameters
    ----------
    residual, trace, square : ndarray
        ‖My‖², tr M and tr M², with M = ℓK⁻¹ on the centred vectors.
    rows : int
        b.

    References
    ----------
    docs/mathematics/block-r2.md, (1).
    """
    g: FloatArray = 1.0 - residual * ((rows - 1.0) ** 1.5 / (trace * np.sqrt(square)))
    return g
