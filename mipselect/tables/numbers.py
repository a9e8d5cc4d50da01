"""Tables of numbers from files; what is not a finite number is named and refused.

Nothing is ever unpickled. PyArrow reads the file; where it cannot, or finds something that is not
a finite number, a slow second pass finds the line to complain about.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
import zlib
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import IO, Any, NoReturn, TextIO

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow import csv as arrow_csv

from mipselect.arrays import FloatArray
from mipselect.disk import regular_file, unreadable
from mipselect.errors import InvalidInput
from mipselect.frames import ADVICE, is_numeric, refuse_stored_index
from mipselect.problem.stored.descriptions import WAYS
from mipselect.tables import values
from mipselect.tables.csv_rows import (
    BYTE_FOR_BYTE,
    INSTEAD_OF_NUL,
    not_in,
    opened_text,
    require_delimiter,
)
from mipselect.tables.fields import BLANKS, Field, field_of
from mipselect.tables.parts import near_column, positions_of
from mipselect.tables.stored_files import CSV, PARQUET, kind_of_file, require_way, stored_parts
from mipselect.tables.table_file import TableFile
from mipselect.validation import checked_name, listed, shown

DATE_ADVICE = (
    "leave this column out (name the features to use), or replace dates by numbers, such as days "
    "since a fixed day"
)
SCHEMA_ADVICE = (
    f"{ADVICE}, or describe the table in a schema, which knows categories, decimal commas and "
    "missing values ('mipselect describe', then --schema)"
)
CHUNK = 1 << 20
LONGEST = 1 << 24
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ].*)?")


def table_file(data: Mapping[str, Any], folder: Path) -> TableFile:
    """Return the file or the URL of the source "table"."""
    path = data["path"]
    ways = {key: data[key] for key in WAYS if key in data}
    return TableFile(path if "://" in path else folder / path, **ways)


def read_table(
    source: str | Path | TableFile, target: str, features: Sequence[str] | None = None
) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Read a numeric table with named columns.

    Parameters
    ----------
    source : str, Path or TableFile
        A CSV file with one header line, or one of Parquet, Arrow, SPSS, Stata, SAS or Excel.
    target : str
        The column to predict.
    features : sequence of str, optional
        The columns of X, in this order; default: all but the target, in the order of the file.
        Other columns may hold anything.

    Returns
    -------
    X : ndarray of shape (n, p)
        Booleans count as 0 and 1.
    y : ndarray of shape (n,)
    feature_names : tuple of str

    Raises
    ------
    InvalidInput
        Naming the file, and where it applies the line (CSV, counted from 1) or row (Parquet,
        counted from 0) and the column; never the value. What tells something of the rows is
        marked as sensitive.
    """
    reader = _reader(source)
    path = reader.path
    try:
        columns = reader.column_names()
        chosen = choose_columns(path, columns, target, features)
        table = reader.read([target, *chosen])
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error
    except MemoryError as error:
        raise InvalidInput(f"{path}: too large for the memory here: {error}") from error
    if len(table) == 0:
        raise InvalidInput(f"{path}: the table has no rows")
    return table[:, 1:], table[:, 0], chosen


def header(
    source: str | Path | TableFile, target: str, features: Sequence[str] | None
) -> tuple[str, ...]:
    """Read the names of the features; see `read_table`. Only the header of a CSV file is read.

    Raises
    ------
    InvalidInput
        For what is wrong with the name of the file or its header.
    """
    reader = _reader(source)
    try:
        columns = reader.header()
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(reader.path, error) from error
    return choose_columns(reader.path, columns, target, features)


def _reader(source: str | Path | TableFile) -> _CsvReader | _ColumnsReader:
    source = source if isinstance(source, TableFile) else TableFile(source)
    path = Path(source.path)
    kind = kind_of_file(str(path))
    require_way(source, kind)
    regular_file(path)
    if kind == CSV:
        return _CsvReader(source)
    return _ParquetReader(source) if kind == PARQUET else _ColumnsReader(source)


