"""The largest entries of every row of |XᵀX|, from one pass over its blocks; none of it is kept.

Columns are scaled to length one and multiplied in single precision, which is twice as fast, with
an allowance for what that may be off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from mipselect.arrays import FloatArray, IntArray

WIDTH = 2056
"""Columns of one block; columns of products whose distance is a power of two displace one another
in a cache."""

HEIGHT = 8192
"""Rows whose products are added up in single precision; sums of these are double."""

STRIP = 64
"""Columns that are scaled at once, and rows of products: about what a cache holds."""

LEAST_WEIGHT = 1e-30
"""Shorter columns, in units of the longest, count as so long: single precision has no less."""

SINGLE_EPS = 2.0**-24
"""Relative error of one operation in single precision."""


def streamed_row_tops(
    X: FloatArray,
    diagonal: FloatArray,
    candidates: IntArray,
    count: int,
    tick: Callable[[], None],
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> FloatArray:
    """Bound the `count` largest |G_jk| over candidates k ≠ j from above, falling, for each j.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    diagonal : ndarray of shape (p,)
        Diagonal of G = XᵀX.
    candidates : ndarray of int, shape (L,)
    count : int
        Between 1 and L - 1.
    tick : callable
        Called before every block; may raise to stop.
    width, height : int

    Returns
    -------
    ndarray of shape (L, count)

    Notes
    -----
    Of unit columns c_j, as they are rounded, a product of at most `height` rows is off by at most
    (height + 3)·2⁻²⁴ Σ_i |c_ij c_ik|, in any order of the sum, and the last sum is at most 1. Three
    more units are for the length of the other column, one for the double sums of the parts.
    """
    lengths = np.sqrt(diagonal[candidates])
    inverse, longest, weights = scales_of(lengths)
    allowance = np.float32((min(len(X), height) + 10) * SINGLE_EPS)
    blocks = [slice(start, start + width) for start in range(0, len(candidates), width)]
    tops = np.full((len(candidates), count), -1.0)
    for first, rows in enumerate(blocks):
        left = _unit_columns(X, candidates[rows], inverse[rows])
        for second, columns in enumerate(blocks[first:], first):
            tick()
            right = left
            if first != second:
                # Scaled anew for every block, which is next to nothing beside the products.
                right = _unit_columns(X, candidates[columns], inverse[columns])
            products = _products(left, right, height)
            _merge(tops[rows], products, weights[columns], allowance, first == second)
            if first != second:
                _merge(tops[columns], products.T, weights[rows], allowance, False)
    return np.asarray(-np.sort(-tops, axis=1) * (longest * lengths)[:, None])


def scales_of(lengths: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    """Return 1/length of columns, the largest length, and lengths as shares of it, in float32.

    Columns of length 0 are left as they are; no share is smaller than `LEAST_WEIGHT`.
    """
    longest = float(lengths.max()) or 1.0
    weights = np.maximum(lengths / longest, LEAST_WEIGHT).astype(np.float32)
    return 1.0 / np.where(lengths > 0.0, lengths, 1.0), longest, weights


def _unit_columns(X: FloatArray, columns: IntArray, inverse: FloatArray) -> FloatArray:
    """Compute X[:, columns] · inverse in single precision, shape (n, w), stored as X."""
    order: Literal["F", "C"] = "F" if X.flags.f_contiguous else "C"
    units = np.empty((len(X), len(columns)), np.float32, order=order)
    for start in range(0, len(columns), STRIP):
        some = slice(start, start + STRIP)
        np.multiply(X[:, columns[some]], inverse[some], out=units[:, some], casting="same_kind")
    return units


def _products(left: FloatArray, right: FloatArray, height: int) -> FloatArray:
    """Compute leftᵀ right, shape (w, v), in single precision over `height` rows, then in double."""
    if len(left) <= height:
        return np.asarray(left.T @ right)
    total = np.zeros((left.shape[1], right.shape[1]))
    for start in range(0, len(left), height):
        part = slice(start, start + height)
        total += left[part].T @ right[part]
    return total


def _merge(
    tops: FloatArray,
    products: FloatArray,
    weights: FloatArray,
    allowance: np.float32,
    diagonal: bool,
) -> None:
    """Keep the largest entries of each row of `tops` and (|products| + a)·weights, in `tops`."""
    count = tops.shape[1]
    for start in range(0, len(products), STRIP):
        some = slice(start, start + STRIP)
        block = np.abs(products[some], order="C")
        block += allowance
        block *= weights
        if diagonal:
            np.fill_diagonal(block[:, start:], -1.0)
        if block.shape[1] > count:
            block.partition(block.shape[1] - count, axis=1)
            block = block[:, block.shape[1] - count :]
        together = np.hstack([tops[some], block])
        together.partition(together.shape[1] - count, axis=1)
        tops[some] = together[:, together.shape[1] - count :]
