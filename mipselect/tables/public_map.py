"""`PublicMap`: which field becomes which columns, known before a row is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.docstrings import completed_by
from mipselect.errors import InvalidInput
from mipselect.tables.encoders import Encoder, Indicators, OneNumber, Ranked, encoder_of
from mipselect.tables.fields import Field
from mipselect.tables.input_map import (
    InputMap,
    Ranges,
    checked_fields,
    checked_schema,
    require_complete,
    require_names,
    require_used,
    used_fields,
    with_ranges,
)
from mipselect.tables.schema import TableSchema, roles_of, unit_of
from mipselect.tables.units import Units
from mipselect.tables.weights import weight_shares
from mipselect.validation import listed, shown


@dataclass(frozen=True)
class Target:
    """The target in [-1, 1]: a number by its range, or two classes as -1 and +1.

    Attributes
    ----------
    encoder : OneNumber
        Scaled, Unscaled or Ranked.
    classes : (str, str) or None
        The names of the classes that become -1 and +1.
    scale, offset : float
        y stands for offset + scale · y in units of the table; 1 and 0 for classes.
    """

    encoder: OneNumber
    classes: tuple[str, str] | None
    scale: float
    offset: float

    def given(self, y: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which rows of y, as `PublicMap.encode` maps it, have a target, shape (n,).

        A class that is in no list is none.
        """
        there: NDArray[np.bool_] = ~np.isnan(y)
        return there if self.classes is None else there & (y != 0.0)


@completed_by(InputMap)
@dataclass(frozen=True)
class PublicMap(InputMap):
    """A public map of one row of a table into features of Euclidean norm at most 1.

    Attributes
    ----------
    target : Target
    unit : Field or None
        The field that says whose row it is.
    weight : Field or None
        The field that says how much a row counts; it is no feature.
    ignored : tuple of str
        Columns that the table must have, and of which nothing is read.
    unit_rule : {"first", "last", "mean"}
        What becomes of several rows of one person.

    Examples
    --------
    >>> from mipselect.tables import PublicMap, TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("a", "b", "y"), (0, 10)))
    >>> public = PublicMap.of(schema, target="y", always=["b"])
    >>> [encoder.field.name for encoder in public.features]
    ['a']
    """

    target: Target
    unit: Field | None
    weight: Field | None = None
    ignored: tuple[str, ...] = ()
    unit_rule: str = "first"

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
        ranged = with_ranges(checked_schema(schema), ranges)
        result = cls._made(ranged, target, always, never, scaled=True)
        require_used(ranges, {each.field.name for each in result.encoders} | {target})
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
        return cls._made(checked_schema(schema), target, always, never, scaled=False)

    @classmethod
    def _made(
        cls,
        schema: TableSchema,
        target: str,
        always: Sequence[str],
        never: Sequence[str],
        *,
        scaled: bool,
    ) -> PublicMap:
        aimed = schema.field(target, "target")
        _require_no_weight(schema.weight, {target})
        schema.refuse_ignored({target}, "target")
        require_complete([aimed], scaled=scaled)
        aim = _target_of(aimed, encoder_of(aimed, scaled=scaled))
        kept_in = checked_fields(schema, always, "always", target)
        left_out = checked_fields(schema, never, "never", target)
        schema.refuse_ignored(kept_in, "always")
        both = sorted(kept_in & left_out)
        if both:
            raise InvalidInput(f"a field cannot be in always and in never: {listed(both)}")
        if schema.privacy_unit in kept_in or schema.privacy_unit == target:
            raise InvalidInput(
                f"the person column {shown(schema.privacy_unit)} says whose row it is and cannot "
                "be used otherwise"
            )
        _require_no_weight(schema.weight, {*kept_in, *left_out})
        apart = {*left_out, schema.privacy_unit, schema.weight_name}
        used = used_fields(schema, target, apart)
        for name in sorted(kept_in - {field.name for field in used}):
            if name in schema.only_read:
                raise InvalidInput(f"always: {shown(name)} {schema.field(name, 'always').gap}")
            raise InvalidInput(
                f"always: {shown(name)} is made of what the target {shown(target)} is made of"
            )
        require_complete(used, scaled=scaled)
        encoders = [encoder_of(field, scaled=scaled) for field in used]
        features = tuple(e for e in encoders if e.field.name not in kept_in)
        if not features:
            raise InvalidInput("there is no field to choose from besides target, always and never")
        fixed = tuple(e for e in encoders if e.field.name in kept_in)
        result = cls(features, fixed, aim, unit_of(schema), schema.weight, schema.ignored)
        require_names(result.columns)
        return result

    @property
    def dtype(self) -> type[np.float32] | type[np.float64]:
        """Type of the columns: double where numbers are as they are."""
        # Places are scaled, also where a missing one is NaN.
        encoders = [e for e in (*self.encoders, self.target.encoder) if not isinstance(e, Ranked)]
        return np.float64 if any(math.isnan(e.gap) for e in encoders) else np.float32

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are read; those of X, of the target and of the unit."""
        apart = (field.name for field in (self.weight, self.unit) if field is not None)
        return (*self.inputs, self.target.encoder.field.source.name, *apart)

    @property
    def roles(self) -> Mapping[str, str]:
        """Roles of the columns that are no features, for messages."""
        return roles_of(self.unit, self.weight)

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
            weight_name=None if self.weight is None else self.weight.name,
            unit_rule=self.unit_rule,
        )

    def shares(self, batch: pa.RecordBatch) -> NDArray[np.float64] | None:
        """Return the shares by which rows of a batch count, in [0, 1]; NaN for a missing weight."""
        if self.weight is None:
            return None
        return weight_shares(batch.column(len(self.inputs) + 1), self.weight)

    def encode(
        self, batch: pa.RecordBatch, X: NDArray[np.floating[Any]], y: NDArray[np.float64]
    ) -> None:
        """Map a batch, whose columns are `names`, to rows of X and y; a missing y is NaN."""
        self.encode_inputs(batch, X)
        y[:] = self.targets(batch)

    def targets(self, batch: pa.RecordBatch) -> NDArray[np.float64]:
        """Map the target of a batch, whose columns are `names`, to [-1, 1]; NaN where missing."""
        return self.target.encoder.scaled(batch.column(len(self.inputs)))


def _target_of(field: Field, encoder: Encoder) -> Target:
    if isinstance(encoder, Indicators):
        raise InvalidInput(
            f"the target {shown(field.name)} must be a number with a range, ordered categories or "
            f"two classes; its schema has {encoder.levels} categories without an order: for one of "
            "them against the rest give the table and the schema a field of two classes"
        )
    if isinstance(encoder, Ranked) and encoder.levels == 2:
        low, high = field.category_names[:2]
        if field.type == "boolean":
            low, high = field.false_values[0], field.true_values[0]
        return Target(encoder, (low, high), 1.0, 0.0)
    assert isinstance(encoder, OneNumber)
    column = encoder.columns()[0]
    return Target(encoder, None, column.scale, column.offset)


def _require_no_weight(weight: Field | None, others: set[str]) -> None:
    if weight is not None and weight.name in others:
        raise InvalidInput(
            f"{shown(weight.name)} is the survey weight (mipselect:role) and can be neither the "
            "target nor in always or never; take the role out of the schema to use it otherwise"
        )
