"""`TableQuestion`: what is asked of a table with a schema, said and checked once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from mipselect.tables.input_map import Ranges, checked_schema, field_names
from mipselect.tables.people import checked_rule
from mipselect.tables.public_map import PublicMap
from mipselect.tables.schema import TableSchema
from mipselect.validation import set_fields


@dataclass(frozen=True)
class TableQuestion:
    """A target, and the fields that it is to be predicted from; all of it is public.

    Attributes
    ----------
    schema : TableSchema
    target : str
    always, never : tuple of str
        Fields that are always in, or left out.
    ranges : mapping of str to (float, float)
        Ranges in place of those of the schema.
    unit_rule : {"first", "last", "mean"}
        What becomes of several rows of one person.

    Raises
    ------
    InvalidInput
        For what is no schema, and for a rule that is unknown or has no person to be about; for the
        rest where a map is made of it.

    Examples
    --------
    >>> from mipselect.tables import TableSchema
    >>> from mipselect.tables.question import TableQuestion
    >>> schema = TableSchema.of_numbers({"age": (0, 100), "dose": (0, 9), "days": (0, 30)})
    >>> question = TableQuestion(schema, "days", always=["age"])
    >>> [encoder.field.name for encoder in question.public.features]
    ['dose']
    """

    schema: TableSchema
    target: str
    always: Sequence[str] = ()
    never: Sequence[str] = ()
    ranges: Ranges = field(default_factory=dict)
    unit_rule: str = "first"

    def __post_init__(self) -> None:
        checked_rule(self.unit_rule, checked_schema(self.schema).privacy_unit)
        set_fields(
            self,
            always=field_names(self.always, "always"),
            never=field_names(self.never, "never"),
            ranges=dict(self.ranges),
        )

    @cached_property
    def public(self) -> PublicMap:
        """The map of a row into [-1, 1]; `InvalidInput` for what is wrong with the question."""
        public = PublicMap.of(
            self.schema,
            target=self.target,
            always=self.always,
            never=self.never,
            ranges=self.ranges,
        )
        return replace(public, unit_rule=self.unit_rule)

    @cached_property
    def without_ranges(self) -> PublicMap:
        """The map of a row that takes numbers as they are; no range is used."""
        public = PublicMap.without_ranges(
            self.schema, target=self.target, always=self.always, never=self.never
        )
        return replace(public, unit_rule=self.unit_rule)

    def of_moments(self, always: Sequence[str] = (), never: Sequence[str] = ()) -> TableQuestion:
        """Return it with fields always in, and others left out as well; with them their ranges."""
        left_out = (*self.never, *never)
        ranges = {name: ends for name, ends in self.ranges.items() if name not in left_out}
        return replace(self, always=always, never=left_out, ranges=ranges)

    def about(self, used: Collection[str]) -> TableQuestion:
        """Return it about these fields, the target among them, and no other.

        Whose row it is, and how much it counts, remains known.
        """
        schema, ranges = self.schema, self.ranges
        kept = {*used, schema.privacy_unit, schema.weight_name}
        return replace(
            self,
            never=[each.name for each in schema.features if each.name not in kept],
            ranges={name: ends for name, ends in ranges.items() if name in used},
        )
