"""Rows of normalised blocks: in a block every feature is centred and of spectral norm at most 1.

Whatever stands in a block, what comes out of it is on the grid of `mipselect.grid` and within these
norms, exactly; and it comes from this block alone, to the last bit: all steps are sums, products,
quotients and roots of single numbers, in an order that no other block has a part in.

Two rows centred are a difference and its negative, so that such a block is one row: its signs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.grid import GRID

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
        length 1 in a block before the feature is normalised.
    """

    parts: tuple[tuple[int, ...], ...]
    indicators: np.ndarray

    @property
    def several(self) -> list[tuple[int, ...]]:
        """The parts of more than one column."""
        return [part for part in self.parts if len(part) > 1]


def normalised(rows: FloatArray, blocks: IntArray, columns: ColumnsOfFeatures) -> FloatArray:
    """Centre and normalise the columns of every block.

    Parameters
    ----------
    rows : ndarray of shape (n, C)
        NaN where a value is missing: it is 0 after centring over those that are there.
    blocks : ndarray of int, shape (m, b)
        Row numbers.
    columns : ColumnsOfFeatures

    Returns
    -------
    ndarray of shape (m, C) where b = 2, else (m b, C)
        Multiples of `GRID` in [-1, 1].

    References
    ----------
    docs/mathematics/blocks.md, (1).
    """
    m, b = blocks.shape
    if b == 2:
        out = _differences(rows[blocks[:, 0]], rows[blocks[:, 1]], columns)
        for part in columns.several:
            out[:, part] = _shortened(out[:, part])
        return _cut(out)
    out = np.empty((m, b, rows.shape[1]))
    for j in range(rows.shape[1]):
        out[:, :, j] = centred(rows[:, j][blocks], indicator=bool(columns.indicators[j]))
    for part in columns.parts:
        if len(part) > 1:
            out[:, :, part] = _within_norm_one(out[:, :, part])
        elif columns.indicators[part[0]]:
            out[:, :, part[0]] = _shortened(out[:, :, part[0]])
    return _cut(out.reshape(m * b, -1))


def _differences(first: FloatArray, second: FloatArray, columns: ColumnsOfFeatures) -> FloatArray:
    """Of numbers the sign of the difference, of indicators 1/√2 of it; 0 where one is missing.

    In a block of two a centred number has length 1 whatever it is, a centred indicator 1/√2.
    """
    with np.errstate(all="ignore"):
        signs = np.sign(first - second)
    signs[np.isnan(signs)] = 0.0
    share = np.where(columns.indicators, np.sqrt(0.5), 1.0)
    for part in columns.parts:
        if len(part) == 1:  # Scaled to length 1 in any case.
            share[part[0]] = 1.0
    signs *= share
    return signs


def _shortened(rows: FloatArray) -> FloatArray:
    """Rows of length 1, or 0; shape (m, K)."""
    square = np.zeros(len(rows))
    for column in rows.T:
        square += column * column
    length = np.sqrt(square)
    unit: FloatArray = rows / np.where(length > 0.0, length, 1.0)[:, None]
    return unit


def centred(values: FloatArray, *, indicator: bool) -> FloatArray:
    """Centre one column within every block; a number has length 1, or is 0.

    Nothing changes where numbers are shifted or scaled, as far as that is exact.

    Parameters
    ----------
    values : ndarray of shape (m, b)
        A missing value is not finite; it is 0 after centring over those that are there.
    indicator : bool
        True for a column of 0 and 1, which is not scaled.

    Returns
    -------
    ndarray of shape (m, b)
    """
    there = np.isfinite(values)
    missing = not there.all()
    # Where nothing is there everything is 0.
    values = np.where(there, values, np.inf if not indicator else 0.0) if missing else values
    if not indicator:
        values = _on_unit_range(values, there if missing else None)
    count = np.zeros(len(values))
    total = np.zeros(len(values))
    for k in range(values.shape[1]):
        count += there[:, k]
        total += values[:, k]
    mean = total / np.maximum(count, 1.0)
    moved = values - mean[:, None]
    if missing:
        moved[~there] = 0.0
    if indicator:
        result: FloatArray = moved
        return result
    return _shortened(moved)


def _on_unit_range(values: FloatArray, there: np.ndarray | None) -> FloatArray:
    """(x - min)/(max - min) of every block, 0 where that is constant or x is missing."""
    high_of = values if there is None else np.where(there, values, -np.inf)
    low, high = values.min(axis=1), high_of.max(axis=1)
    with np.errstate(all="ignore"):
        huge = np.maximum(np.abs(low), np.abs(high)) > HUGE
        if huge.any():
            shrink = np.where(huge, 2.0**-60, 1.0)
            values, low, high = values * shrink[:, None], low * shrink, high * shrink
        width = high - low
        moved = values - low[:, None]
        scaled: FloatArray = moved / np.where(width > 0.0, width, np.inf)[:, None]
    if there is not None:
        scaled[~there] = 0.0
    return scaled


def _within_norm_one(part: FloatArray) -> FloatArray:
    """Blocks of several columns, shape (m, b, K), divided by a bound of their spectral norm.

    Less what cutting to the grid can add to the norm, √(bK) times the grid.
    """
    _, b, k = part.shape
    norm = np.sqrt(_largest_eigenvalue(part)) * ROUNDED_UP
    room = 1.0 - GRID * np.sqrt(b * k)
    within: FloatArray = part * (room / np.where(norm > 0.0, norm, np.inf))[:, None, None]
    return within


def _largest_eigenvalue(part: FloatArray) -> FloatArray:
    """An upper bound of the largest eigenvalue of ZᵀZ for every Z of shape (b, K); shape (m,).

    λ ≤ tr M; and λ(M)² = λ(M²), so that λ ≤ t₀ √(t₁ √(t₂ ...)) with the traces of the powers.
    """
    m, b, k = part.shape
    rows = part if b <= k else part.transpose(0, 2, 1)
    power = np.zeros((m, rows.shape[1], rows.shape[1]))
    for j in range(rows.shape[2]):
        power += rows[:, :, j, None] * rows[:, None, :, j]
    traces = []
    for step in range(SQUARINGS + 1):
        trace = np.zeros(m)
        for j in range(power.shape[1]):
            trace += power[:, j, j]
        traces.append(trace)
        if step < SQUARINGS:
            power = power / np.where(trace > 0.0, trace, 1.0)[:, None, None]
            square = np.zeros_like(power)
            for j in range(power.shape[1]):
                square += power[:, :, j, None] * power[:, None, j, :]
            power = square
    bound = traces.pop()
    for trace in reversed(traces):
        bound = trace * np.sqrt(bound)
    return bound


def _cut(rows: FloatArray) -> FloatArray:
    """Towards zero to multiples of `GRID`; squares of a row or a column of length 1 add up to 1 at
    most, for no multiple of GRID² lies between 1 and what rounding can make of it."""
    cut: FloatArray = np.trunc(rows / GRID) * GRID
    return cut
