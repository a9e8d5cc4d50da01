"""Where a table comes from: files, folders, Arrow, pandas, Polars, DuckDB; as parts with headers.

A header is read before any row. Names are taken from strings only, and how a column is stored
decides nothing: a value in one row may decide it.
"""

from __future__ import annotations

import glob
import sys
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs, ipc, parquet

from mipselect.disk import regular_file
from mipselect.errors import InvalidInput
from mipselect.tables.csv_rows import CsvRows
from mipselect.tables.pandas_columns import arrow_column
from mipselect.validation import shown

ROWS = 1 << 16
"""Rows that are looked at together."""

CSV, PARQUET, IPC = "CSV", "Parquet", "Arrow"
ENDINGS = {
    ".csv": CSV,
    ".csv.gz": CSV,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": IPC,
    ".ipc": IPC,
    ".feather": IPC,
}
KNOWN = (
    "a path (.csv, .csv.gz, .parquet, .arrow, a folder or a pattern of them), a pandas or Polars "
    "frame, a DuckDB relation, or what offers an Arrow stream"
)
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Part:
    """A table, or a file of a table that is stored in several.

    Attributes
    ----------
    label : str
        How it is called in a message.
    names : tuple of str
        Of its columns; there may be repeated ones.
    kinds : tuple of str
        How each is stored, as types of a Table Schema.
    rows : int or None
        Their number, where it is known without reading them.
    read : callable
        From some of the names to batches with these columns in this order.
    """

    label: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    rows: int | None
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]


def open_source(source: Any) -> tuple[Part, ...]:
    """Look at the header of every part of a table.

    Parameters
    ----------
    source : str, Path or table
        A path, a URL that PyArrow knows (``s3://``, ``gs://``, ``file://``), a folder or a pattern
        (``data/*.parquet``): .csv, .csv.gz, .parquet, .arrow, .ipc or .feather; folders named
        ``key=value`` are columns. A `pyarrow.Table`, `RecordBatchReader` or `Dataset`, a data
        frame of pandas or Polars, also a lazy one, a DuckDB relation, or whatever has
        ``__arrow_c_stream__``.

    Raises
    ------
    InvalidInput
        Naming the source and what is wrong with it.
    """
    if isinstance(source, str | Path):
        return _files(str(source))
    from pyarrow import dataset

    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return (_arrow_part("the table", source.schema, source.num_rows, _of_table(source)),)
    if isinstance(source, pa.RecordBatchReader):
        return (_arrow_part("the reader", source.schema, None, _of_reader(source)),)
    if isinstance(source, dataset.Dataset):
        return (_dataset_part(source),)
    if _is_frame(source, "pandas", "DataFrame"):
        return (_pandas_part(source),)
    if _is_frame(source, "polars", "LazyFrame"):
        return (_lazy_part(source),)
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        return (_arrow_part("the table", reader.schema, None, _of_reader(reader)),)
    if hasattr(source, "__dask_graph__"):
        raise InvalidInput("a Dask frame is not read; give what it is made from, or .compute()")
    raise InvalidInput(f"a table must be {KNOWN}; got a {type(source).__name__}")


def _is_frame(source: Any, module: str, name: str) -> bool:
    """Whether it is of a class of a package that need not be installed."""
    package = sys.modules.get(module)
    return package is not None and isinstance(source, getattr(package, name))


def _arrow_part(
    label: str,
    schema: pa.Schema,
    rows: int | None,
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]],
) -> Part:
    return Part(label, tuple(schema.names), tuple(kind_of(t) for t in schema.types), rows, read)


