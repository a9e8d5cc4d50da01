"""Summary of a schema for people: how many fields it has, and what is left for them to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from mipselect.cli.options import Delivery
from mipselect.cli.output import line
from mipselect.tables.schema import TableSchema
from mipselect.validation import listed


def deliver_summary(
    schema: TableSchema, head: Mapping[str, Any], about: str, delivery: Delivery, *more: str
) -> None:
    """Print what a file holds, in the words `about` and a summary, and lines that follow it."""
    apart = {*schema.only_read, schema.privacy_unit}
    gaps = {
        field.name: field.gap for field in schema.fields if field.name not in apart and field.gap
    }
    to_confirm = [field.name for field in schema.fields if field.type_proposed]
    count = len(schema.fields)
    parts = [f"{count} field{'s' * (count != 1)}"]
    if gaps:
        parts.append(f"to fill in: {listed(list(gaps))}")
    if to_confirm:
        parts.append(f"types to confirm: {listed(to_confirm)}")

    def render(console: Console) -> None:
        for text in (f"{about} {'; '.join(parts)}", *more):
            line(console, text)

    found = {"fields": count, "to_fill_in": gaps, "to_confirm": to_confirm}
    delivery.deliver({**head, **found}, render)
