"""`ColumnSums`: products of the columns of a table, for correlations and least squares. SENSITIVE.

Columns are those of the public map. A number without a range is squeezed by a public function, so
that it can be compared with others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.tables import values
from mipselect.tables.check.kinds import FieldRule
from mipselect.tables.encoders import (
    MISSING_COLUMN,
    Column,
    Encoder,
    Scaled,
    Unscaled,
    encoder_of,
    places_of_columns,
)
from mipselect.tables.weights import WEIGHT

MOST_COLUMNS = 2000
"""Columns whose products are added up: 32 MB; the widest fields are left out beyond."""

MOST_ENTRIES = 1 << 22
"""Entries of columns that are in memory at a time."""

REPEATS = 0.999
"""Absolute correlation from which on two columns say the same."""

LEAST_ROWS = 10
"""Fewer rows say nothing of correlations and coefficients."""

LARGEST = 1e300

LEAST_SCALE = 1e-9
"""Directions of columns that vary by less, beside the one that varies most, count as constant."""


class Squeezed(Unscaled):
    """A number without a range: sign(v) log(1 + |v|), 0 where it is missing."""

    def columns(self) -> tuple[Column, ...]:
        """Return the number alone."""
        return (Column(self.field.name),)

    def encode(self, stored: pa.Array, out: NDArray[np.floating[Any]]) -> None:
        """Write the number."""
        v = np.nan_to_num(values.numbers(stored, self.field), posinf=LARGEST, neginf=-LARGEST)
        out[:, 0] = np.sign(v) * np.log1p(np.minimum(np.abs(v), LARGEST))


def comparable(rules: Sequence[FieldRule]) -> tuple[dict[int, Encoder], tuple[str, ...]]:
    """Choose how fields become columns.

    Returns
    -------
    encoders : dict of int to Encoder
        By the place of the rule; fields of which the schema says too little have none.
    left_out : tuple of str
        Names of fields that would have too many columns.
    """
    known: dict[int, Encoder] = {}
    for k, one in enumerate(rule.field for rule in rules):
        if one.role == WEIGHT or not (one.is_listed or one.is_measured):
            continue
        low, high = one.minimum, one.maximum
        if one.is_listed:
            known[k] = encoder_of(one)
        elif low is None or high is None:
            known[k] = Squeezed(one)
        else:
            known[k] = Scaled(one, low, high)
    total, kept = 0, {}
    for k in sorted(known, key=lambda k: len(known[k].columns())):
        total += len(known[k].columns())
        if total <= MOST_COLUMNS:
            kept[k] = known[k]
    left_out = tuple(rules[k].name for k in known if k not in kept)
    return dict(sorted(kept.items())), left_out


@dataclass
class ColumnSums:
    """Sums over rows of z zᵀ for z = (1, columns); rows are shifted by the first of them.

    Attributes
    ----------
    encoders : tuple of Encoder
    products : float array, shape (q + 1, q + 1)
    shift : float array, shape (q,)
        The first row; a column that is constant has products of zero beyond it.
    """

    encoders: tuple[Encoder, ...]
    products: FloatArray = field(init=False)
    shift: FloatArray | None = None

    def __post_init__(self) -> None:
        width = sum(len(encoder.columns()) for encoder in self.encoders)
        self.products = np.zeros((width + 1, width + 1))

    @property
    def blocks(self) -> tuple[range, ...]:
        """Rows of `products` that are of each encoder."""
        return places_of_columns(self.encoders, start=1)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.products[0, 0])

    @property
    def has_enough_rows(self) -> bool:
        """True if there are so many rows that correlations say something."""
        return self.rows >= LEAST_ROWS

    @property
    def rows_at_a_time(self) -> int:
        """Rows of columns that are in memory together."""
        return max(1, MOST_ENTRIES // len(self.products))

    def add(self, columns: Sequence[pa.Array], chosen: NDArray[np.intp] | None = None) -> None:
        """Add the rows of a batch, or those of some places, with a column for each encoder."""
        if not self.encoders:
            return
        rows = len(columns[0])
        step = self.rows_at_a_time
        for start in range(0, rows, step):
            kept = None
            if chosen is not None:
                kept = chosen[(chosen >= start) & (chosen < start + step)] - start
            Z = self.encoded([column.slice(start, step) for column in columns])
            Z = Z if kept is None else Z[kept]
            if not len(Z):
                continue
            if self.shift is None:
                self.shift = Z[0, 1:].copy()
            Z[:, 1:] -= self.shift
            self.products += Z.T @ Z

    def encoded(self, columns: Sequence[pa.Array]) -> FloatArray:
        """Encode the rows z of a batch, not shifted, shape (rows, q + 1)."""
        Z = np.ones((len(columns[0]), len(self.products)))
        for encoder, block, column in zip(self.encoders, self.blocks, columns, strict=True):
            encoder.encode(column, Z[:, block.start : block.stop])
        return Z

    def gram(self) -> FloatArray:
        """Compute Σ z zᵀ of rows that are not shifted, shape (q + 1, q + 1)."""
        back = np.eye(len(self.products))
        if self.shift is not None:
            back[1:, 0] = self.shift
        result: FloatArray = back @ self.products @ back.T
        return result

    def _covariance(self) -> FloatArray:
        """Compute the covariance of the columns, shape (q, q)."""
        mean = self.products[0, 1:] / self.rows
        result: FloatArray = self.products[1:, 1:] / self.rows - np.outer(mean, mean)
        return result

    def explained_alone(self, target: int) -> tuple[float, ...]:
        """Compute the adjusted R² of an encoder's first column by each encoder alone; 0 by itself.

        Parameters
        ----------
        target : int
            Place of the encoder.
        """
        aim = self.blocks[target].start - 1
        covariance, n = self._covariance(), self.rows
        shares = []
        for k, block in enumerate(self.blocks):
            own = [j - 1 for j in block]
            free = n - len(own) - 1
            if k == target or free < 1 or covariance[aim, aim] <= 0.0:
                shares.append(0.0)
                continue
            moment = covariance[own, aim]
            inside = covariance[np.ix_(own, own)]
            coef = np.linalg.lstsq(inside, moment, rcond=LEAST_SCALE)[0]
            r2 = float(moment @ coef) / float(covariance[aim, aim])
            shares.append(max(0.0, 1.0 - (1.0 - r2) * (n - 1) / free))
        return tuple(shares)

    def repeats(self) -> tuple[tuple[int, int], ...]:
        """Find pairs of encoders whose columns say the same, by absolute correlations."""
        if not self.has_enough_rows:
            return ()
        covariance = self._covariance()
        deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        moves = deviation > 1e-9
        scale = np.where(moves, deviation, 1.0)
        same = (np.abs(covariance / np.outer(scale, scale)) > REPEATS) & np.outer(moves, moves)
        own = [
            [
                j - 1
                for j, column in zip(block, encoder.columns(), strict=True)
                # Several fields may be missing together.
                if moves[j - 1] and column.name != f"{encoder.field.name}={MISSING_COLUMN}"
            ]
            for encoder, block in zip(self.encoders, self.blocks, strict=True)
        ]
        owner = np.full(len(same), -1)
        for k, columns in enumerate(own):
            owner[columns] = k
        near = {
            (int(owner[i]), int(owner[j])) for i, j in np.argwhere(same) if 0 <= owner[i] < owner[j]
        }
        return tuple((a, b) for a, b in sorted(near) if _say_the_same(same, own[a], own[b]))


def _say_the_same(same: NDArray[np.bool_], one: Collection[int], other: Collection[int]) -> bool:
    """Return whether every column of each has one of the other that is the same."""
    between = same[np.ix_(list(one), list(other))]
    return bool(between.any(axis=1).all() and between.any(axis=0).all())
