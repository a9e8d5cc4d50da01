"""`PublicMap`: which field becomes which columns, known before a row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables.encoders import (
    Column,
    Encoder,
    Indicators,
    Ranked,
    Scaled,
    Unscaled,
    checked_range,
    encoder_of,
    unscaled_encoder_of,
)
from mipselect.tables.fields import Field
from mipselect.tables.schema import TableSchema
from mipselect.tables.units import Units
from mipselect.validation import LARGEST_SCALE, checked_name, checked_number, listed, shown

Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Target:
    """The target in [-1, 1]: a number by its range, or two classes as -1 and +1.

    Attributes
    ----------
    encoder : Scaled, Unscaled or Ranked
    classes : (str, str) or None
        The names of the classes that become -1 and +1.
    scale, offset : float
        y stands for offset + scale · y in units of the table; 1 and 0 for classes.
    """

    encoder: Scaled | Unscaled | Ranked
    classes: tuple[str, str] | None
    scale: float
    offset: float


@dataclass(frozen=True)
class PublicMap:
    """A public map of one row of a table into features of Euclidean norm at most 1.

    Attributes
    ----------
    features, always : tuple of Encoder
        The fields to choose from and those that are always in, in the order of the schema.
    target : Target
    unit : Field or None
        The field that says whose row it is.

    Examples
    --------
    >>> from mipselect.tables import PublicMap, TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("a", "b", "y"), (0, 10)))
    >>> public = PublicMap.of(schema, target="y", always=["b"])
    >>> [encoder.field.name for encoder in public.features]
    ['a']
    """

    features: tuple[Encoder, ...]
    always: tuple[Encoder, ...]
    target: Target
    unit: Field | None

    @classmethod
    def of(
        cls,
        schema: TableSchema,
        *,
        target: str,
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        ranges: Ranges | None = None,
    ) -> PublicMap:
        """Choose the fields; see `map_table` for the arguments.

        Raises
        ------
        InvalidInput
            Naming the fields of which the schema says too little, and what is lacking.
        """
        narrowed = _checked_ranges(_checked_schema(schema), ranges or {})

        def gap(field: Field) -> str:
            return "" if field.name in narrowed else field.gap

        def encoder(field: Field) -> Encoder:
            return encoder_of(field, narrowed)

        result = cls._made(schema, target, always, never, gap, encoder)
        used = {each.field.name for each in result.encoders}
        unused = sorted(set(narrowed) - used - {target})
        if unused:
            raise InvalidInput(f"ranges: fields that are not used: {listed(unused)}")
        return result

    @classmethod
    def without_ranges(
        cls,
        schema: TableSchema,
        *,
        target: str,
        always: Sequence[str] = (),
        never: Sequence[str] = (),
    ) -> PublicMap:
        """Choose the fields, and take numbers as they are; NaN where they are missing.

        Raises
        ------
        InvalidInput
            As `of`; no field needs a range.
        """
        return cls._made(
            _checked_schema(schema), target, always, never, _gap_but_ranges, unscaled_encoder_of
        )

    @classmethod
    def _made(
        cls,
        schema: TableSchema,
        target: str,
        always: Sequence[str],
        never: Sequence[str],
        gap: Callable[[Field], str],
        encoder: Callable[[Field], Encoder],
    ) -> PublicMap:
        aimed = schema.field(target, "target")
        _require_complete([aimed], gap)
        aim = _target_of(aimed, encoder(aimed))
        kept_in = _checked_names(schema, always, "always", target)
        left_out = _checked_names(schema, never, "never", target)
        both = sorted(kept_in & left_out)
        if both:
            raise InvalidInput(f"a field cannot be in always and in never: {listed(both)}")
        if schema.privacy_unit in kept_in or schema.privacy_unit == target:
            raise InvalidInput(
                f"{shown(schema.privacy_unit)} says whose row it is and cannot be used otherwise"
            )
        used = [
            field
            for field in schema.fields
            if field.name not in left_out and field.name not in (target, schema.privacy_unit)
        ]
        _require_complete(used, gap)
        encoders = [encoder(field) for field in used]
        features = tuple(e for e in encoders if e.field.name not in kept_in)
        if not features:
            raise InvalidInput("there is no field to choose from besides target, always and never")
        fixed = tuple(e for e in encoders if e.field.name in kept_in)
        unit = schema.privacy_unit
        result = cls(
            features, fixed, aim, None if unit is None else schema.field(unit, "privacy unit")
        )
        _require_names(result.columns)
        return result

    @property
    def encoders(self) -> tuple[Encoder, ...]:
        """All of them in the order of their columns: the features, then those always in."""
        return (*self.features, *self.always)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of X."""
        return tuple(column for encoder in self.encoders for column in encoder.columns())

    @property
    def blocks(self) -> tuple[range, ...]:
        """The columns of every encoder."""
        blocks, start = [], 0
        for encoder in self.encoders:
            width = len(encoder.columns())
            blocks.append(range(start, start + width))
            start += width
        return tuple(blocks)

    @property
    def dtype(self) -> type[np.float32] | type[np.float64]:
        """Type of the columns: double where numbers are as they are."""
        encoders = (*self.encoders, self.target.encoder)
        return np.float64 if any(isinstance(e, Unscaled) for e in encoders) else np.float32

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        unit = () if self.unit is None else (self.unit.name,)
        return (*self.inputs, self.target.encoder.field.name, *unit)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those of them that X is made of."""
        return tuple(encoder.field.name for encoder in self.encoders)

    @property
    def units(self) -> Units:
        """Map from the columns back to the units of the table."""
        return Units(
            columns=self.columns,
            target_name=self.target.encoder.field.name,
            target_scale=self.target.scale,
            target_offset=self.target.offset,
            classes=self.target.classes,
            unit="row" if self.unit is None else self.unit.name,
            always_names=tuple(encoder.field.name for encoder in self.always),
        )

    def encode(
        self, batch: pa.RecordBatch, X: NDArray[np.floating[Any]], y: NDArray[np.float64]
    ) -> None:
        """Map a batch, whose columns are `names`, to rows of X and y; a missing y is NaN."""
        self.encode_inputs(batch, X)
        y[:] = self.target.encoder.scaled(batch.column(len(self.encoders)))

    def encode_inputs(self, batch: pa.RecordBatch, X: NDArray[np.floating[Any]]) -> None:
        """Map a batch, whose columns begin with `inputs`, to rows of X."""
        for k, (encoder, block) in enumerate(zip(self.encoders, self.blocks, strict=True)):
            encoder.encode(batch.column(k), X[:, block.start : block.stop])


def _target_of(field: Field, encoder: Encoder) -> Target:
    if isinstance(encoder, Indicators):
        raise InvalidInput(
            f"the target {shown(field.name)} must be a number with a range, ordered categories or "
            f"two classes; its schema has {encoder.levels} categories without an order: for one of "
            "them against the rest give the table and the schema a field of two classes"
        )
    assert isinstance(encoder, Scaled | Unscaled | Ranked)
    if isinstance(encoder, Ranked) and encoder.levels == 2:
        low, high = field.category_names[:2]
        return Target(encoder, (low, high), 1.0, 0.0)
    (column, *_) = encoder.columns()
    return Target(encoder, None, column.scale, column.offset)


def _checked_schema(schema: TableSchema) -> TableSchema:
    if not isinstance(schema, TableSchema):
        raise InvalidInput(
            f"schema must be a TableSchema, such as TableSchema.read(path); got {shown(schema)}"
        )
    return schema


def _gap_but_ranges(field: Field) -> str:
    return "" if field.is_number else field.gap


def _checked_ranges(schema: TableSchema, ranges: Ranges) -> Ranges:
    """Ranges of the question, in place of those of the table."""
    result = {}
    for name, ends in ranges.items():
        field = schema.field(name, "ranges")
        what = f"ranges: field {name}"
        if not field.is_number or field.categories is not None:
            raise InvalidInput(f"{what} must be one of numbers without categories")
        if isinstance(ends, str) or not isinstance(ends, Sequence) or len(ends) != 2:
            raise InvalidInput(f"{what} must be two numbers (lo, hi), got {shown(ends)}")
        wanted = f"a number between {-LARGEST_SCALE:g} and {LARGEST_SCALE:g}"
        low, high = (
            checked_number(end, what, wanted, lambda v: abs(v) <= LARGEST_SCALE) for end in ends
        )
        result[name] = checked_range(low, high, what)
    return result


def _checked_names(
    schema: TableSchema, names: Sequence[str], what: str, target: str
) -> frozenset[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput(f"{what} must be a list of field names, got {shown(names)}")
    result = frozenset(schema.field(name, what).name for name in names)
    if target in result:
        raise InvalidInput(f"the target {shown(target)} cannot be in {what}")
    return result


def _require_complete(fields: Sequence[Field], gap: Callable[[Field], str]) -> None:
    """Raise `InvalidInput` for all fields of which the schema says too little."""
    lacking = [f for f in fields if gap(f)]
    if lacking:
        says = "; ".join(f"{shown(f.name)} needs {gap(f)}" for f in lacking[:10])
        more = f" and {len(lacking) - 10} more" if len(lacking) > 10 else ""
        raise InvalidInput(
            "the schema says too little of fields that are used (fill it in from public "
            f"knowledge, or leave the fields out with never): {says}{more}"
        )


def _require_names(columns: Sequence[Column]) -> None:
    seen: set[str] = set()
    for column in columns:
        checked_name(column.name, "the name of a column, made of a field and a category,")
        if column.name in seen:
            raise InvalidInput(
                f"two columns would be called {shown(column.name)}; rename a field or a category"
            )
        seen.add(column.name)
