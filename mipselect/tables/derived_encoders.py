"""Encoders of derived features of several columns: broken lines, and products of two fields.

A row has Euclidean norm at most 1 in the columns of each; docs/mathematics/public-map.md has the
proofs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mipselect.tables import values
from mipselect.tables.derivations import Crossed, DerivedField, Knotted
from mipselect.tables.derived import FEATURES, require_inner_knots
from mipselect.tables.encoders import (
    MISSING_COLUMN,
    Column,
    Encoder,
    Indicators,
    Ranked,
    Scaled,
    Unscaled,
    encoder_of,
)
from mipselect.tables.fields import Arrays, Field


@dataclass(frozen=True)
class BrokenLine(Encoder):
    """A number v and its excess max(v - k, 0) over knots k, and `=missing`.

    Each is divided by its largest size and by the root of their number; without a range each
    stays as it is, NaN where v is missing.

    Attributes
    ----------
    field : DerivedField
    line : Scaled or Unscaled
        The number in its range, or as it is.
    """

    field: DerivedField
    line: Scaled | Unscaled
    has_means: ClassVar[bool] = True

    @property
    def knots(self) -> tuple[float, ...]:
        """The knots, rising."""
        assert isinstance(self.field.derivation, Knotted)
        return self.field.derivation.knots

    @property
    def numbers(self) -> int:
        """One more than there are knots."""
        return 1 + len(self.knots)

    @property
    def gap(self) -> float:
        """0, or NaN without a range."""
        return self.line.gap

    @property
    def share(self) -> float:
        """The largest entry, in single precision: just below 1/√m for m columns."""
        return float(np.nextafter(np.float32(1.0 / math.sqrt(self.numbers)), np.float32(0.0)))

    def own_columns(self) -> tuple[Column, ...]:
        """Return the number, and its excess over every knot."""
        knots = [values.written(knot) or repr(knot) for knot in self.knots]
        names = [self.field.name, *(f"{self.field.name} above {knot}" for knot in knots)]
        if isinstance(self.line, Unscaled):
            return tuple(map(Column, names))
        (whole,) = self.line.own_columns()
        scales = [whole.scale, *(self.line.high - k for k in self.knots)]
        offsets = [whole.offset, *(0.0 for _ in self.knots)]
        made = zip(names, scales, offsets, strict=True)
        return tuple(Column(name, scale / self.share, offset) for name, scale, offset in made)

    def write(self, arrays: Arrays, out: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Write the number and the excesses."""
        if isinstance(self.line, Unscaled):
            v = self.line.scaled(arrays)
            missing = np.isnan(v)
            out[:, 0] = v
            for j, knot in enumerate(self.knots, 1):
                out[:, j] = np.maximum(v - knot, 0.0)
        else:
            v = values.numbers(self.field.column(arrays), self.field)
            missing = np.isnan(v)
            out[:, 0] = np.where(missing, 0.0, self.line.within(v)) * self.share
            v = np.where(missing, self.line.low, np.clip(v, self.line.low, self.line.high))
            for j, knot in enumerate(self.knots, 1):
                excess = np.minimum(np.maximum(v - knot, 0.0) / (self.line.high - knot), 1.0)
                out[:, j] = excess * self.share
        return missing


