"""Sources of a table: files, Arrow, pandas, Polars, DuckDB; as parts, and with y as a column.

A header is read before any row. Names are taken from strings only, and how a column is stored
decides nothing: a value in one row may decide it.
"""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import fs, ipc, parquet

from mipselect.disk import DAMAGE
from mipselect.errors import InvalidInput
from mipselect.frames import is_of
from mipselect.tables import parts
from mipselect.tables.foreign_files import excel_part, stat_part
from mipselect.tables.values import UNWRITABLE, arrow_cells
from mipselect.validation import shown

KNOWN = (
    "a path (.csv, .csv.gz, .parquet, .arrow, .sav, .dta, .sas7bdat, .xpt, .xlsx, a folder or a "
    "pattern of them), a TableFile, a frame of pandas, Polars or Dask, a DuckDB relation, or what "
    "offers an Arrow stream"
)
FRAMES = ("pandas.DataFrame", "polars.DataFrame")
FAILED = (
    "could not be computed; what reads text by guessing types can stop at a row, so give the path "
    "of the file instead"
)
"""Message without the reason, which may quote a row."""


def open_source(source: Any) -> tuple[parts.Part, ...]:
    """Look at the header of every part of a table.

    Parameters
    ----------
    source : str, Path, TableFile or table
        A path, a URL that PyArrow knows (``s3://``, ``gs://``, ``file://``), a folder or a pattern
        (``data/*.parquet``): .csv, .csv.gz, .parquet, .arrow, .ipc or .feather, .sav, .zsav, .dta,
        .sas7bdat or .xpt with pyreadstat, .xlsx with openpyxl. A `TableFile` says how a file is
        written. A `pyarrow.Table`, `RecordBatchReader` or `Dataset`, a data frame of pandas,
        Polars, also a lazy one, or Dask, a DuckDB relation, or whatever has
        ``__arrow_c_stream__``.

    Raises
    ------
    InvalidInput
        Naming the source and what is wrong with it; also where a folder, a pattern or a `Dataset`
        reaches one file under two names.
    """
    if isinstance(source, str | Path | parts.TableFile):
        return stored_parts(
            source if isinstance(source, parts.TableFile) else parts.TableFile(source)
        )
    if isinstance(source, tuple) and source and isinstance(source[0], parts.Part):
        return source
    from pyarrow import dataset

    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        read = partial(parts.pieces, source.to_batches())
        return (parts.arrow_part("the table", source.schema, source.num_rows, read),)
    if isinstance(source, pa.RecordBatchReader):
        return (_reader_part("the reader", source),)
    if isinstance(source, dataset.Dataset):
        return (_dataset_part(source),)
    if is_of(source, "pandas.DataFrame"):
        return (_pandas_part(source),)
    if is_of(source, "polars.DataFrame"):
        batches = partial(_polars_batches, source)
        return (_part_of_polars("the data frame", source.schema, source.height, batches),)
    if is_of(source, "polars.LazyFrame"):
        return (_lazy_part(source),)
    _refuse_series(source)
    if hasattr(source, "__arrow_c_stream__"):
        return (_reader_part("the table", pa.RecordBatchReader.from_stream(source)),)
    if is_of(source, "dask.dataframe.DataFrame"):
        return tuple(_dask_part(source, k) for k in range(source.npartitions))
    raise InvalidInput(f"a table must be {KNOWN}; got a {type(source).__name__}")


def read_again(source: Any) -> Any:
    """Return a source with the same rows in the same order whenever it is read.

    A stream becomes a table, and so does a lazy frame of Polars or Dask: it is computed anew each
    time, and after a join, a group or `unique` its rows come in another order.
    """
    from pyarrow import dataset

    stays = (str, Path, parts.TableFile, pa.RecordBatch, pa.Table, dataset.Dataset)
    if isinstance(source, stays) or is_of(source, *FRAMES):
        return source
    if is_of(source, "polars.LazyFrame"):
        return _computed(source)
    if is_of(source, "dask.dataframe.DataFrame"):
        return source.compute()
    _refuse_series(source)
    return pa.table(source) if hasattr(source, "__arrow_c_stream__") else source


def _refuse_series(source: Any) -> None:
    """Raise `InvalidInput` for one column or row of a frame, which offers a stream all the same."""
    if is_of(source, "pandas.Series", "polars.Series"):
        raise InvalidInput(
            "a Series is one column or one row, and no table; give a frame, such as df[[name]] or "
            "df.iloc[[0]]"
        )


