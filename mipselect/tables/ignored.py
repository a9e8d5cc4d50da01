"""Fields that are never features: the schema ignores them, and nothing is read of them."""

from __future__ import annotations

from collections.abc import Collection

from mipselect.errors import InvalidInput
from mipselect.tables.fields import ROLE
from mipselect.tables.schema import TableSchema
from mipselect.validation import shown


def refuse_ignored(schema: TableSchema, names: Collection[str], what: str) -> None:
    """Raise `InvalidInput` for a field that the schema ignores; `what` is what it would be."""
    for name in schema.ignored:
        if name in names:
            raise InvalidInput(
                f"{what}: {shown(name)} is ignored by the schema ({ROLE}); take the role out of "
                "the schema to use it"
            )