@dataclass(frozen=True)
class Interaction(Encoder):
    """All products of a column of one field and one of another, and `=missing`.

    A field of two classes counts as 1 for the second and else 0. Where one of the two is missing,
    the products are `gap`: 0, or NaN in columns of numbers.
    """

    field: DerivedField
    factors: tuple[Encoder, Encoder]
    gap: float = 0.0

    @property
    def numbers(self) -> int:
        """All of them but `=missing`, unless both fields have categories only."""
        return 0 if all(map(_is_category, self.factors)) else len(self.own_columns())

    @property
    def has_means(self) -> bool:
        """True of a product of two numbers."""
        return all(isinstance(factor, Scaled | Unscaled) for factor in self.factors)

    def own_columns(self) -> tuple[Column, ...]:
        """Return the products, of numbers less the middles of their ranges."""
        numbers = [factor for factor in self.factors if not _is_category(factor)]
        scale = math.prod(factor.own_columns()[0].scale for factor in numbers)
        one, other = map(labels, self.factors)
        texts = [" and ".join(t for t in (a, b) if t is not None) for a in one for b in other]
        texts = [f"'{t}'" if t == MISSING_COLUMN else t for t in texts]
        names = (f"{self.field.name}={text}" if text else self.field.name for text in texts)
        return tuple(Column(name, scale) for name in names)

    def write(self, arrays: Arrays, out: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Write the products."""
        one, other = (_factor(f, [a]) for f, a in zip(self.factors, arrays, strict=True))
        with np.errstate(over="ignore"):
            products = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
        unknown: NDArray[np.bool_] = np.asarray(~np.isfinite(products).all(axis=1))
        products[unknown] = self.gap if self.numbers else 0.0
        out[:, : products.shape[1]] = products
        # A required value that is missing is the middle, as elsewhere.
        absent = [np.isnan(one[:, 0]), np.isnan(other[:, 0])]
        beyond = unknown & ~(absent[0] | absent[1])
        sides = zip(self.factors, absent, strict=True)
        optional = [rows for factor, rows in sides if not factor.field.required]
        return np.asarray(np.logical_or.reduce([beyond, *optional]))


def labels(encoder: Encoder) -> list[str | None]:
    """Return the categories of the columns of a factor; None for a number and for places."""
    names = list(encoder.field.category_names)
    if isinstance(encoder, Ranked):
        return [names[1] if encoder.levels == 2 else None]
    return [*names] if isinstance(encoder, Indicators) else [None]


def _is_category(encoder: Encoder) -> bool:
    return labels(encoder) != [None]


def _factor(encoder: Encoder, arrays: Arrays) -> NDArray[np.float64]:
    """Encode the columns of a factor, shape (rows, w); a missing value is NaN in all of them."""
    if isinstance(encoder, Scaled | Unscaled):
        return encoder.scaled(arrays)[:, None]
    assert isinstance(encoder, Ranked | Indicators)
    if isinstance(encoder, Ranked) and encoder.levels > 2:
        return encoder.scaled(arrays)[:, None]
    codes = values.codes(arrays[0], encoder.field)
    levels = [1] if isinstance(encoder, Ranked) else range(encoder.levels)
    columns = np.array([codes == k for k in levels], dtype=np.float64).T
    columns[codes == values.MISSING] = np.nan
    return columns


def feature_encoder(field: Field, *, scaled: bool = True) -> Encoder:
    """Choose how a field or a derived feature is encoded; see `encoder_of`."""
    made = field.derivation if isinstance(field, DerivedField) else None
    if isinstance(field, DerivedField) and isinstance(made, Knotted):
        line = encoder_of(field, scaled=scaled)
        assert isinstance(line, Scaled | Unscaled)
        if isinstance(line, Scaled):
            require_inner_knots(field, line.low, line.high, f"field {field.name}")
        return BrokenLine(field, line)
    if isinstance(field, DerivedField) and isinstance(made, Crossed):
        where = f" of {field.name}"
        one, other = (encoder_of(each, scaled=scaled, where=where) for each in made.sources)
        return Interaction(field, (one, other), 0.0 if scaled else math.nan)
    return encoder_of(field, scaled=scaled)


def declared(encoder: Encoder, content: Mapping[str, Any]) -> dict[str, Any]:
    """Declare a derived feature with the ranges that its encoder has.

    Parameters
    ----------
    encoder : Encoder
    content : mapping
        The schema, as JSON, that declares the feature.
    """
    (entry,) = (e for e in content[FEATURES] if e["name"] == encoder.field.name)
    numbers = _numbers_in(encoder)
    if isinstance(encoder, Interaction):
        ranges = {number.field.name: [number.low, number.high] for number in numbers}
        return {**entry, **({"ranges": ranges} if ranges else {})}
    ends = [{"minimum": number.low, "maximum": number.high} for number in numbers]
    return {**entry, **(ends[0] if ends else {})}


def ranges_of(encoder: Encoder) -> dict[str, tuple[float, float]]:
    """Return the ranges of the numbers of a feature; those of a product by factor and product."""
    where = f" in {encoder.field.name}" if isinstance(encoder, Interaction) else ""
    numbers = _numbers_in(encoder)
    return {f"{number.field.name}{where}": (number.low, number.high) for number in numbers}


def _numbers_in(encoder: Encoder) -> list[Scaled]:
    """List the numbers with a range that a feature has."""
    match encoder:
        case Interaction():
            parts: Sequence[Encoder] = encoder.factors
        case BrokenLine():
            parts = [encoder.line]
        case _:
            parts = [encoder]
    return [part for part in parts if isinstance(part, Scaled)]