def _dataset_part(source: Any) -> parts.Part:
    from pyarrow import dataset

    if isinstance(source, dataset.FileSystemDataset) and isinstance(
        source.format, dataset.CsvFileFormat | dataset.JsonFileFormat
    ):
        raise InvalidInput(
            "a Dataset of text files guesses types from rows, and a value in one row can stop it; "
            "give the path instead"
        )
    places = parts.places_of_dataset(source)
    parts.refuse_twice(places)

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        scanner = source.scanner(
            columns=list(names), batch_size=parts.ROWS, batch_readahead=2, fragment_readahead=1
        )
        return parts.pieces(scanner.to_reader(), names)

    return replace(parts.arrow_part("the dataset", source.schema, None, read), places=tuple(places))


def _pandas_part(frame: Any) -> parts.Part:
    labels = [(label, k) for k, label in enumerate(frame.columns) if isinstance(label, str)]
    positions = dict(reversed(labels))
    words = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
    words |= {"M": "datetime", "m": "duration"}
    kinds = (_plain_dtype(frame.dtypes.iloc[k]).kind for _, k in labels)
    fields = tuple({"type": words.get(kind, "string")} for kind in kinds)

    def read(chosen: Sequence[str]) -> Iterator[pa.RecordBatch]:
        series = [frame.iloc[:, positions[name]] for name in chosen]
        for start in range(0, len(frame), parts.ROWS):
            columns = [_pandas_column(one.iloc[start : start + parts.ROWS]) for one in series]
            yield pa.record_batch(columns, list(chosen))

    names = tuple(label for label, _ in labels)
    return parts.Part("the data frame", names, fields, len(frame), read)


def _plain_dtype(dtype: Any) -> Any:
    """Return the type of the values of a column, also of one of categories."""
    is_listed = isinstance(dtype, sys.modules["pandas"].CategoricalDtype)
    return dtype.categories.dtype if is_listed and dtype.categories is not None else dtype


def _dask_part(frame: Any, k: int) -> parts.Part:
    """Look at the header of a partition; whenever it is read it is computed."""
    label = f"partition {k} of the Dask frame"

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            computed = frame.partitions[k].compute()
        except Exception:  # noqa: BLE001 - what is computed there can fail in any way
            raise InvalidInput(f"{label} {FAILED}") from None
        return _pandas_part(computed).read(names)

    return replace(_pandas_part(frame._meta), label=label, rows=None, read=read)


def _lazy_part(frame: Any) -> parts.Part:
    import polars

    schema = frame.collect_schema()

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # Exact names: in `select` a text may be a pattern.
        return _polars_batches(_computed(frame.select(polars.selectors.by_name(*names))), names)

    return _part_of_polars("the lazy frame", schema, None, read)


def _computed(frame: Any) -> Any:
    """Compute a lazy frame; raise `InvalidInput`, which quotes no row, where that fails."""
    import polars

    try:
        return frame.collect(engine="streaming")
    except polars.exceptions.PolarsError:
        raise InvalidInput(f"the lazy frame {FAILED}") from None


def _part_of_polars(label: str, schema: Any, rows: int | None, read: parts.Read) -> parts.Part:
    fields = tuple({"type": parts.kind_of(_polars_type(kind))} for kind in schema.dtypes())
    return parts.Part(label, tuple(schema.names()), fields, rows, read)


def _reader_part(label: str, reader: pa.RecordBatchReader) -> parts.Part:
    read = _guarded(partial(parts.pieces, reader), f"{label} {FAILED}")
    return parts.arrow_part(label, reader.schema, None, read)


def _pandas_column(series: Any) -> pa.Array:
    """Convert a series, or a part of one; no value makes it fail."""
    pandas = sys.modules["pandas"]
    if isinstance(series.dtype, pandas.SparseDtype):
        series = series.sparse.to_dense()
    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        return _categorical(series)
    if dtype.kind in "biuf" and isinstance(dtype, np.dtype):
        # There is no Arrow type for longer floats.
        return pa.array(series.to_numpy(np.float64 if dtype.itemsize > 8 else None))
    # Points in time are the same texts, and the same moments, as when they are objects.
    if dtype.kind in "biufM" or (
        isinstance(dtype, pandas.StringDtype) and dtype.storage != "python"
    ):
        return _one_piece(pa.array(series, from_pandas=True))
    return arrow_cells(np.asarray(series.astype(object), dtype=object))


def _categorical(series: Any) -> pa.Array:
    known = arrow_cells(np.asarray(series.cat.categories, dtype=object))
    codes = series.cat.codes.to_numpy()
    if pa.types.is_union(known.type):  # A union has no dictionary.
        return arrow_cells(np.asarray(series.astype(object), dtype=object))
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), known)


