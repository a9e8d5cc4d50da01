"""`FieldRule`: each value is of exactly one of six kinds, by itself and the schema alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables import values
from mipselect.tables.dates import NO_POINT, seconds
from mipselect.tables.fields import POINTS, Field
from mipselect.tables.public_map import Ranges, checked_fields, checked_schema, with_ranges
from mipselect.tables.schema import TableSchema
from mipselect.tables.weights import WEIGHT

FINE, MISSING, BELOW, ABOVE, UNLISTED, UNREADABLE = range(6)
KINDS = ("fine", "missing", "below", "above", "unlisted", "unreadable")
"""Names of the kinds, by their numbers."""


@dataclass(frozen=True)
class FieldRule:
    """Rule that makes a value of a field one of a kind; all of it is public.

    Attributes
    ----------
    field : Field
    gap : str
        What a person has to write before the field can be used with ranges; "" if nothing.
    """

    field: Field
    gap: str = ""

    @property
    def name(self) -> str:
        """Name of the field."""
        return self.field.name

    @property
    def low(self) -> float | None:
        """Least value of a number without categories; that of a weight changes nothing."""
        return self.field.minimum if self.field.is_measured and not self.is_weight else None

    @property
    def high(self) -> float | None:
        """Greatest value of a number without categories."""
        return self.field.maximum if self.field.is_measured else None

    @property
    def is_weight(self) -> bool:
        """True of the survey weight of a row."""
        return self.field.role == WEIGHT

    @property
    def what(self) -> str:
        """Name of its values."""
        return "weights" if self.is_weight else "values"

    def kinds_of(self, column: pa.Array) -> NDArray[np.int8]:
        """Find the kind of every value, shape (rows,); no value raises an error."""
        if self.field.is_measured:
            numbers = values.numbers(column, self.field)
            kinds = np.where(np.isnan(numbers), MISSING, FINE).astype(np.int8)
            if self.high is not None:
                kinds[numbers > self.high] = ABOVE
            if self.low is not None:
                kinds[numbers < self.low] = BELOW
            if self.is_weight:
                kinds[numbers <= 0.0] = BELOW
        elif self.field.is_listed:
            codes = values.codes(column, self.field)
            absent = np.where(codes == values.MISSING, MISSING, UNLISTED)
            kinds = np.where(codes >= 0, FINE, absent).astype(np.int8)
        else:
            kinds = self._kinds_of_texts(column)
        if (kinds != FINE).any():
            kinds[values.unreadable(column, self.field)] = UNREADABLE
        return kinds

    def _kinds_of_texts(self, column: pa.Array) -> NDArray[np.int8]:
        """Tell values that are there from missing ones; a date must be one, as it is written."""
        plain = Field(self.name, "string", missing_values=self.field.missing_values)
        texts = values.identities(column, plain)
        kinds = np.zeros(len(texts), np.int8)
        kinds[values.unreadable(column, plain)] = UNREADABLE
        if self.field.type in POINTS:
            kinds[seconds(column, self.field) == NO_POINT] = UNREADABLE
        kinds[texts.is_null().to_numpy(zero_copy_only=False)] = MISSING
        return kinds


def rules_of(
    schema: TableSchema, never: Collection[str] = (), ranges: Ranges | None = None
) -> tuple[FieldRule, ...]:
    """Make the rules of all fields but those of `never`, ignored ones, and whose row it is.

    Raises
    ------
    InvalidInput
        For fields that the schema does not have, and ranges of others.
    """
    ranged = with_ranges(checked_schema(schema), ranges)
    left_out = checked_fields(schema, tuple(never), "never", None) | {*schema.ignored}
    sources = schema.only_read
    rules = tuple(
        FieldRule(each, "" if each.name in sources else each.gap)
        for each in ranged.fields
        if each.name not in left_out and each.name != schema.privacy_unit
    )
    if not rules:
        raise InvalidInput("the schema has no field besides those of never and the privacy unit")
    return rules