def kind_of(kind: pa.DataType) -> str:
    """An Arrow type as a type of a Table Schema."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return kind_of(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return kind_of(kind.value_type)
    for name, holds in (
        ("boolean", types.is_boolean),
        ("integer", types.is_integer),
        ("number", lambda t: types.is_floating(t) or types.is_decimal(t)),
        ("date", types.is_date),
        ("datetime", types.is_timestamp),
        ("time", types.is_time),
        ("duration", types.is_temporal),
        ("array", types.is_nested),
    ):
        if holds(kind):
            return name
    return "string"


def _of_table(table: pa.Table) -> Callable[[Sequence[str]], Iterator[pa.RecordBatch]]:
    return lambda names: iter(table.select(list(names)).to_batches(max_chunksize=ROWS))


def _of_reader(
    reader: pa.RecordBatchReader,
) -> Callable[[Sequence[str]], Iterator[pa.RecordBatch]]:
    return lambda names: _pieces(reader, names)


def _pieces(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Some columns, no more than `ROWS` rows at a time."""
    for batch in batches:
        chosen = batch.select(list(names))
        for start in range(0, chosen.num_rows, ROWS):
            yield chosen.slice(start, ROWS)


def _dataset_part(source: Any) -> Part:
    from pyarrow import dataset

    if isinstance(source, dataset.FileSystemDataset) and isinstance(
        source.format, dataset.CsvFileFormat | dataset.JsonFileFormat
    ):
        raise InvalidInput(
            "a Dataset of text files guesses types from rows, and a value in one row can stop it; "
            "give the path instead"
        )

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        scanner = source.scanner(
            columns=list(names), batch_size=ROWS, batch_readahead=2, fragment_readahead=1
        )
        return _pieces(scanner.to_reader(), names)

    return _arrow_part("the dataset", source.schema, None, read)


def _pandas_part(frame: Any) -> Part:
    positions = {
        label: k for k, label in reversed(list(enumerate(frame.columns))) if isinstance(label, str)
    }
    names = [label for label in frame.columns if isinstance(label, str)]
    dtypes = [
        dtype
        for label, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if isinstance(label, str)
    ]
    words = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
    words |= {"M": "datetime", "m": "duration"}
    kinds = [words.get(dtype.kind, "string") for dtype in dtypes]

    def read(chosen: Sequence[str]) -> Iterator[pa.RecordBatch]:
        series = [frame.iloc[:, positions[name]] for name in chosen]
        for start in range(0, len(frame), ROWS):
            columns = [arrow_column(one.iloc[start : start + ROWS]) for one in series]
            yield pa.record_batch(columns, list(chosen))

    return Part("the data frame", tuple(names), tuple(kinds), len(frame), read)


def _lazy_part(frame: Any) -> Part:
    import polars

    schema = frame.collect_schema()

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # Exact names: in `select` a text may be a pattern.
        chosen = frame.select(polars.selectors.by_name(*names)).collect(engine="streaming")
        return _pieces(pa.RecordBatchReader.from_stream(chosen), names)

    kinds = [kind_of(t) for t in polars.DataFrame(schema=schema).to_arrow().schema.types]
    return Part("the lazy frame", tuple(schema.names()), tuple(kinds), None, read)


def _files(source: str) -> tuple[Part, ...]:
    if "://" in source:
        try:
            system, path = fs.FileSystem.from_uri(source)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InvalidInput(
                f"{source}: no such place is known here; use a path, file://, s3:// or gs://"
            ) from error
        found = system.get_file_info(path)
        paths = _in_folder(system, path) if found.type == fs.FileType.Directory else [path]
        return tuple(_file(system, one, source if len(paths) == 1 else one, path) for one in paths)
    system = fs.LocalFileSystem()
    if Path(source).is_dir():
        paths = _in_folder(system, source)
    elif not Path(source).exists() and glob.has_magic(source):
        paths = sorted(glob.glob(source, recursive=True))
        if not paths:
            raise InvalidInput(f"{source}: no file is called so")
    else:
        paths = [source]
    for path in paths:
        regular_file(Path(path))
    _require_one_kind(source, paths)
    return tuple(_file(system, path, path, source) for path in paths)


