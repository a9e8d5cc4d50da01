"""Titles and units of fields, as far as a release holds them."""

from __future__ import annotations

from collections.abc import Mapping

from mipselect.regression import ModelRelease
from mipselect.validation import printable


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


def _line(text: object) -> str:
    """Write a text of a schema as one printable line; "" for anything else."""
    return printable(" ".join(text.split())) if isinstance(text, str) else ""