def choose_columns(
    path: Path, columns: Sequence[str], target: str, features: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the names of the features; raise `InvalidInput` for what the file does not have."""
    counts = Counter(columns)
    repeated = sorted(name for name, count in counts.items() if count > 1 and name)
    if repeated:
        raise InvalidInput(f"{path}: column names must differ; repeated: {listed(repeated)}")
    chosen = tuple(name for name in columns if name != target) if features is None else features
    for name in (target, *chosen):
        if name not in counts:
            raise InvalidInput(
                f"{path}: there is no column {name!r}; columns: {listed(columns)}"
                f"{near_column(str(path), name, columns, (target, *chosen))}"
            )
    if not chosen:
        raise InvalidInput(f"{path}: there is no feature besides the target {target!r}")
    if target in chosen:
        raise InvalidInput(f"{path}: the target {target!r} cannot be a feature as well")
    if features is None:
        # As readers of a file count, with the target.
        places = (place for place, name in enumerate(columns, start=1) if name != target)
        refuse_stored_index(chosen, str(path), places)
    if len(set(chosen)) < len(chosen):
        twice = [name for name, count in Counter(chosen).items() if count > 1]
        raise InvalidInput(f"{path}: a feature is listed twice: {listed(twice)}")
    return tuple(checked_name(name, f"{path}: the name of a column") for name in chosen)


class _CsvReader:
    """A CSV file, plain or compressed by gzip.

    Whatever tells something of the rows says that it is sensitive, and quotes no value.
    """

    def __init__(self, source: TableFile) -> None:
        self.path, self._source = Path(source.path), source
        self._header, self._has_rows = list[str](), False

    def header(self) -> list[str]:
        """Return the names by what stands before the first row."""
        return self._names(self._first_record())

    def column_names(self) -> list[str]:
        """Return the names, once the text is known to be UTF-8 and its quotes to be closed."""
        quoted = self._has_quotes()
        with closing(self._records()) as rows:
            _, header = next(rows, (0, []))
            if not header:
                raise InvalidInput(f"{self.path}: the file is empty")
            self._header = self._names(header)
            self._has_rows = next(rows, None) is not None
            if quoted:
                # PyArrow takes everything after a quote that is left open for one value.
                for _ in rows:
                    pass
        return self._header

    def read(self, columns: Sequence[str]) -> FloatArray:
        """Return the columns as an array of shape (n, len(columns)).

        They are parsed as text first: PyArrow would guess types from the first megabyte only.
        """
        if not self._has_rows:
            raise InvalidInput(f"{self.path}: the table has no rows")
        chosen = [f"f{place}" for place in positions_of(columns, self._header)]
        options = arrow_csv.ConvertOptions(
            include_columns=chosen, column_types=dict.fromkeys(chosen, pa.string())
        )
        # A row must fit into a block. The header is read as one.
        blocks = arrow_csv.ReadOptions(
            autogenerate_column_names=True, block_size=max(1 << 20, 256 * len(self._header))
        )
        parsing = arrow_csv.ParseOptions(newlines_in_values=True, delimiter=self._source.delimiter)
        try:
            with self._open() as file:
                table = arrow_csv.read_csv(
                    file, read_options=blocks, parse_options=parsing, convert_options=options
                ).slice(1)
            result = np.empty((table.num_rows, len(columns)), order="F")
            for k, column in enumerate(table.columns):
                text = compute.utf8_trim(column, BLANKS)
                try:
                    # PyArrow's `to_numpy` imports pandas.
                    result[:, k] = np.from_dlpack(text.cast(pa.float64()).combine_chunks())
                except pa.ArrowInvalid:
                    result[:, k] = text.cast(pa.bool_()).to_numpy()
        except pa.ArrowException:
            self._complain(columns, "some of its values are no numbers")
        if not np.isfinite(result).all():
            self._complain(columns, "not all values are finite")
        return result

    def _open(self) -> AbstractContextManager[IO[bytes]]:
        return opened_text(
            str(self.path),
            lambda: self.path.open("rb"),
            compressed=self.path.suffix.lower() == ".gz",
            encoding=self._source.encoding,
        )

    def _names(self, header: Sequence[str]) -> list[str]:
        require_delimiter(str(self.path), header, self._source.delimiter)
        return [name.strip(BLANKS) for name in header]

    def _first_record(self) -> list[str]:
        """Read the names in the first line that is not blank; a quoted one may have line breaks.

        A line of more than `LONGEST` bytes is no header. Rows behind it say nothing of it.
        """
        with self._open() as file:
            # Byte for byte, and lines by any line end.
            text = io.TextIOWrapper(file, BYTE_FOR_BYTE, newline="")
            try:
                lines = _lines_of_header(text)
                rows = csv.reader(lines, strict=True, delimiter=self._source.delimiter)
                found = next(filter(None, rows), None)
                row = found and [name.encode(BYTE_FOR_BYTE).decode("utf-8") for name in found]
                if row and any("\0" in name for name in row):
                    raise UnicodeError
            except UnicodeError:
                raise InvalidInput(
                    f"{self.path}: the header is {not_in(self._source.encoding)}"
                ) from None
            except csv.Error as error:
                raise InvalidInput(
                    f"{self.path}: the header is not written as it must be: {error}"
                ) from error
            finally:
                text.detach()
        if row is None:
            raise InvalidInput(f"{self.path}: the file is empty")
        return row

    def _has_quotes(self) -> bool:
        """Return whether there is any quote; raise `InvalidInput` where the text is not UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        line, quotes = 1, False
        with self._open() as file:
            chunk = file.read(CHUNK)
            if INSTEAD_OF_NUL in chunk[:1000]:
                raise InvalidInput(
                    f"{self.path}: this is UTF-16 or no text; save the file as UTF-8, or say so "
                    "(--encoding utf-16)"
                )
            while True:
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    line += error.object.count(b"\n", 0, error.start)
                    raise InvalidInput(
                        f"{self.path}: (sensitive) line {line} has a byte that is "
                        f"{not_in(self._source.encoding)}"
                    ) from error
                if not chunk:
                    return quotes
                line += chunk.count(b"\n")
                quotes = quotes or b'"' in chunk
                chunk = file.read(CHUNK)

    def _records(self) -> Generator[tuple[int, list[str]]]:
        """Yield rows that are not blank, each with the number of its last line, counted from 1.

        Raises `InvalidInput` where quotes are not as they must be.
        """
        with self._open() as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
            rows = csv.reader(text, strict=True, delimiter=self._source.delimiter)
            first = 1
            try:
                for row in rows:
                    first = rows.line_num + 1
                    if row:
                        yield rows.line_num, row
            except csv.Error as error:
                if "end of data" in str(error):
                    what = "opens a quote that is never closed"
                elif "field limit" in str(error):
                    what = (
                        f"has a value of more than {csv.field_size_limit():,} letters; is a quote "
                        "left open?"
                    )
                else:
                    what = f"is not written as it must be: {error}"
                raise InvalidInput(f"{self.path}: (sensitive) line {first} {what}") from error

    def _complain(self, columns: Sequence[str], otherwise: str) -> NoReturn:
        """Raise `InvalidInput` for the first line that is wrong in one of the columns."""
        with closing(self._records()) as rows:
            _, header = next(rows)
            places = {name.strip(BLANKS): k for k, name in enumerate(header)}
            chosen = sorted(places[name] for name in columns)
            for line, row in rows:
                if len(row) != len(header):
                    raise InvalidInput(
                        f"{self.path}: (sensitive) line {line} has {len(row):,} values, the header "
                        f"has {len(header):,}"
                    )
                for k in chosen:
                    if fault := _fault(row[k]):
                        raise InvalidInput(
                            f"{self.path}: (sensitive) line {line}, column "
                            f"{header[k].strip(BLANKS)!r} holds {fault}"
                        )
        raise InvalidInput(
            f"{self.path}: (sensitive) {otherwise}; {ADVICE}, and a column must not mix them"
        )


def _lines_of_header(text: TextIO) -> Iterator[str]:
    """Yield lines until they have more letters together than a header may have."""
    read = 0
    while read < LONGEST and (line := text.readline(LONGEST)):
        read += len(line)
        yield line


def _fault(text: str) -> str:
    """Return what is wrong about a value, without the value, and the remedy; "" if nothing is."""
    stripped = text.strip(BLANKS)
    if not stripped:
        return f"nothing; {SCHEMA_ADVICE}"
    if stripped.lower() in {"true", "false"}:
        return ""
    if DATE.fullmatch(stripped):
        return f"a date; {DATE_ADVICE}"
    # Python reads 1_000, digits of any script and blanks of any kind, PyArrow does not.
    plain = stripped.isascii() and "_" not in stripped
    try:
        number = float(stripped)
    except ValueError:
        return f"text that is no number; {SCHEMA_ADVICE}"
    return "" if plain and math.isfinite(number) else f"no finite number; {ADVICE}"


class _ColumnsReader:
    """A file with a header of columns; the codes of no value that it declares are none."""

    def __init__(self, source: TableFile) -> None:
        self.path = Path(source.path)
        (self._part,) = stored_parts(source)

    def header(self) -> list[str]:
        return list(self._part.names)

    def column_names(self) -> list[str]:
        return self.header()

    def read(self, columns: Sequence[str]) -> FloatArray:
        fields = [self._field(name) for name in columns]
        read, rows = [[np.empty(0)] for _ in columns], 0
        for batch in self._part.read(columns):
            for k, field in enumerate(fields):
                read[k].append(values.numbers(batch.column(k), field))
                for i in np.flatnonzero(~np.isfinite(read[k][-1]))[:1].tolist():
                    held = "no finite number" if batch.column(k)[i].is_valid else "nothing"
                    raise InvalidInput(
                        f"{self.path}: (sensitive) row {rows + i} (counted from 0), column "
                        f"{shown(columns[k])} holds {held}; {SCHEMA_ADVICE}"
                    )
            rows += batch.num_rows
        result = np.empty((rows, len(columns)), order="F")
        for k, pieces in enumerate(read):
            np.concatenate(pieces, out=result[:, k])
        return result

    def _field(self, name: str) -> Field:
        """Describe the column as numbers, with the codes of no value that its file declares."""
        said = self._part.fields[self._part.names.index(name)]
        declared = {key: said[key] for key in ("missingValues",) if key in said}
        return field_of({"name": "x", "type": "number", **declared}, ("",), name)


class _ParquetReader(_ColumnsReader):
    """A Parquet file, without the index that pandas may have stored."""

    def __init__(self, source: TableFile) -> None:
        try:
            self._schema = parquet.read_schema(source.path)
            index = (self._schema.pandas_metadata or {}).get("index_columns", [])
        except (pa.ArrowException, ValueError) as error:
            raise InvalidInput(f"{source}: not a Parquet file: {error}") from error
        super().__init__(source)
        self._names = [name for name in self._schema.names if name not in index]

    def header(self) -> list[str]:
        return self._names

    def read(self, columns: Sequence[str]) -> FloatArray:
        for name in columns:
            kind = self._schema.field(name).type
            if not (pa.types.is_null(kind) or pa.types.is_boolean(kind) or is_numeric(kind)):
                advice = DATE_ADVICE if pa.types.is_temporal(kind) else SCHEMA_ADVICE
                raise InvalidInput(f"{self.path}: column {shown(name)} is of type {kind}; {advice}")
        return super().read(columns)
