"""`InputMap`: fields of a table as columns, known before a row is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables.encoders import (
    Column,
    Encoder,
    checked_range,
    encoder_of,
    places_of_columns,
)
from mipselect.tables.fields import IGNORED, ROLE, Field
from mipselect.tables.schema import TableSchema
from mipselect.validation import LARGEST_SCALE, checked_name, checked_number, listed, shown

Ranges = Mapping[str, tuple[float, float]]
AnyField = TypeVar("AnyField", bound=Field)


@dataclass(frozen=True)
class InputMap:
    """A public map of the fields of one row into columns; no target is known.

    Attributes
    ----------
    features, always : tuple of Encoder
        The fields to choose from and those that are always in, in the order of the schema.
    """

    features: tuple[Encoder, ...]
    always: tuple[Encoder, ...]

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
        return places_of_columns(self.encoders)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The fields, or derived features, of all encoders."""
        return tuple(encoder.field.name for encoder in self.encoders)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the table that X is made of, each once."""
        return tuple(dict.fromkeys(encoder.field.source.name for encoder in self.encoders))

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """The place among `inputs` of what every encoder reads."""
        place = {name: k for k, name in enumerate(self.inputs)}
        return tuple(place[encoder.field.source.name] for encoder in self.encoders)

    def stored(self, batch: pa.RecordBatch, k: int) -> pa.Array:
        """Return what the k-th encoder reads of a batch, whose columns begin with `inputs`."""
        return batch.column(self._places[k])

    def encode_inputs(self, batch: pa.RecordBatch, X: NDArray[np.floating[Any]]) -> None:
        """Map a batch, whose columns begin with `inputs`, to rows of X."""
        for k, (encoder, block) in enumerate(zip(self.encoders, self.blocks, strict=True)):
            encoder.encode(self.stored(batch, k), X[:, block.start : block.stop])


def input_map(
    schema: TableSchema,
    *,
    target: str | None = None,
    never: Sequence[str] = (),
    ranges: Ranges | None = None,
) -> InputMap:
    """Choose all fields of a schema but the target and those of `never`; none is always in.

    A survey weight is no feature, and is left out.

    Raises
    ------
    InvalidInput
        Naming the fields of which the schema says too little, and what is lacking.
    """
    schema = with_ranges(checked_schema(schema), ranges)
    if target is not None:
        schema.field(target, "target")
        schema.refuse_ignored({target}, "target")
    left_out = checked_fields(schema, never, "never", target)
    used = used_fields(schema, target, {*left_out, schema.weight_name})
    require_complete(used)
    require_used(ranges, {field.name for field in used})
    if not used:
        raise InvalidInput("the schema has no field besides target and never")
    result = InputMap(tuple(map(encoder_of, used)), ())
    require_names(result.columns)
    return result


def used_fields(
    schema: TableSchema, target: str | None, left_out: Collection[str | None]
) -> list[Field]:
    """Return the used fields and derived features, in their order, without the target.

    Left out is what is made of a column that the target is made of, fields of dates and times
    that are there for derived features, and what the schema ignores.
    """
    aimed = None if target is None else schema.field(target, "target").source.name
    apart = {*left_out, *schema.only_read, *schema.ignored, target}
    return [
        field for field in schema.features if field.name not in apart and field.source.name != aimed
    ]


def checked_schema(schema: TableSchema, what: str = "schema") -> TableSchema:
    """Return it; raise `InvalidInput` for what is no `TableSchema`, or types nobody confirmed."""
    if not isinstance(schema, TableSchema):
        raise InvalidInput(
            f"{what} must be a TableSchema, such as TableSchema.read(path); got {shown(schema)}"
        )
    proposed = [field.name for field in schema.fields if field.type_proposed]
    if proposed:
        raise InvalidInput(
            f"{what}: the types of {listed(proposed)} were proposed from the data, and nobody has "
            "confirmed that they are public: 'mipselect schema confirm FILE' lists and confirms "
            "them"
        )
    return schema


def with_ranges(schema: TableSchema, ranges: Ranges | None) -> TableSchema:
    """Give fields the ranges of the question in place of their own; the text of the file stays.

    Raises
    ------
    InvalidInput
        For a range that is none, and for a field that has none of its own.
    """
    if not ranges:
        return schema
    schema.refuse_ignored(ranges, "ranges")
    checked: dict[str, tuple[float, float]] = {}
    for name, ends in ranges.items():
        field = schema.field(name, "ranges")
        what = f"ranges: field {name}"
        if not field.is_measured:
            raise InvalidInput(f"{what} must be one of numbers without categories")
        if isinstance(ends, str) or not isinstance(ends, Sequence) or len(ends) != 2:
            raise InvalidInput(f"{what} must be two numbers (lo, hi), got {shown(ends)}")
        wanted = f"a number between {-LARGEST_SCALE:g} and {LARGEST_SCALE:g}"
        low, high = (
            checked_number(end, what, wanted, lambda v: abs(v) <= LARGEST_SCALE) for end in ends
        )
        checked[name] = checked_range(low, high, what)

    def ranged(field: AnyField) -> AnyField:
        low, high = checked.get(field.name, (field.minimum, field.maximum))
        return replace(field, minimum=low, maximum=high)

    fields, derived = map(ranged, schema.fields), map(ranged, schema.derived)
    return replace(schema, fields=tuple(fields), derived=tuple(derived))


def require_used(ranges: Ranges | None, used: Collection[str]) -> None:
    """Raise `InvalidInput` if there are ranges of other fields."""
    unused = sorted(set(ranges or ()) - set(used))
    if unused:
        raise InvalidInput(f"ranges: fields that are not used: {listed(unused)}")


def checked_fields(
    schema: TableSchema, names: Sequence[str], what: str, target: str | None
) -> frozenset[str]:
    """Return names of fields; `what` is how a message calls them."""
    result = frozenset(schema.field(name, what).name for name in field_names(names, what))
    if target in result:
        raise InvalidInput(f"the target {shown(target)} cannot be in {what}")
    return result


def field_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the names of a list; raise `InvalidInput` for what is none, such as a single name."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput(f"{what} must be a list of field names, got {shown(names)}")
    return tuple(names)


def require_complete(fields: Sequence[Field], *, scaled: bool = True) -> None:
    """Raise `InvalidInput` for all fields of which the schema says too little.

    Numbers that are not scaled need no range.
    """
    lacking = [f for f in fields if f.gap and (scaled or not f.is_number)]
    if lacking:
        says = "; ".join(f"{shown(f.name)} needs {f.gap}" for f in lacking[:10])
        more = f" and {len(lacking) - 10} more" if len(lacking) > 10 else ""
        raise InvalidInput(
            "the schema says too little of fields that are used (fill it in from public "
            "knowledge, or leave the fields out with never, and identifiers for good with "
            f"{ROLE} {IGNORED!r} in the schema): {says}{more}"
        )


def require_names(columns: Sequence[Column]) -> None:
    """Raise `InvalidInput` unless columns have names that are texts and differ."""
    seen: set[str] = set()
    for column in columns:
        checked_name(column.name, "the name of a column, made of a field and a category,")
        if column.name in seen:
            raise InvalidInput(
                f"two columns would be called {shown(column.name)}; rename a field or a category"
            )
        seen.add(column.name)
