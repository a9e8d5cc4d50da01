"""Codebooks in files, of every format, as properties of the fields of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from mipselect.errors import InvalidInput, about
from mipselect.json_objects import read_json
from mipselect.tables.codebooks import NO_CODEBOOK, Codebook
from mipselect.tables.csvw import csvw_codebook, csvw_tables
from mipselect.tables.ddi import ddi_codebook
from mipselect.tables.schema import TableSchema
from mipselect.tables.sources import open_source
from mipselect.tables.table_file import TableFile
from mipselect.validation import listed, shown

MOST_BYTES = 1 << 26
PACKAGE, METADATA = "datapackage.json", "csv-metadata.json"
"""Names that the standards give to files beside the data."""

OF_HEADERS = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")

KNOWN = (
    "a Table Schema or a data package of Frictionless, metadata of CSVW (JSON), or a codebook of "
    "DDI (XML)"
)


def read_codebook(path: str | Path, source: TableFile) -> Codebook:
    """Read what somebody wrote down of a table.

    Parameters
    ----------
    path : str or Path
        Path of a codebook: .json or .xml; or a file of SPSS, Stata or SAS, whose header has one.
    source : TableFile
        The table, of which the header is looked at.

    Raises
    ------
    InvalidInput
        Naming the file, and what is wrong in it.
    """
    path = Path(path)
    if path.name.lower().endswith(OF_HEADERS):
        (part,) = open_source(path)
        fields = dict(zip(part.names, part.fields, strict=True))
        return Codebook(str(path), fields, notes=part.notes)
    names = [name for part in open_source(source)[:1] for name in part.names]
    if path.suffix.lower() == ".xml":
        return ddi_codebook(path, names)
    content = read_json(path, MOST_BYTES)
    file = PurePosixPath(str(source.path)).name
    with about(str(path)):
        return _of_json(content, path, file, names)


def codebook_beside(source: TableFile) -> Codebook:
    """Read a data package or metadata of CSVW that stand beside a file and describe it.

    One that cannot be read is a note.
    """
    path = Path(source.path)
    if "://" in str(source.path) or not path.is_file():
        return NO_CODEBOOK
    for name, describes in (
        (PACKAGE, _package_has),
        (f"{path.name}-metadata.json", lambda content, file: True),
        (METADATA, _metadata_have),
    ):
        beside = path.with_name(name)
        if not beside.is_file():
            continue
        try:
            if describes(read_json(beside, MOST_BYTES), path.name):
                return read_codebook(beside, source)
        except InvalidInput as error:
            return Codebook(notes=(f"a codebook beside the table is not used: {error}",))
    return NO_CODEBOOK


def _of_json(content: Any, path: Path, file: str, names: Sequence[str]) -> Codebook:
    if not isinstance(content, Mapping):
        raise InvalidInput(f"is none of {KNOWN}")
    if "fields" in content:
        return _of_schema(content, str(path))
    if "resources" in content:
        return _of_schema(_schema_of_resource(content, path, file), str(path))
    tables = csvw_tables(content)
    if tables:
        return csvw_codebook(tables, str(path), file, names)
    raise InvalidInput(f"is none of {KNOWN}")


def _of_schema(content: Any, label: str) -> Codebook:
    """Read a Table Schema, with all that it says of fields and of the table."""
    found = TableSchema.of(content).content
    fields = {
        field["name"]: {key: value for key, value in field.items() if key != "name"}
        for field in found["fields"]
    }
    table = {key: value for key, value in found.items() if key not in ("fields", "$schema")}
    return Codebook(label, fields, {"missingValues": [""], **table})


def _schema_of_resource(content: Mapping[str, Any], path: Path, file: str) -> Any:
    """Find the schema of the resource of a data package that is this file, or of its only one."""
    resources = [each for each in _list(content["resources"]) if isinstance(each, Mapping)]
    chosen = [each for each in resources if file in _files(each)] or resources
    if len(chosen) != 1:
        known = [str(each.get("name", "?")) for each in resources]
        raise InvalidInput(f"must have one resource that is {shown(file)}; it has {listed(known)}")
    schema = chosen[0].get("schema")
    if isinstance(schema, str):
        if "://" in schema or ".." in schema or schema.startswith("/"):
            raise InvalidInput(f"its schema {shown(schema)} is elsewhere; give that as --codebook")
        return read_json(path.with_name(schema), MOST_BYTES)
    if not isinstance(schema, Mapping):
        raise InvalidInput(f"the resource {shown(chosen[0].get('name', '?'))} has no schema")
    return schema


def _files(resource: Mapping[str, Any]) -> list[str]:
    """List the names of the files of a resource, without their folders."""
    return [PurePosixPath(str(each)).name for each in _list(resource.get("path", []))]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _package_has(content: Any, file: str) -> bool:
    resources = _list(content.get("resources")) if isinstance(content, Mapping) else []
    return any(isinstance(each, Mapping) and file in _files(each) for each in resources)


def _metadata_have(content: Any, file: str) -> bool:
    tables = csvw_tables(content) if isinstance(content, Mapping) else []
    return any(PurePosixPath(str(each.get("url", ""))).name == file for each in tables)
