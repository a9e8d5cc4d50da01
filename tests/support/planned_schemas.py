"""Schemas of tables that are planned: numbers, and people with a target of two classes."""

from __future__ import annotations

from mipselect.tables import TableSchema

NUMBERS = TableSchema.of_numbers(dict.fromkeys(("a", "b", "c", "d", "e", "y"), (0.0, 10.0)))
PEOPLE = TableSchema.of(
    {
        "csvw-eo:privacyUnit": "id",
        "fields": [
            {"name": "id", "type": "string"},
            *(
                {"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": 1}}
                for name in ("a", "b", "c")
            ),
            {"name": "kind", "type": "string", "categories": ["u", "v", "w"]},
            {"name": "ill", "type": "string", "categories": ["no", "yes"]},
        ],
    }
)
