"""`RangedNumbers`: where in its range most values of each number of a model lie; draws and maps."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.regression.drawn import ModelRows
from mipselect.regression.typical_range import NARROWEST, TypicalRange, within
from mipselect.tables.encoders import Encoder, Scaled, two_numbers
from mipselect.tables.input_map import Ranges
from mipselect.validation import SMALLEST_SCALE

SMALLEST_PART = 2.0**-40
"""A range stays as it is where its narrowest part could be less than this, beside its numbers."""


@dataclass(frozen=True)
class RangedNumbers:
    """The numbers of a model whose ranges have narrower parts, each with its columns; public.

    Attributes
    ----------
    encoders : mapping of str to Encoder
        By the name of the field.
    columns : mapping of str to slice
        The columns of each, among those of the model.
    """

    encoders: Mapping[str, Encoder]
    columns: Mapping[str, slice]

    @classmethod
    def of(cls, encoders: Sequence[Encoder]) -> RangedNumbers:
        """Find them among the encoders of a model, whose columns stand in this order."""
        ends = np.cumsum([0, *(len(encoder.columns()) for encoder in encoders)]).tolist()
        places = zip(encoders, pairwise(ends), strict=True)
        found = [(encoder, slice(*ends)) for encoder, ends in places if may_be_narrowed(encoder)]
        return cls(
            {encoder.field.name: encoder for encoder, _ in found},
            {encoder.field.name: columns for encoder, columns in found},
        )

    def __len__(self) -> int:
        return len(self.encoders)

    def drawn(
        self, rows: ModelRows, epsilon: float, relation: str, source: random.Random
    ) -> dict[str, tuple[float, float]]:
        """Draw where most values of each number lie: the parts of their ranges, within [-1, 1].

        Parameters
        ----------
        rows : ModelRows
            The columns of the model, in [-1, 1]. Those without a target count nowhere.
        epsilon : float
            ε of each; none is drawn where it is 0.
        relation : {"replace-one", "add-remove"}
        source : random.Random
        """
        found: dict[str, tuple[float, float]] = {}
        if epsilon == 0.0:
            return found
        for name, columns in self.columns.items():
            values = rows.with_target(_values(rows.X[:, columns]))
            part = TypicalRange(values, epsilon, relation).draw(source)
            found[name] = _to_whole_numbers(self.encoders[name], part)
        return found

    def within(self, X: FloatArray, ranges: Ranges) -> FloatArray:
        """Map the columns of the model as their encoders do with narrower ranges; shape (n, k)."""
        rows = np.array(X, dtype=np.float64)
        for name, (low, high) in ranges.items():
            columns = self.columns[name]
            rows[:, columns.start] = np.nan_to_num(within(_values(rows[:, columns]), low, high))
        return rows


def may_be_narrowed(encoder: Encoder) -> bool:
    """Return True for a number in whose range doubles tell apart every part that may be drawn.

    A range of two whole numbers, such as 0 and 1, has no part.
    """
    if not isinstance(encoder, Scaled):
        return False
    if two_numbers(encoder):
        return False
    narrowest = 0.25 * NARROWEST * (encoder.high - encoder.low)
    largest = max(abs(encoder.low), abs(encoder.high))
    return narrowest >= max(SMALLEST_SCALE, SMALLEST_PART * largest)


def narrowed(encoder: Encoder, ranges: Ranges) -> Encoder:
    """Narrow the encoder to a part of its range, which is in units of [-1, 1]."""
    part = ranges.get(encoder.field.name)
    if part is None or not isinstance(encoder, Scaled):
        return encoder
    number = encoder.columns()[0]
    low, high = (number.offset + number.scale * end for end in part)
    return replace(encoder, low=max(low, encoder.low), high=min(high, encoder.high))


def _to_whole_numbers(encoder: Encoder, part: tuple[float, float]) -> tuple[float, float]:
    """Extend a part of a range, within [-1, 1], to whole numbers of a field that counts them.

    Most values of a rare 0 and 1 are 0: a part without the other one holds them, and a coefficient
    per unit would be far too large.
    """
    number = encoder.columns()[0]
    offset, scale = number.offset, number.scale
    ends = offset + scale * part[0], offset + scale * part[1]
    whole = encoder.field.whole_ends(*ends)
    if whole == ends:
        return part
    low, high = ((end - offset) / scale for end in whole)
    return max(-1.0, low), min(1.0, high)


def _values(field: FloatArray) -> FloatArray:
    """Return a number, NaN where another column of its field says it is missing; (n, w) to (n,)."""
    return np.where(field[:, 1:].any(axis=1), np.nan, field[:, 0])
