"""Rows of normalised blocks: in a block every feature is centred and of spectral norm at most 1.

Whatever stands in a block, what comes out of it is on the grid of `mipselect.blocks.grid` and
within these norms, exactly; and it comes from this block alone, to the last bit: all steps are
sums, products, quotients and roots of single numbers, in an order that no other block has a part
in.

Two rows centred are a difference and its negative, so that such a block is one row: its signs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.grid import GRID

HUGE = 2.0**1000
"""Differences of numbers beyond this may overflow; such a column of a block is scaled down."""

SQUARINGS = 6
"""M^(2^6) has a trace of at most K λ^64, so that a norm from it is too large by K^(1/128)."""

ROUNDED_UP = 1.0 + 1e-9
"""More than what rounding takes from the bound of a norm."""


@dataclass(frozen=True, eq=False)
class ColumnsOfFeatures:
    """Columns that are bounded together.

    Attributes
    ----------
    parts : tuple of tuple of int
        The columns of every feature, of every part that is always in, and of the target.
    indicators : ndarray of bool, shape (C,)
        True for columns of 0 and 1, whose unit means something. Others are numbers: each has
        length 1 in a block before the feature is normalised. With two rows a block nothing depends
        on it: columns of 0 and 1 of one feature differ by 1 or not at all.
    """

    parts: tuple[tuple[int, ...], ...]
    indicators: np.ndarray

    @property
    def several(self) -> list[tuple[int, ...]]:
        """The parts of more than one column."""
        return [part for part in self.parts if len(part) > 1]


def normalised(
    rows: FloatArray,
    blocks: IntArray,
    columns: ColumnsOfFeatures,
    factors: FloatArray | None = None,
) -> FloatArray:
    """Centre and normalise the columns of every block.

    Parameters
    ----------
    rows : ndarray of shape (n, C)
        NaN where a value is missing: it is 0 after centring over those that are there.
    blocks : ndarray of int, shape (m, b)
        Row numbers.
    columns : ColumnsOfFeatures
    factors : ndarray of shape (m,), optional
        What the entries of each block are multiplied by, at most 1.

    Returns
    -------
    ndarray of shape (m, C) where b = 2, else (b m, C)
        Integers in units of `GRID`, of at most 1/GRID.

    References
    ----------
    docs/mathematics/blocks.md, (1) and (2).
    """
    if blocks.shape[1] == 2:
        pairs: FloatArray = signs_of_pairs(rows, blocks).astype(np.float64)
        for part in columns.several:
            pairs[:, part] = _of_length_one(pairs[:, part].T).T
        if factors is not None:
            pairs *= factors[:, None]
        return _on_grid(pairs)
    out: FloatArray = rows[blocks.T]
    indicators = {j: out[:, :, j] for part in columns.several for j in part
                  if columns.indicators[j]}  # fmt: skip
    missing = ~np.isfinite(out)
    out = _of_length_one(_centred(_on_unit_range(out, missing), missing))
    for j, column in indicators.items():
        out[:, :, j] = _centred(column, missing[:, :, j])
    for part in columns.several:
        out[:, :, part] = _within_norm_one(out[:, :, part])
    if factors is not None:
        out *= factors[:, None]
    return _on_grid(out.reshape(-1, rows.shape[1]))


def factors_of_blocks(shares: FloatArray, blocks: IntArray) -> FloatArray:
    """Return √(w_i w_j ...), the factors by which a loss counts a block by all its weights.

    Parameters
    ----------
    shares : ndarray of shape (n,)
        How much each row counts, in [0, 1].
    blocks : ndarray of int, shape (m, b)

    Returns
    -------
    ndarray of shape (m,)

    References
    ----------
    docs/mathematics/weights.md, (3).
    """
    product = np.ones(len(blocks))
    for members in blocks.T:
        product *= shares[members]
    return np.sqrt(product, out=product)


def signs_of_pairs(rows: FloatArray, pairs: IntArray) -> NDArray[np.int8]:
    """Return the sign of the difference of every column in every pair, shape (m, C).

    0 where the two are equal, or one is missing: whatever is compared with NaN is neither larger
    nor smaller.
    """
    first, second = rows[pairs[:, 0]], rows[pairs[:, 1]]
    return np.subtract(first > second, first < second, dtype=np.int8)


def centred(values: FloatArray, *, indicator: bool) -> FloatArray:
    """Centre one column within every block; a number has length 1, or is 0.

    Parameters
    ----------
    values : ndarray of shape (m, b)
        A missing value is not finite; it is 0 after centring over those that are there.
    indicator : bool
        True for a column of 0 and 1, which is not scaled.

    Returns
    -------
    ndarray of shape (b, m)
    """
    members = values.T
    missing = ~np.isfinite(members)
    if indicator:
        return _centred(members, missing)
    return _of_length_one(_centred(_on_unit_range(members, missing), missing))


def _of_length_one(members: FloatArray) -> FloatArray:
    """Divide by the length over the first axis; 0 stays 0."""
    square = np.zeros(members.shape[1:])
    for row in members:
        square += row * row
    length = np.sqrt(square, out=square)
    length[length == 0.0] = 1.0
    unit: FloatArray = members / length
    return unit


def _on_unit_range(members: FloatArray, missing: NDArray[np.bool_]) -> FloatArray:
    """Compute (x - min)/(max - min) over the first axis; 0 where that is constant or x is missing.

    Nothing changes where numbers are shifted or scaled, as far as that is exact.
    """
    gaps = bool(missing.any())
    low = (np.where(missing, np.inf, members) if gaps else members).min(axis=0)
    high = (np.where(missing, -np.inf, members) if gaps else members).max(axis=0)
    with np.errstate(all="ignore"):
        huge = np.maximum(np.abs(low), np.abs(high)) > HUGE
        if huge.any():
            shrink = np.where(huge, 2.0**-60, 1.0)
            members, low, high = members * shrink, low * shrink, high * shrink
        width = high - low
        width[~(width > 0.0)] = np.inf
        scaled: FloatArray = members - low
        scaled /= width
    if gaps:
        scaled[missing] = 0.0
    return scaled


def _centred(members: FloatArray, missing: NDArray[np.bool_]) -> FloatArray:
    """Subtract the mean over the first axis of those that are there; the missing ones are 0."""
    total = np.zeros(members.shape[1:])
    for row in members:
        total += row
    there = len(members) - missing.sum(axis=0)
    centred: FloatArray = members - total / np.maximum(there, 1)
    if (there < len(members)).any():
        centred[missing] = 0.0
    return centred


def _within_norm_one(part: FloatArray) -> FloatArray:
    """Divide blocks of several columns, shape (b, m, K), by a bound of their spectral norm.

    Less what cutting to the grid can add to the norm, √(bK) times the grid.
    """
    b, _, k = part.shape
    norm = np.sqrt(_largest_eigenvalue(part)) * ROUNDED_UP
    norm[norm == 0.0] = np.inf
    within: FloatArray = part * ((1.0 - GRID * np.sqrt(b * k)) / norm)[:, None]
    return within


def _largest_eigenvalue(part: FloatArray) -> FloatArray:
    """Bound the largest eigenvalue of ZᵀZ from above for each of m blocks Z; shape (m,).

    λ ≤ tr M; and λ(M)² = λ(M²), so that λ ≤ t₀ √(t₁ √(t₂ ...)) with the traces of the powers.

    Parameters
    ----------
    part : ndarray of shape (b, m, K)
    """
    b, m, k = part.shape
    columns = part.transpose(2, 0, 1) if b <= k else part.transpose(0, 2, 1)
    power: FloatArray = np.zeros((columns.shape[1], columns.shape[1], m))
    for column in columns:
        power += column[:, None] * column
    traces = []
    for _ in range(SQUARINGS):
        traces.append(_trace(power))
        power = _squared(power / np.where(traces[-1] > 0.0, traces[-1], 1.0))
    bound = _trace(power)
    for trace in reversed(traces):
        bound = trace * np.sqrt(bound)
    return bound


def _trace(matrices: FloatArray) -> FloatArray:
    """Compute the traces of m matrices, shape (d, d, m)."""
    trace = np.zeros(matrices.shape[2])
    for j in range(len(matrices)):
        trace += matrices[j, j]
    return trace


def _squared(matrices: FloatArray) -> FloatArray:
    """Square m symmetric matrices, shape (d, d, m)."""
    square = np.zeros_like(matrices)
    for row in matrices:
        square += row[:, None] * row
    return square


def _on_grid(rows: FloatArray) -> FloatArray:
    """Round towards zero to integers in units of `GRID`.

    Squares of a row or a column of length 1 add up to 1 at most, for no multiple of GRID² lies
    between 1 and what rounding can make of it.
    """
    cut: FloatArray = np.trunc(rows / GRID)
    return cut
