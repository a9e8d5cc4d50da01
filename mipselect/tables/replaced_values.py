"""`ReplacedValues`: where a prediction is from another value than stands in the table. SENSITIVE.

A model refuses no row. So a number that cannot be read, is missing or lies outside of the range is
replaced; anybody who predicts should know of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from mipselect.tables.field_rules import ABOVE, BELOW, MISSING, UNLISTED, UNREADABLE, FieldRule
from mipselect.tables.parts import positions_of

REPLACED = {
    "unreadable": ((UNREADABLE,), "values that cannot be read count as missing"),
    "missing": (
        (MISSING,),
        "values are missing where the schema requires them, and count as the middle",
    ),
    "outside": (
        (BELOW, ABOVE),
        "values outside of the range of the schema count as its nearest end",
    ),
    "unlisted": ((UNLISTED,), "values that are in no list count as the middle of those that are"),
}
"""The kinds of values that are replaced, and by what."""


@dataclass
class ReplacedValues:
    """Rows whose value of a field is replaced, by the kind and the field.

    Attributes
    ----------
    rules : sequence of FieldRule
        Those of the fields that are looked at, with the ranges that the schema states.
    rows : dict of str to Counter of str
        Numbers of rows by kind, then by field.
    in_no_category : Counter of str
        Numbers of rows, by field of categories without an order, with a value in no list, or none
        though one is required: it counts as no category.
    """

    rules: Sequence[FieldRule]
    rows: dict[str, Counter[str]] = field(
        default_factory=lambda: {kind: Counter[str]() for kind in REPLACED}
    )
    in_no_category: Counter[str] = field(default_factory=Counter)

    def add(self, batch: pa.RecordBatch, names: Sequence[str]) -> None:
        """Count the rows of a batch, whose columns begin with those of these names."""
        places = positions_of([rule.name for rule in self.rules], names)
        for rule, place in zip(self.rules, places, strict=True):
            kinds = rule.kinds_of(batch.column(place))
            for kind, (several, _) in REPLACED.items():
                if kind == "missing" and not rule.field.required:
                    continue
                if count := int(np.isin(kinds, several).sum()):
                    self.rows[kind][rule.name] += count

    @property
    def lines(self) -> Iterator[str]:
        """A line for every kind that there is, and for every field with values in no list."""
        for kind, counts in self.rows.items():
            if counts:
                fields = ", ".join(
                    f"{name} in {count:,} {'row' if count == 1 else 'rows'}"
                    for name, count in counts.items()
                )
                yield f"{REPLACED[kind][1]}: {fields}"
        for name, count in self.in_no_category.items():
            have = "1 row has" if count == 1 else f"{count:,} rows have"
            yield (
                f"{have} a value of {name} that is in no list of its schema, or none: what the "
                "model says of such a value is mostly noise, unless it was drawn from such rows too"
            )

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Return the numbers of rows by kind, ready for JSON."""
        return {kind: dict(counts) for kind, counts in self.rows.items()}
