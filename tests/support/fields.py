"""Fields of a schema, and schemas of fields, in few words."""

from __future__ import annotations

from typing import Any

from mipselect.tables import TableSchema

Entry = dict[str, Any]


def numeric(name: str, low: float, high: float, **more: Any) -> Entry:
    """A number with a range; `required` is one of its constraints."""
    constraints: Entry = {"minimum": low, "maximum": high}
    if "required" in more:
        constraints["required"] = more.pop("required")
    return {"name": name, "type": "number", "constraints": constraints, **more}


def listed(name: str, *categories: Any, **more: Any) -> Entry:
    """A text with categories."""
    return {"name": name, "type": "string", "categories": [*categories], **more}


def schema_of(*fields: Entry, **more: Any) -> TableSchema:
    """A schema of fields, and of properties of the table."""
    return TableSchema.of({**more, "fields": [*fields]})