def _polars_batches(frame: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a data frame, no more than `ROWS` rows at a time."""
    for start in range(0, frame.height, parts.ROWS):
        rows = frame.slice(start, parts.ROWS)
        yield pa.record_batch([_polars_column(rows.get_column(n)) for n in names], list(names))


def _polars_type(kind: Any) -> pa.DataType:
    """Return the type in Arrow that a type of Polars becomes; no value is read."""
    import polars

    if kind.is_nested():
        return pa.list_(pa.null())
    return _polars_column(polars.Series([], dtype=kind)).type


def _polars_column(series: Any) -> pa.Array:
    """Convert a series, also one that Polars exports in a way that Arrow cannot read."""
    import polars

    if series.dtype == polars.Object:
        return arrow_cells(series.to_list())
    if series.dtype.is_nested():
        return pa.array([None if absent else UNWRITABLE for absent in series.is_null()])
    if str(series.dtype) in {"Int128", "UInt128"}:  # Not every version has them.
        series = series.cast(polars.Float64)
    return _one_piece(series.to_arrow())


def _one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


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


def stored_parts(file: parts.TableFile) -> tuple[parts.Part, ...]:
    """Return the files of a path, a URL, a folder or a pattern; see `open_source`.

    They are of one kind, and each may be reached under one name only.
    """
    source, is_url = str(file.path), "://" in str(file.path)
    if is_url:
        try:
            system, root = fs.FileSystem.from_uri(source)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InvalidInput(
                f"{source}: no such place is known here; use a path, file://, s3:// or gs://"
            ) from error
        in_folder = system.get_file_info(root).type == fs.FileType.Directory
    else:
        system, root, in_folder = fs.LocalFileSystem(), source, Path(source).is_dir()
    if in_folder:
        paths = _in_folder(system, root)
    elif not is_url and not Path(source).exists() and glob.has_magic(source):
        paths = sorted(glob.glob(source, recursive=True))
        if not paths:
            raise InvalidInput(f"{source}: there is no such file")
    else:
        paths = [root]
    names = [source] if is_url and len(paths) == 1 else paths
    url = source if is_url else ""
    identities = [parts.identity_of(system, path, url) for path in paths]
    places = list(zip(identities, names, strict=True))
    kinds = {path: kind_of_file(path) for path in paths}
    if len(set(kinds.values())) > 1:
        raise InvalidInput(f"{root}: its files must be of one kind, not {shown(kinds)}")
    parts.refuse_twice(places)
    return tuple(
        replace(_file(file, system, path, place[1]), places=(place,))
        for path, place in zip(paths, places, strict=True)
    )


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


def require_way(file: parts.TableFile, kind: str) -> None:
    """Raise `InvalidInput` for a delimiter or a sheet that a kind has not."""
    article = "a" if kind in (CSV, PARQUET) else "an"
    for name, given, only in (
        ("delimiter", file.delimiter != parts.COMMA, CSV),
        ("sheet", file.sheet is not None, EXCEL),
    ):
        if given and kind != only:
            raise InvalidInput(
                f"{file}: --{name} is for {only} files, and this is {article} {kind} file"
            )


def _file(file: parts.TableFile, system: fs.FileSystem, path: str, label: str) -> parts.Part:
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
            part = stat_part(path, label)
        else:
            part = excel_part(path, label, file.sheet)
    except InvalidInput:
        raise
    except (pa.ArrowException, *DAMAGE) as error:
        raise InvalidInput(f"{label}: cannot be read as {kind}") from error
    return replace(part, read=_guarded(part.read, f"{label}: the file is damaged"))


def _csv_part(file: parts.TableFile, system: fs.FileSystem, path: str, label: str) -> parts.Part:
    rows = parts.CsvRows(
        label,
        lambda: system.open_input_file(path),
        compressed=path.lower().endswith(".gz"),
        delimiter=file.delimiter,
    )
    if not any(rows.header):
        raise InvalidInput(f"{label}: the file is empty, or its first line is no header")
    fields = ({"type": "string"},) * len(rows.header)
    return parts.Part(label, rows.header, fields, None, rows.batches, has_types=False)


def _parquet_part(system: fs.FileSystem, path: str, label: str) -> parts.Part:
    with system.open_input_file(path) as raw, parquet.ParquetFile(raw) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows

    here = isinstance(system, fs.LocalFileSystem)
    ways = {"pre_buffer": False, "buffer_size": COLUMN_BUFFER} if here else {}

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with system.open_input_file(path) as raw, parquet.ParquetFile(raw, **ways) as file:
            for batch in file.iter_batches(batch_size=parts.ROWS, columns=list(names)):
                yield batch.select(list(names))

    return parts.arrow_part(label, schema, rows, read)


def _ipc_part(system: fs.FileSystem, path: str, label: str) -> parts.Part:
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
            yield from parts.pieces(opened(raw)[1], names)

    with system.open_input_file(path) as raw:
        schema = opened(raw)[0]
    return parts.arrow_part(label, schema, None, read)


def _guarded(read: parts.Read, failure: str) -> parts.Read:
    """Raise `InvalidInput` where reading fails, and say nothing of what stands in a row."""

    def guarded(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from read(names)
        except InvalidInput:
            raise
        except (pa.ArrowException, *DAMAGE):
            raise InvalidInput(failure) from None

    return guarded
