"""Sources of a table: files, Arrow, pandas, Polars, DuckDB; as parts with headers.

A header is read before any row. Names are taken from strings only, and how a column is stored
decides nothing: a value in one row may decide it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from mipselect.errors import InvalidInput
from mipselect.tables.chosen_rows import ChosenRows
from mipselect.tables.frame_columns import (
    pandas_categories,
    pandas_column,
    polars_batches,
    polars_categories,
    polars_type,
)
from mipselect.tables.parts import ROWS, Part, Read, arrow_part, kind_of, pieces
from mipselect.tables.places import Once, places_of_dataset
from mipselect.tables.stored_files import stored_parts
from mipselect.tables.table_file import TableFile

KNOWN = (
    "a path (.csv, .csv.gz, .parquet, .arrow, .sav, .dta, .sas7bdat, .xpt, .xlsx, a folder or a "
    "pattern of them), a TableFile, a pandas or Polars frame, a DuckDB relation, or what offers an "
    "Arrow stream"
)
FAILED = (
    "could not be computed; what reads text by guessing types can stop at a row, so give the path "
    "of the file instead"
)
"""Message without the reason, which may quote a row."""


def open_source(source: Any) -> tuple[Part, ...]:
    """Look at the header of every part of a table.

    Parameters
    ----------
    source : str, Path, TableFile or table
        A path, a URL that PyArrow knows (``s3://``, ``gs://``, ``file://``), a folder or a pattern
        (``data/*.parquet``): .csv, .csv.gz, .parquet, .arrow, .ipc or .feather, .sav, .zsav, .dta,
        .sas7bdat or .xpt with pyreadstat, .xlsx with openpyxl; folders named ``key=value`` are
        columns. A `TableFile` says how a file is written. A `pyarrow.Table`, `RecordBatchReader`
        or `Dataset`, a data frame of pandas or Polars, also a lazy one, a DuckDB relation, or
        whatever has ``__arrow_c_stream__``.

    Raises
    ------
    InvalidInput
        Naming the source and what is wrong with it; also where a folder, a pattern or a `Dataset`
        reaches one file under two names.
    """
    if isinstance(source, str | Path | TableFile):
        return stored_parts(source if isinstance(source, TableFile) else TableFile(source))
    if isinstance(source, ChosenRows):
        return source.opened()
    from pyarrow import dataset

    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        table = source

        def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
            return pieces(table.select(list(names)).to_batches(), names)

        return (arrow_part("the table", table.schema, table.num_rows, read),)
    if isinstance(source, pa.RecordBatchReader):
        return (_reader_part("the reader", source),)
    if isinstance(source, dataset.Dataset):
        return (_dataset_part(source),)
    if is_frame(source, "pandas", "DataFrame"):
        return (_pandas_part(source),)
    if is_frame(source, "polars", "DataFrame"):
        batches = partial(polars_batches, source)
        return (_part_of_polars("the data frame", source.schema, source.height, batches),)
    if is_frame(source, "polars", "LazyFrame"):
        return (_lazy_part(source),)
    _refuse_series(source)
    if hasattr(source, "__arrow_c_stream__"):
        return (_reader_part("the table", pa.RecordBatchReader.from_stream(source)),)
    if hasattr(source, "__dask_graph__"):
        raise InvalidInput("a Dask frame is not read; give what it is made from, or .compute()")
    raise InvalidInput(f"a table must be {KNOWN}; got a {type(source).__name__}")


def read_again(source: Any) -> Any:
    """Return a source with the same rows in the same order whenever it is read.

    A stream becomes a table, and so does a lazy frame: Polars computes it anew each time, and after
    a join, a group or `unique` its rows come in another order.
    """
    from pyarrow import dataset

    stays = (str, Path, TableFile, pa.RecordBatch, pa.Table, dataset.Dataset)
    frames = (("pandas", "DataFrame"), ("polars", "DataFrame"))
    if isinstance(source, stays) or any(is_frame(source, *frame) for frame in frames):
        return source
    if is_frame(source, "polars", "LazyFrame"):
        return _computed(source)
    _refuse_series(source)
    return pa.table(source) if hasattr(source, "__arrow_c_stream__") else source


def _refuse_series(source: Any) -> None:
    """Raise `InvalidInput` for one column or row of a frame, which offers a stream all the same."""
    if any(is_frame(source, module, "Series") for module in ("pandas", "polars")):
        raise InvalidInput(
            "a Series is one column or one row, and no table; give a frame, such as df[[name]] or "
            "df.iloc[[0]]"
        )


def is_frame(source: Any, module: str, name: str) -> bool:
    """Return whether `source` is of a class of a package that need not be installed."""
    package = sys.modules.get(module)
    return package is not None and isinstance(source, getattr(package, name))


def _dataset_part(source: Any) -> Part:
    from pyarrow import dataset

    if isinstance(source, dataset.FileSystemDataset) and isinstance(
        source.format, dataset.CsvFileFormat | dataset.JsonFileFormat
    ):
        raise InvalidInput(
            "a Dataset of text files guesses types from rows, and a value in one row can stop it; "
            "give the path instead"
        )
    places = places_of_dataset(source)
    Once().reach(places)

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        scanner = source.scanner(
            columns=list(names), batch_size=ROWS, batch_readahead=2, fragment_readahead=1
        )
        return pieces(scanner.to_reader(), names)

    return replace(arrow_part("the dataset", source.schema, None, read), places=places)


def _pandas_part(frame: Any) -> Part:
    labels = [(label, k) for k, label in enumerate(frame.columns) if isinstance(label, str)]
    positions = dict(reversed(labels))
    words = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
    words |= {"M": "datetime", "m": "duration"}
    dtypes = [frame.dtypes.iloc[k] for _, k in labels]
    fields = tuple(
        {"type": words.get(dtype.kind, "string"), **pandas_categories(dtype)} for dtype in dtypes
    )

    def read(chosen: Sequence[str]) -> Iterator[pa.RecordBatch]:
        series = [frame.iloc[:, positions[name]] for name in chosen]
        for start in range(0, len(frame), ROWS):
            columns = [pandas_column(one.iloc[start : start + ROWS]) for one in series]
            yield pa.record_batch(columns, list(chosen))

    names = tuple(label for label, _ in labels)
    return Part("the data frame", names, fields, len(frame), read)


def _lazy_part(frame: Any) -> Part:
    import polars

    schema = frame.collect_schema()

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # Exact names: in `select` a text may be a pattern.
        return polars_batches(_computed(frame.select(polars.selectors.by_name(*names))), names)

    return _part_of_polars("the lazy frame", schema, None, read)


def _computed(frame: Any) -> Any:
    """Compute a lazy frame; raise `InvalidInput`, which quotes no row, where that fails."""
    import polars

    try:
        return frame.collect(engine="streaming")
    except polars.exceptions.PolarsError:
        raise InvalidInput(f"the lazy frame {FAILED}") from None


def _part_of_polars(label: str, schema: Any, rows: int | None, read: Read) -> Part:
    fields = tuple(
        {"type": kind_of(polars_type(kind)), **polars_categories(kind)} for kind in schema.dtypes()
    )
    return Part(label, tuple(schema.names()), fields, rows, read)


def _reader_part(label: str, reader: pa.RecordBatchReader) -> Part:
    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from pieces(reader, names)
        except (pa.ArrowException, OSError):
            raise InvalidInput(f"{label} {FAILED}") from None

    return arrow_part(label, reader.schema, None, read)
