"""Titles and units of a schema, for a release whose fields have nothing but names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.reports.field_words import words_of
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_name, shown

TITLES = ("title", "unit")


def titles_of(path: Path | None) -> dict[str, Any]:
    """Return titles and units by field for the JSON object of a release; empty without any."""
    if path is None:
        return {}
    found = {}
    for entry in TableSchema.read(path).content["fields"]:
        told = {key: entry[key] for key in TITLES if isinstance(entry.get(key), str)}
        if told:
            found[entry["name"]] = told
    return {"titles": found} if found else {}


def titles_in_words(report: Mapping[str, Any]) -> dict[str, str]:
    """Read titles and units by field from a JSON object of `titles_of`.

    Raises
    ------
    InvalidInput
        If it is none.
    """
    titles = report.get("titles") or {}
    if not isinstance(titles, dict) or not all(isinstance(e, dict) for e in titles.values()):
        raise InvalidInput(f"titles must be objects by field, got {shown(titles)}")
    return {checked_name(name, "titles"): words_of(entry) for name, entry in titles.items()}
