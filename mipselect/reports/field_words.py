"""Titles and units of fields, as far as a release holds them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.regression import ModelRelease
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_name, printable, shown

TITLES = ("title", "unit")


def field_words(model: ModelRelease) -> dict[str, str]:
    """Return title and unit of the fields of a model, in words; "" where its schema has none."""
    if model.table is None:
        return {}
    return {entry["name"]: words_of(entry) for entry in model.table.schema.content["fields"]}


def unit_of_target(model: ModelRelease) -> str:
    """Write the unit of the target as the end of a phrase; "" for classes and unknown units."""
    if model.table is None or model.classes is not None:
        return ""
    for entry in model.table.schema.content["fields"]:
        if entry["name"] == model.table.target and (unit := _line(entry.get("unit"))):
            return f", in {unit}"
    return ""


def words_of(entry: Mapping[str, object]) -> str:
    """Write title and unit of a field of a schema; "" where it has none."""
    title, unit = _line(entry.get("title")), _line(entry.get("unit"))
    return f"{title}, in {unit}" if title and unit else title or (unit and f"in {unit}")


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


def _line(text: object) -> str:
    """Write a text of a schema as one printable line; "" for anything else."""
    return printable(" ".join(text.split())) if isinstance(text, str) else ""
