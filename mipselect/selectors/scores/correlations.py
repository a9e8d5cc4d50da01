"""Correlations of single features with the target, exact in any order of the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from mipselect.arrays import FloatArray, IntArray
from mipselect.problem.layout import Layout
from mipselect.problem.sums import ExactSums

GRID = 2.0**16
"""Entries of centred scores are multiples of 1/GRID, their products of 1/UNIT."""

UNIT = 2.0**32
"""The terms of a score are multiples of 1/UNIT: their sums are exact, in any order."""

CHUNK = 1 << 20
"""So many entries of X are worked on at a time."""


def in_units_of(bound: float, values: Any) -> Any:
    """Clip to ± bound and divide by it, in double precision; of a CSR matrix the stored values.

    The quotient of two doubles with |x| ≤ b is at most 1, for rounding is monotone.
    """
    if not sparse.issparse(values):
        return np.clip(np.asarray(values, dtype=np.float64), -bound, bound) / bound
    result = values.astype(np.float64)
    # Duplicates of one entry, each within the bound, could add up to more.
    result.sum_duplicates()
    result.data = in_units_of(bound, result.data)
    return result


def exact_correlations(table: Any, target: FloatArray, unit: float = UNIT) -> FloatArray:
    """Add up |Σ_i x_ij y_i| exactly, with every product rounded to a multiple of 1/unit before.

    Parameters
    ----------
    table : float array or CSR matrix, shape (n, p), n < 2^31
        Entries in [-1, 1].
    target : float array, shape (n,)
        Entries in [-1, 1].

    Returns
    -------
    float array, shape (p,)
    """
    rows, columns = table.shape
    sums = np.zeros(columns, dtype=np.int64)
    if sparse.issparse(table):
        entries = table.tocoo()
        np.add.at(sums, entries.col, _in_units(entries.data * target[entries.row], unit))
    else:
        for part in chunks(rows, max(1, CHUNK // columns)):
            sums += _in_units(table[part] * target[part, None], unit).sum(axis=0)
    return _doubles(np.abs(sums), unit)


def exact_lengths(layout: Layout, table: Any, target: FloatArray) -> FloatArray:
    """Compute ‖Σ_i y_i x_iF/b_F‖ of every feature F, of clipped rows.

    Parameters
    ----------
    layout : Layout
    table : float array or CSR matrix, shape (n, q), n < 2^31
        Not clipped. A sparse one is made dense a few rows at a time.
    target : float array, shape (n,)
        Entries in [-1, 1].

    Returns
    -------
    float array, shape (p,)

    Notes
    -----
    The terms of a row are cut off to multiples of 1/UNIT towards zero, so that they are no longer
    than before, and added up exactly; the length of the sum is rounded down to a multiple of
    1/UNIT, in integers. Two lengths that differ by at most an integer still do when both are
    rounded down: rounding adds nothing to the sensitivity.
    """
    starts = layout.features.starts
    sums = np.zeros(int(starts[-1]), dtype=np.int64)
    for rows, entries in _unit_rows(layout, table):
        sums += np.trunc(entries * target[rows, None] * UNIT).astype(np.int64).sum(axis=0)
    return _lengths(sums.tolist(), starts, 1)


def exact_covariances(layout: Layout, table: Any, target: FloatArray) -> FloatArray:
    """Compute ‖Σ_i (y_i - ȳ)(x_iF - x̄_F)/b_F‖ of every feature F, of clipped rows.

    Parameters and result are those of `exact_lengths`.

    Notes
    -----
    Entries are cut off to multiples of 1/GRID towards zero. Then nΣxy - ΣxΣy is an integer, and
    its length divided by n is rounded down to a multiple of 1/UNIT.
    """
    starts = layout.features.starts
    products = np.zeros(int(starts[-1]), dtype=np.int64)
    sums = np.zeros_like(products)
    y = np.trunc(target * GRID).astype(np.int64)
    for rows, entries in _unit_rows(layout, table):
        x = np.trunc(entries * GRID).astype(np.int64)
        products += y[rows] @ x
        sums += x.sum(axis=0)
    n, total = len(y), int(y.sum())
    centred = [n * xy - total * x for xy, x in zip(products.tolist(), sums.tolist(), strict=True)]
    return _lengths(centred, starts, n)


def summed_lengths(sums: ExactSums) -> FloatArray:
    """Compute the scores of `exact_lengths` from sums over rows that were cut to the grid."""
    layout, matrix = sums.layout, sums.moments.matrix
    columns = sums.places[: layout.features.starts[-1]]
    return _lengths(_shared(sums, matrix[columns, -1].tolist()), layout.features.starts, 1)


def summed_covariances(sums: ExactSums) -> FloatArray:
    """Compute the scores of `exact_covariances` from the sums."""
    layout, matrix = sums.layout, sums.moments.matrix
    columns = sums.places[: layout.features.starts[-1]]
    n, one = sums.n, int(GRID)
    total = int(matrix[0, -1]) // one
    products, columns_sums = matrix[columns, -1].tolist(), (matrix[columns, 0] // one).tolist()
    centred = [n * xy - total * x for xy, x in zip(products, columns_sums, strict=True)]
    return _lengths(_shared(sums, centred), layout.features.starts, n)


def _shared(sums: ExactSums, values: Sequence[int]) -> Sequence[int | Fraction]:
    """Convert sums over columns to units of their features' bounds, exactly."""
    shares = sums.shares.tolist()
    return [
        value if share == 1.0 else value * Fraction(share)
        for value, share in zip(values, shares, strict=True)
    ]


def _unit_rows(layout: Layout, table: Any) -> Iterator[tuple[slice, FloatArray]]:
    """Yield some rows at a time, clipped, in units of the bounds: at most 1 long in any feature."""
    features = layout.features
    starts, widths = features.starts, features.widths
    # A row that is clipped in floating point may be too long by less than this.
    spare = np.where(widths > 1, (widths + 16.0) * 2.0**-51, 0.0)
    factors = np.repeat(1.0 - spare, widths)
    bounds = np.repeat(layout.bounds, widths)
    for part in chunks(table.shape[0], max(1, CHUNK // features.size)):
        block = table[part].toarray() if sparse.issparse(table) else table[part]
        clipped = layout.clipped(np.asarray(block, dtype=np.float64))[:, : starts[-1]]
        yield part, clipped / bounds * factors


def _lengths(sums: Sequence[int | Fraction], starts: IntArray, divisor: int) -> FloatArray:
    """Compute lengths of features' sums, divided and rounded down to multiples of 1/UNIT."""
    squares = [value * value for value in sums]
    ends = pairwise(starts.tolist())
    lengths = [math.isqrt(math.floor(sum(squares[i:j]))) // divisor for i, j in ends]
    return _doubles(np.array(lengths, dtype=np.int64))


def _doubles(units: np.ndarray[Any, np.dtype[np.int64]], unit: float = UNIT) -> FloatArray:
    """Convert lengths in units of 1/unit to doubles, rounded down.

    Where one has more digits than a double its last ten bits are cut: what is larger is on a
    coarser grid, of which Δ is a multiple, and so the cut adds nothing to a sensitivity.
    """
    return np.where(units < 1 << 53, units, units >> 10 << 10) / unit


def _in_units(products: FloatArray, unit: float) -> np.ndarray[Any, np.dtype[np.int64]]:
    units: np.ndarray[Any, np.dtype[np.int64]] = np.rint(products * unit).astype(np.int64)
    return units


def chunks(rows: int, most: int) -> Iterator[slice]:
    """Yield slices of at most so many rows."""
    for start in range(0, rows, most):
        yield slice(start, min(start + most, rows))
