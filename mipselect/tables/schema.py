"""`TableSchema`: the public description of a table, a file in the Frictionless standard."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

from mipselect import disk
from mipselect.errors import InvalidInput, MipselectError
from mipselect.tables.fields import Field, field_of, values_of
from mipselect.validation import listed, shown

MOST_BYTES = 1 << 24
"""A schema file is written by people; more is something else."""

PRIVACY_UNIT = "csvw-eo:privacyUnit"


@dataclass(frozen=True)
class TableSchema:
    """What is public about a table: its fields, their ranges and categories.

    Attributes
    ----------
    fields : tuple of Field
        In the order of the file; their names differ.
    privacy_unit : str or None
        The field that says whose row it is (`csvw-eo:privacyUnit`).
    text : str
        The whole file as JSON, with the properties that are not used here.

    Notes
    -----
    Ranges and categories must be public knowledge: from a codebook, or from the design of the
    study. Taken from the data they break the promise of every release.

    References
    ----------
    Frictionless Table Schema, version 2 (datapackage.org); CSVW-EO for the privacy unit.
    """

    fields: tuple[Field, ...]
    privacy_unit: str | None
    text: str

    @classmethod
    def read(cls, path: str | Path) -> TableSchema:
        """Read a schema file.

        Raises
        ------
        InvalidInput
            Naming the file, the place in it, and what would be right.
        """
        path = Path(path)
        text = disk.small_text(path, MOST_BYTES)
        try:
            content = json.loads(
                text, parse_constant=_no_constant, object_pairs_hook=_without_repetition
            )
        except RecursionError:
            raise InvalidInput(f"{path}: not valid JSON: it is nested too deeply") from None
        except ValueError as error:
            raise InvalidInput(f"{path}: not valid JSON: {error}") from error
        try:
            return cls.of(content)
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error}") from error

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> TableSchema:
        """Make a schema of a JSON object; raise `InvalidInput` with the path into it."""
        if not isinstance(content, Mapping):
            raise InvalidInput("a table schema is a JSON object with fields")
        if "fields" not in content and "resources" in content:
            raise InvalidInput(
                "this is a data package; write the schema of one of its resources to a file"
            )
        for fault in _faults(content):
            raise InvalidInput(fault)
        missing = values_of(content.get("missingValues", [""]))
        fields = tuple(
            field_of(entry, missing, f"fields[{j}]") for j, entry in enumerate(content["fields"])
        )
        first: dict[str, int] = {}
        for j, field in enumerate(fields):
            if first.setdefault(field.name, j) != j:
                raise InvalidInput(
                    f"fields[{j}].name: field names must differ; fields[{first[field.name]}] is "
                    f"{shown(field.name)} too"
                )
        unit = content.get(PRIVACY_UNIT)
        if unit is not None and unit not in first:
            raise InvalidInput(f"{PRIVACY_UNIT}: {unknown_name(unit, first)}")
        return cls(fields, unit, json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def skeleton(cls, source: Any) -> TableSchema:
        """Begin a schema: the names and the physical types of a table's columns, nothing else.

        No value of the table is looked at, so there are no ranges and no categories: a person
        writes them, from public knowledge. A CSV file has no types; its fields are texts.

        Parameters
        ----------
        source : path or table
            See `mipselect.tables.sources.open_source`.
        """
        from mipselect.tables.sources import open_source

        part = open_source(source)[0]
        columns = zip(part.names, part.kinds, strict=True)
        fields = [{"name": name, "type": kind} for name, kind in columns]
        try:
            return cls.of({"fields": fields, "missingValues": [""]})
        except InvalidInput as error:
            raise InvalidInput(f"{part.label}: its columns make no schema: {error}") from error

    def write(self, path: str | Path) -> None:
        """Write the file, whole or not at all, with all that `read` found in it."""
        path = Path(path)
        try:
            disk.write_whole(path, self.text.encode())
        except OSError as error:
            raise MipselectError(f"{path} could not be written: {error}") from error

    @property
    def content(self) -> dict[str, Any]:
        """A new copy of the JSON object."""
        content: dict[str, Any] = json.loads(self.text)
        return content

    def field(self, name: str, what: str) -> Field:
        """Return a field by its name; `what` is how it is called in a message."""
        for field in self.fields:
            if field.name == name:
                return field
        raise InvalidInput(f"{what}: {unknown_name(name, [field.name for field in self.fields])}")


def unknown_name(name: object, known: Iterable[str]) -> str:
    """Say that there is no such field, and which there are."""
    names = list(known)
    close = difflib.get_close_matches(str(name), names, n=1)
    hint = f"; did you mean {shown(close[0])}?" if close else ""
    return f"the schema has no field {shown(name)}; its fields: {listed(names)}{hint}"


@cache
def _standard() -> Any:
    """The checker of what is used of the standard."""
    from jsonschema import Draft202012Validator

    text = resources.files("mipselect.tables").joinpath("table_schema.json").read_text("utf-8")
    return Draft202012Validator(json.loads(text))


def _faults(content: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with the shape of a file, each as one line, in the order of the file."""
    for error in sorted(_standard().iter_errors(content), key=lambda e: [str(k) for k in e.path]):
        path = ""
        for step in error.absolute_path:
            path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
        yield f"{path or 'the file'} {_wanted(error)}"


def _wanted(error: Any) -> str:
    """What would be right, from a message of `jsonschema`, in our words and without long values."""
    match error.validator:
        case "required":
            present = error.instance
            return f"lacks {', '.join(key for key in error.validator_value if key not in present)}"
        case "type":
            wanted = error.validator_value
            kinds = [wanted] if isinstance(wanted, str) else wanted
            return f"must be of type {' or '.join(kinds)}, got {shown(error.instance)}"
        case "enum":
            return f"must be one of {', '.join(error.validator_value)}, got {shown(error.instance)}"
        case "minimum" | "maximum":
            sign = "≥" if error.validator == "minimum" else "≤"
            return f"must be {sign} {error.validator_value:g}, got {shown(error.instance)}"
        case "minItems" | "minLength":
            return "must not be empty"
        case "maxLength":
            return f"must have at most {error.validator_value} letters, got {shown(error.instance)}"
        case _:
            return f"must be a value, or {{value, label}}, got {shown(error.instance)}"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"{shown(key)} stands twice in one object")
            seen.add(key)
    return content
