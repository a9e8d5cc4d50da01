"""Columns that may say whose row it is, where the schema does not: do their values repeat?

Without a privacy unit a guarantee is for one row. A person with several rows has less of it.
SENSITIVE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from mipselect.tables.check.findings import Finding, share_of
from mipselect.tables.described import MOST_VALUES, names_identities
from mipselect.tables.fields import IGNORED, ROLE, Field
from mipselect.tables.parts import Part
from mipselect.tables.people import PersonCounts
from mipselect.tables.schema import PRIVACY_UNIT, TableSchema

OF_IDENTITIES = ("string", "integer", "any")
"""Types of a field that may say whose row it is."""

MANY = 0.1
"""A column of identities has more different values than this share of the rows."""

OFTEN = 0.05
"""Share of rows with repeated values that is a finding where the name is not that of identities."""


def identities_beside(schema: TableSchema, parts: Sequence[Part]) -> list[PersonCounts]:
    """Begin counts for columns that may say whose row it is; none where the schema names one.

    These are ignored fields, texts without categories, and columns beside the schema with a name
    such as case_id.
    """
    if schema.privacy_unit is not None:
        return []
    known = {each.name for each in schema.fields}
    own = [
        each.name
        for each in schema.fields
        if each.type in OF_IDENTITIES
        and (each.role == IGNORED or (each.gap and not each.is_number))
    ]
    counts = Counter(name for part in parts for name in part.names)
    beside = [
        name
        for name, count in counts.items()
        if name not in known and count == len(parts) and names_identities(name)
    ]
    names = (*own, *beside)
    return [PersonCounts(Field(name, "string"), most=MOST_VALUES) for name in names]


@dataclass(frozen=True)
class IdentityCheck:
    """Repeated values of a column that may say whose row it is; sensitive.

    Attributes
    ----------
    name : str
    is_ignored : bool
        Whether the schema ignores it.
    identities, rows : int
        Different values, and rows that have one.
    repeated : int
        Rows whose value another row has too.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> case = {"name": "case_id", "type": "string", "mipselect:role": "ignored"}
    >>> age = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}
    >>> table = pa.table({"case_id": ["a", "b", "a"], "age": [3, 4, 5]})
    >>> (found,) = check_table(table, TableSchema.of({"fields": [case, age]})).identities
    >>> found.identities, found.repeated
    (2, 2)
    """

    name: str
    is_ignored: bool
    identities: int
    rows: int
    repeated: int

    @classmethod
    def of(cls, counts: PersonCounts, ignored: Collection[str]) -> IdentityCheck:
        """Return what was counted; `ignored` are the fields that are never features."""
        rows = [count for who, count in counts.rows.items() if who is not None]
        return cls(
            name=counts.unit.name,
            is_ignored=counts.unit.name in ignored,
            identities=len(rows),
            rows=sum(rows),
            repeated=sum(count for count in rows if count > 1),
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A line where values repeat as those of people with several rows do."""
        often = OFTEN * self.rows if not names_identities(self.name) else 0.0
        if self.identities <= MANY * self.rows or self.repeated <= often:
            return ()
        share = share_of(self.repeated / self.rows, "rows")
        role = f", and take its {ROLE} out" if self.is_ignored else ""
        return (
            Finding(
                self.name,
                f"{share} have a value that other rows have too; if it says whose row it is, "
                f"people have several rows, and the guarantee is for one row of each: write "
                f'"{PRIVACY_UNIT}": "{self.name}" in the schema{role}',
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON."""
        return {
            "name": self.name,
            "ignored": self.is_ignored,
            "different_values": self.identities,
            "rows": self.rows,
            "rows_with_repeated_values": self.repeated,
            "findings": [finding.text for finding in self.findings],
        }
