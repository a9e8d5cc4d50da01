"""Columns of a matrix that make each feature, and rows that are no longer than its bound.

The columns of a feature are neighbours: those of feature 0 come first, then those of feature 1
and so on, then the columns that are always in. Where features differ in width, a last column of
zeros fills up what is solved in one batch: its coefficient is zero, whatever the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray

FEW_COLUMNS = 10
"""Up to here a restricted problem takes about the same time."""

SHRINK = 1.0 - 2.0**-21
"""Factor of shortened rows: more than their entries can grow when they become float32."""


@dataclass(frozen=True, eq=False)
class Features:
    """The features that the columns of a matrix make.

    Attributes
    ----------
    widths : ndarray of int, shape (p,)
        Columns of every feature, each ≥ 1.
    always : int
        How many columns are always in.
    """

    widths: IntArray
    always: int = 0

    @property
    def count(self) -> int:
        """p."""
        return len(self.widths)

    @cached_property
    def starts(self) -> IntArray:
        """The first column of every feature, and the end of the last; shape (p + 1,)."""
        return np.concatenate([[0], np.cumsum(self.widths)]).astype(np.intp)

    @cached_property
    def singles(self) -> bool:
        """True if each feature j is column j and nothing else."""
        return bool((self.widths == 1).all())

    @property
    def plain(self) -> bool:
        """True if a support is its own list of columns."""
        return self.singles and self.always == 0

    @cached_property
    def padded(self) -> bool:
        """True if there is a last column of zeros."""
        return bool((self.widths != self.widths[0]).any())

    @property
    def size(self) -> int:
        """Columns of the matrix."""
        return int(self.starts[-1]) + self.always + self.padded

    @cached_property
    def always_columns(self) -> IntArray:
        """Shape (always,)."""
        return np.arange(self.starts[-1], self.starts[-1] + self.always)

    @cached_property
    def _table(self) -> IntArray:
        """The columns of every feature, filled up with the last one; shape (p, widest)."""
        offsets = np.arange(int(self.widths.max()))
        columns = self.starts[:-1, None] + offsets
        return np.where(offsets < self.widths[:, None], columns, self.size - 1)

    def columns(self, features: IntArray) -> IntArray:
        """Return the columns of `features`, shape (k,), one after another."""
        if self.singles:
            return features
        table = self._table[features]
        return np.asarray(table[np.arange(table.shape[1]) < self.widths[features][:, None]])

    def with_always(self, features: IntArray) -> IntArray:
        """Return the columns that are always in, and those of these features."""
        if self.plain:
            return features
        return np.concatenate([self.always_columns, self.columns(features)])

    def columns_of(self, supports: IntArray) -> IntArray:
        """Return the columns for every row of `supports`, shape (m, k), filled up to one length."""
        if self.plain:
            return supports
        m, k = supports.shape
        columns = self._table[supports].reshape(m, k * self._table.shape[1])
        if self.padded:
            filler = columns == self.size - 1
            longest = int((~filler).sum(axis=1).max(initial=0))
            order = np.argsort(filler, axis=1, kind="stable")[:, :longest]
            columns = np.take_along_axis(columns, order, axis=1)
        return np.hstack([np.tile(self.always_columns, (m, 1)), columns])

    def most_columns(self, size: int) -> int:
        """Return the most columns of a support of `size` features, those always in among them."""
        return self.always + int(self._widest[size])

    @cached_property
    def _widest(self) -> IntArray:
        """Columns of the widest 0, 1, ..., p features."""
        return np.concatenate([[0], np.cumsum(np.sort(self.widths)[::-1])])

    def cost(self, size: int) -> float:
        """Return the cost of one restricted problem of `size` features: at least 1.

        The unit is the cost of a problem of at most `FEW_COLUMNS` columns.
        """
        return max(1.0, (self.most_columns(size) / FEW_COLUMNS) ** 3)

    def by_width(self, features: IntArray) -> list[tuple[IntArray, IntArray]]:
        """List the features of each width: positions, shape (k,), and columns, shape (k, w)."""
        if self.singles:
            return [(np.arange(len(features)), features[:, None])] if len(features) else []
        widths = self.widths[features]
        classes = [np.flatnonzero(widths == width) for width in np.unique(widths)]
        return [
            (here, self._table[features[here]][:, : widths[here[0]]]) for here in classes
        ]  # fmt: skip

    def sums(self, values: FloatArray, features: IntArray) -> FloatArray:
        """Add up the columns of each of these features, over the last axis of `values`."""
        if self.singles:
            return values
        return np.asarray(np.add.reduceat(values, self.offsets(features), axis=-1))

    def offsets(self, features: IntArray) -> IntArray:
        """Return where each of `features` begins in `columns(features)`, shape (k,)."""
        widths = self.widths[features]
        return np.cumsum(widths) - widths

    def by_size(self, supports: IntArray) -> IntArray:
        """Order rows of `supports`, shape (m, s), by rising number of columns; shape (m,)."""
        if not self.padded:
            return np.arange(len(supports))
        return np.argsort(self.widths[supports].sum(axis=1), kind="stable")

    def split(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Split coefficients in the order of `with_always`: first of features, then always in."""
        return coef[self.always :], coef[: self.always]


def plain_features(p: int) -> Features:
    """Make features of one column each, with none that is always in."""
    return Features(np.ones(p, dtype=np.intp))


def shortened(block: FloatArray, bound: float, *, out: FloatArray) -> None:
    """Write rows of `block`, shape (n, w), no longer than `bound` to `out`."""
    limit = single_below(bound)
    if block.shape[1] == 1:
        np.clip(block, -limit, limit, out=out)
        return
    largest = np.abs(block).max(axis=1)
    scale = np.where(largest > 0.0, largest, 1.0).astype(np.float64)
    length = scale * _lengths(block / scale[:, None])
    long = np.flatnonzero(length > limit)
    out[...] = block
    if len(long):
        unit = block[long] / scale[long, None]
        unit /= _lengths(unit)[:, None]
        out[long] = (unit * (SHRINK * limit)).astype(np.float32)


def _lengths(rows: FloatArray) -> FloatArray:
    """Compute Euclidean lengths, added up in the order of the columns for any storage of rows."""
    squares = np.zeros(len(rows))
    for column in rows.T:
        squares += column * column
    return np.sqrt(squares)


def single_below(bound: float) -> float:
    """Return the largest number of float32 that is not above `bound`."""
    single = np.float32(bound)
    return float(np.nextafter(single, np.float32(0.0)) if float(single) > bound else single)
