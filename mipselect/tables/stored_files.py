"""Tables in files, one or many, here or at a URL: which kind each is, and its header."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs, ipc, parquet

from mipselect.errors import InvalidInput
from mipselect.tables.csv_rows import SAVE_AS_UTF8, CsvRows
from mipselect.tables.excel_files import excel_part
from mipselect.tables.parts import (
    ROWS,
    Part,
    Place,
    Read,
    arrow_part,
    pieces,
    place_of,
    refuse_twice,
)
from mipselect.tables.stat_files import stat_part
from mipselect.tables.table_file import COMMA, TableFile, is_one_byte
from mipselect.validation import shown

CSV, PARQUET, IPC, STAT, EXCEL = "CSV", "Parquet", "Arrow", "SPSS, Stata or SAS", "Excel"
ENDINGS = {
    ".csv": CSV,
    ".csv.gz": CSV,
    ".parquet": PARQUET,
    ".sav": STAT,
    ".zsav": STAT,
    ".dta": STAT,
    ".sas7bdat": STAT,
    ".xpt": STAT,
    ".xlsx": EXCEL,
    ".xlsm": EXCEL,
    ".pq": PARQUET,
    ".arrow": IPC,
    ".ipc": IPC,
    ".feather": IPC,
}
OTHER_SPREADSHEETS = (".xls", ".ods")
COLUMN_BUFFER = 1 << 18
"""Bytes of each column of a Parquet file here that are read at a time; a whole row group, which
may be gigabytes, from elsewhere, for requests over a network take long."""


def stored_parts(file: TableFile) -> tuple[Part, ...]:
    """Return the files of a path, a URL, a folder or a pattern; see `open_source`."""
    source = str(file.path)
    if "://" in source:
        try:
            system, path = fs.FileSystem.from_uri(source)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InvalidInput(
                f"{source}: no such place is known here; use a path, file://, s3:// or gs://"
            ) from error
        found = system.get_file_info(path)
        paths = _in_folder(system, path) if found.type == fs.FileType.Directory else [path]
        names = [source] if len(paths) == 1 else paths
        places = [
            place_of(system, one, name, source) for one, name in zip(paths, names, strict=True)
        ]
        return _files(file, system, paths, places, path)
    system = fs.LocalFileSystem()
    if Path(source).is_dir():
        paths = _in_folder(system, source)
    elif not Path(source).exists() and glob.has_magic(source):
        paths = sorted(glob.glob(source, recursive=True))
        if not paths:
            raise InvalidInput(f"{source}: there is no such file")
    else:
        paths = [source]
    places = [place_of(system, path) for path in paths]
    return _files(file, system, paths, places, source)


def _in_folder(system: fs.FileSystem, folder: str) -> list[str]:
    """List the files in a folder, at any depth, but for hidden ones; sorted by their names."""
    files = system.get_file_info(fs.FileSelector(folder, recursive=True))
    paths = []
    for info in files:
        steps = info.path[len(folder) :].strip("/").split("/")
        if info.type == fs.FileType.File and not any(step[:1] in {".", "_"} for step in steps):
            paths.append(info.path)
    if not paths:
        raise InvalidInput(f"{folder}: the folder has no files")
    return sorted(paths)


def kind_of_file(path: str) -> str:
    """Find the kind of a file by its ending."""
    for ending, kind in ENDINGS.items():
        if path.lower().endswith(ending):
            return kind
    hint = "; save it as .xlsx or CSV" if path.lower().endswith(OTHER_SPREADSHEETS) else ""
    *endings, last = ENDINGS
    raise InvalidInput(f"{path}: a table must end in {', '.join(endings)} or {last}{hint}")


def is_table(path: str) -> bool:
    """Return whether a file has the ending of a table, or of a spreadsheet."""
    return path.lower().endswith((*ENDINGS, *OTHER_SPREADSHEETS))


def require_way(file: TableFile, kind: str) -> None:
    """Raise `InvalidInput` for a delimiter, an encoding or a sheet that a kind has not."""
    article = "a" if kind in (CSV, PARQUET) else "an"
    for name, given, kinds in (
        ("delimiter", file.delimiter != COMMA, (CSV,)),
        ("encoding", not file.is_utf8, (CSV, STAT)),
        ("sheet", file.sheet is not None, (EXCEL,)),
    ):
        if given and kind not in kinds:
            raise InvalidInput(
                f"{file}: --{name} is for {' and '.join(kinds)} files, and this is {article} "
                f"{kind} file"
            )
    if kind == CSV and not (file.is_utf8 or is_one_byte(file.encoding)):
        raise InvalidInput(
            f"{file}: --encoding {file.encoding} has letters of several bytes, and one byte could "
            f"change other rows; {SAVE_AS_UTF8}"
        )


def _files(
    file: TableFile,
    system: fs.FileSystem,
    paths: Sequence[str],
    places: Sequence[Place],
    root: str,
) -> tuple[Part, ...]:
    """Return the parts of files of one kind, each of which may be reached under one name only."""
    kinds = {path: kind_of_file(path) for path in paths}
    if len(set(kinds.values())) > 1:
        raise InvalidInput(f"{root}: its files must be of one kind, not {shown(kinds)}")
    refuse_twice(places)
    return tuple(
        replace(_file(file, system, path, place.name), places=(place,))
        for path, place in zip(paths, places, strict=True)
    )


def _file(file: TableFile, system: fs.FileSystem, path: str, label: str) -> Part:
    kind = kind_of_file(path)
    require_way(file, kind)
    if kind in (STAT, EXCEL) and not isinstance(system, fs.LocalFileSystem):
        raise InvalidInput(f"{label}: a file of {kind} is read here only; copy it to this machine")
    try:
        if kind == CSV:
            part = _csv_part(file, system, path, label)
        elif kind == PARQUET:
            part = _parquet_part(system, path, label)
        elif kind == IPC:
            part = _ipc_part(system, path, label)
        elif kind == STAT:
            part = stat_part(path, label, None if file.is_utf8 else file.encoding)
        else:
            part = excel_part(path, label, file.sheet)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{label}: cannot be read as {kind}") from error
    return part


def _csv_part(file: TableFile, system: fs.FileSystem, path: str, label: str) -> Part:
    rows = CsvRows(
        label,
        lambda: system.open_input_file(path),
        compressed=path.lower().endswith(".gz"),
        delimiter=file.delimiter,
        encoding=file.encoding,
    )
    if not any(rows.header):
        raise InvalidInput(f"{label}: the file is empty, or its first line is no header")
    fields = ({"type": "string"},) * len(rows.header)
    return Part(label, rows.header, fields, None, rows.batches, has_types=False)


def _parquet_part(system: fs.FileSystem, path: str, label: str) -> Part:
    with system.open_input_file(path) as raw, parquet.ParquetFile(raw) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows

    here = isinstance(system, fs.LocalFileSystem)
    ways = {"pre_buffer": False, "buffer_size": COLUMN_BUFFER} if here else {}

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with system.open_input_file(path) as raw, parquet.ParquetFile(raw, **ways) as file:
            for batch in file.iter_batches(batch_size=ROWS, columns=list(names)):
                yield batch.select(list(names))

    return arrow_part(label, schema, rows, _guarded(read, label))


def _ipc_part(system: fs.FileSystem, path: str, label: str) -> Part:
    def opened(raw: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        try:
            file = ipc.open_file(raw)
        except pa.ArrowInvalid:
            raw.seek(0)
            stream = ipc.open_stream(raw)
            return stream.schema, iter(stream)
        return file.schema, (file.get_batch(k) for k in range(file.num_record_batches))

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with system.open_input_file(path) as raw:
            yield from pieces(opened(raw)[1], names)

    with system.open_input_file(path) as raw:
        schema = opened(raw)[0]
    return arrow_part(label, schema, None, _guarded(read, label))


def _guarded(read: Read, label: str) -> Read:
    """Raise `InvalidInput` for a file that is damaged, and say nothing of what stands in it."""

    def guarded(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from read(names)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{label}: the file is damaged") from error

    return guarded
