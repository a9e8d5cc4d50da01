"""Summary of a schema for people: how many fields it has, and what is left for them to do."""

from __future__ import annotations

from typing import Any

from mipselect.tables.schema import TableSchema
from mipselect.validation import listed


def summary(schema: TableSchema) -> dict[str, Any]:
    """Return the number of fields, what they lack, and those whose type is to be confirmed."""
    apart = {*schema.only_read, schema.privacy_unit}
    gaps = {field.name: field.gap for field in schema.fields if field.name not in apart}
    return {
        "fields": len(schema.fields),
        "to_fill_in": {name: gap for name, gap in gaps.items() if gap},
        "to_confirm": [field.name for field in schema.fields if field.type_proposed],
    }


def in_words(found: dict[str, Any]) -> str:
    """Return a summary as one line."""
    parts = [_counted(found["fields"], "field")]
    if found["to_fill_in"]:
        parts.append(f"to fill in: {listed(list(found['to_fill_in']))}")
    if found["to_confirm"]:
        parts.append(f"types to confirm: {listed(found['to_confirm'])}")
    return "; ".join(parts)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