def _in_folder(system: fs.FileSystem, folder: str) -> list[str]:
    """The files in a folder, at any depth, but for hidden ones; sorted by their names."""
    files = system.get_file_info(fs.FileSelector(folder, recursive=True))
    paths = []
    for info in files:
        steps = info.path[len(folder) :].strip("/").split("/")
        if info.type == fs.FileType.File and not any(step[:1] in {".", "_"} for step in steps):
            paths.append(info.path)
    if not paths:
        raise InvalidInput(f"{folder}: the folder has no files")
    _require_one_kind(folder, paths)
    return sorted(paths)


def _require_one_kind(source: str, paths: Sequence[str]) -> None:
    kinds = {path: _kind_of_file(path) for path in paths}
    if len(set(kinds.values())) > 1:
        raise InvalidInput(f"{source}: its files must be of one kind, not {shown(kinds)}")


def _kind_of_file(path: str) -> str:
    for ending, kind in ENDINGS.items():
        if path.lower().endswith(ending):
            return kind
    raise InvalidInput(f"{path}: a table must end in {', '.join(ENDINGS)}")


def _file(system: fs.FileSystem, path: str, label: str, root: str) -> Part:
    kind = _kind_of_file(path)
    try:
        if kind == CSV:
            part = _csv_part(system, path, label)
        elif kind == PARQUET:
            part = _parquet_part(system, path, label)
        else:
            part = _ipc_part(system, path, label)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{label}: cannot be read as {kind}") from error
    return _with_partition(part, path, root)


def _csv_part(system: fs.FileSystem, path: str, label: str) -> Part:
    packed = path.lower().endswith(".gz")

    def opened() -> Any:
        return system.open_input_file(path)

    rows = CsvRows(label, opened, compressed=packed)
    if not any(rows.header):
        raise InvalidInput(f"{label}: the file has no header in its first line")
    return Part(label, rows.header, ("string",) * len(rows.header), None, rows.batches)


def _parquet_part(system: fs.FileSystem, path: str, label: str) -> Part:
    with system.open_input_file(path) as raw, parquet.ParquetFile(raw) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with system.open_input_file(path) as raw, parquet.ParquetFile(raw) as file:
            for batch in file.iter_batches(batch_size=ROWS, columns=list(names)):
                yield batch.select(list(names))

    return _arrow_part(label, schema, rows, _guarded(read, label))


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
            yield from _pieces(opened(raw)[1], names)

    with system.open_input_file(path) as raw:
        schema = opened(raw)[0]
    return _arrow_part(label, schema, None, _guarded(read, label))


def _guarded(
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]], label: str
) -> Callable[[Sequence[str]], Iterator[pa.RecordBatch]]:
    """Say of a file that is damaged that it is, and nothing of what stands in it."""

    def guarded(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from read(names)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{label}: the file is damaged") from error

    return guarded


def _with_partition(part: Part, path: str, root: str) -> Part:
    """The part with a column for each folder below `root` that is named ``key=value``."""
    keys = _partition(path[len(root) :]) if path.startswith(root) else {}
    keys = {name: value for name, value in keys.items() if name not in part.names}
    if not keys:
        return part

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        stored = [name for name in names if name not in keys]
        # One column at least, for the number of rows.
        for batch in part.read(stored or part.names[:1]):
            columns = [
                pa.repeat(pa.scalar(keys[name], pa.string()), batch.num_rows)
                if name in keys
                else batch.column(stored.index(name))
                for name in names
            ]
            yield pa.record_batch(columns, list(names))

    kinds = (*part.kinds, *("string" for _ in keys))
    return Part(part.label, (*part.names, *keys), kinds, part.rows, read)


def _partition(path: str) -> Mapping[str, str | None]:
    keys: dict[str, str | None] = {}
    for step in path.split("/")[:-1]:
        name, sign, value = step.partition("=")
        if sign:
            keys[name] = None if value == NO_PARTITION else urllib.parse.unquote(value)
    return keys
