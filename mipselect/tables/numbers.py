"""Tables of numbers from files; what is not a finite number is named and refused.

Files are read as those with a schema are. Of CSV a second pass with strict rules finds the line to
complain about.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from mipselect.arrays import FloatArray
from mipselect.disk import regular_file
from mipselect.errors import InvalidInput
from mipselect.frames import ADVICE, refuse_stored_index
from mipselect.problem.descriptions import WAYS
from mipselect.tables import parts, values
from mipselect.tables.fields import BLANKS, NUMBERS, Field, field_of
from mipselect.tables.sources import CSV, PARQUET, kind_of_file, stored_parts
from mipselect.validation import checked_name, listed, shown

SCHEMA_ADVICE = (
    f"{ADVICE}: leave this column out (name the features to use), or describe the table in a "
    "schema, which knows categories, dates, decimal commas and missing values ('mipselect "
    "describe', then --schema)"
)
CHUNK = 1 << 20
A_NUMBER = Field("x", "number")


def table_file(data: Mapping[str, Any], folder: Path) -> parts.TableFile:
    """Return the file or the URL of the source "table"."""
    path = data["path"]
    ways = {key: data[key] for key in WAYS if key in data}
    return parts.TableFile(path if "://" in path else folder / path, **ways)


def read_table(
    source: str | Path | parts.TableFile, target: str, features: Sequence[str] | None = None
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
        Naming the file, and where it applies the line (CSV, counted from 1) or row (others,
        counted from 0) and the column; never the value. What tells something of the rows is
        marked as sensitive.
    """
    file, part = _opened(source)
    path = Path(file.path)
    chosen = choose_columns(path, _column_names(file, part), target, features)
    columns = [target, *chosen]
    try:
        if kind_of_file(str(path)) == CSV:
            table = _numbers_of_csv(file, part, columns)
        else:
            table = _numbers_of(part, columns)
    except MemoryError as error:
        raise InvalidInput(f"{path}: too large for the memory here: {error}") from error
    if len(table) == 0:
        raise InvalidInput(f"{path}: the table has no rows")
    return table[:, 1:], table[:, 0], chosen


def number_table(
    source: str | Path | parts.TableFile, target: str, features: Sequence[str] | None = None
) -> pa.Table:
    """Read the same as a table of Arrow, with the target behind the features."""
    X, y, names = read_table(source, target, features)
    return pa.table({**{name: X[:, j] for j, name in enumerate(names)}, target: y})


def header(
    source: str | Path | parts.TableFile, target: str, features: Sequence[str] | None
) -> tuple[str, ...]:
    """Read the names of the features; see `read_table`. Only the header of a CSV file is read.

    Raises
    ------
    InvalidInput
        For what is wrong with the name of the file or its header.
    """
    file, part = _opened(source)
    return choose_columns(Path(file.path), _column_names(file, part), target, features)


def _opened(source: str | Path | parts.TableFile) -> tuple[parts.TableFile, parts.Part]:
    file = source if isinstance(source, parts.TableFile) else parts.TableFile(source)
    kind_of_file(str(file.path))
    regular_file(Path(file.path))
    (part,) = stored_parts(file)
    return file, part


def _column_names(file: parts.TableFile, part: parts.Part) -> Sequence[str]:
    """Return the names, without the index that pandas may have stored in a Parquet file."""
    if kind_of_file(str(file.path)) != PARQUET:
        return part.names
    index = (parquet.read_schema(file.path).pandas_metadata or {}).get("index_columns", [])
    return [name for name in part.names if name not in index]


def choose_columns(
    path: Path, columns: Sequence[str], target: str, features: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the names of the features; raise `InvalidInput` for what the file does not have."""
    chosen = tuple(name for name in columns if name != target) if features is None else features
    if features is None:
        # As readers of a file count, with the target.
        places = (place for place, name in enumerate(columns, start=1) if name != target)
        refuse_stored_index(chosen, str(path), places)
    parts.require_columns(str(path), (target, *chosen), columns)
    if not chosen:
        raise InvalidInput(f"{path}: there is no feature besides the target {target!r}")
    if target in chosen:
        raise InvalidInput(f"{path}: the target {target!r} cannot be a feature as well")
    if len(set(chosen)) < len(chosen):
        twice = [name for name, count in Counter(chosen).items() if count > 1]
        raise InvalidInput(f"{path}: a feature is listed twice: {listed(twice)}")
    return tuple(checked_name(name, f"{path}: the name of a column") for name in chosen)


def _numbers_of(part: parts.Part, columns: Sequence[str]) -> FloatArray:
    """Return columns as an array of shape (n, len(columns)); raise where one is no number."""
    for name, field in zip(part.names, part.fields, strict=True):
        kind = field["type"]
        if part.has_types and name in columns and kind not in (*NUMBERS, "boolean"):
            raise InvalidInput(
                f"{part.label}: column {shown(name)} is of type {kind}; {SCHEMA_ADVICE}"
            )
    table = _read(part, columns)
    for row, k in np.argwhere(~np.isfinite(table))[:1].tolist():
        raise InvalidInput(
            f"{part.label}: (sensitive) row {row} (counted from 0), column {shown(columns[k])} "
            f"holds no finite number; {SCHEMA_ADVICE}"
        )
    return table


def _numbers_of_csv(file: parts.TableFile, part: parts.Part, columns: Sequence[str]) -> FloatArray:
    """Return the same of CSV, whose blank lines are no rows.

    Whatever tells something of the rows says that it is sensitive, and quotes no value.
    """
    table = _read(part, columns)
    finite = np.isfinite(table).all(axis=1)
    if finite.all() and _is_plain(file):
        return table
    records = _checked_records(file, () if finite.all() else columns)
    if finite.sum() != records:
        raise InvalidInput(f"{file}: (sensitive) not all values are finite; {ADVICE}")
    return table[finite]


def _read(part: parts.Part, columns: Sequence[str]) -> FloatArray:
    """Return the numbers of columns, NaN where there is none."""
    fields = [_field(part, name) for name in columns]
    read: list[FloatArray] = [np.empty((0, len(columns)))]
    for batch in part.read(columns):
        pairs = zip(batch.columns, fields, strict=True)
        read.append(np.column_stack([_doubles(column, field) for column, field in pairs]))
    return np.concatenate(read)


def _doubles(column: pa.Array, field: Field) -> FloatArray:
    """Return the numbers of a column, NaN where there is none, shape (rows,)."""
    if pa.types.is_binary(column.type) and not column.null_count:
        try:
            # Without a value of Python among them, for which PyArrow would import pandas.
            texts = compute.utf8_trim(column.cast(pa.string()), BLANKS)
            return np.from_dlpack(texts.cast(pa.float64())).astype(np.float64, copy=False)
        except pa.ArrowInvalid:
            pass
    return values.numbers(column, field)


def _field(part: parts.Part, name: str) -> Field:
    """Describe the column as numbers, with the codes of no value that its file declares."""
    said = part.fields[part.names.index(name)]
    declared = {key: said[key] for key in ("missingValues",) if key in said}
    return field_of({"name": "x", "type": "number", **declared}, ("",), name)


def _is_plain(file: parts.TableFile) -> bool:
    """Return whether a file is UTF-8 without quotes.

    A quote that is left open would take the lines behind it for one value.
    """
    decoder = codecs.getincrementaldecoder(parts.UTF8)()
    try:
        with _text(file) as text:
            while chunk := text.read(CHUNK):
                decoder.decode(chunk)
                if b'"' in chunk:
                    return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _checked_records(file: parts.TableFile, columns: Sequence[str]) -> int:
    """Count the records; raise `InvalidInput` for the first that is wrong in one of the columns."""
    records, count = _records(file), 0
    _, names = next(records)
    places = {name.strip(BLANKS): k for k, name in enumerate(names)}
    chosen = sorted(places[name] for name in columns)
    for line, row in records:
        count += 1
        if len(row) != len(names):
            raise InvalidInput(
                f"{file}: (sensitive) line {line} has {len(row):,} values, the header has "
                f"{len(names):,}"
            )
        for k in chosen:
            number = A_NUMBER.number(row[k])
            if number is None or not math.isfinite(number):
                held = "no finite number" if row[k].strip(BLANKS) else "nothing"
                raise InvalidInput(
                    f"{file}: (sensitive) line {line}, column {names[k].strip(BLANKS)!r} holds "
                    f"{held}; {SCHEMA_ADVICE}"
                )
    return count


def _records(file: parts.TableFile) -> Generator[tuple[int, list[str]]]:
    """Yield records that are not blank, each with the number of its last line, counted from 1.

    Raises `InvalidInput` where they are no text, or quotes are not as they must be.
    """
    with _text(file) as raw:
        # Lines by any line end, byte for byte; then each is decoded by itself.
        text = io.TextIOWrapper(raw, parts.BYTE_FOR_BYTE, newline="")
        lines = (line.encode(parts.BYTE_FOR_BYTE).decode(parts.UTF8) for line in text)
        rows, first = csv.reader(lines, strict=True, delimiter=file.delimiter), 1
        try:
            for row in rows:
                first = rows.line_num + 1
                if row:
                    yield rows.line_num, row
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{file}: (sensitive) line {rows.line_num + 1} has a byte that is {parts.NO_UTF8}"
            ) from error
        except csv.Error as error:
            if "end of data" in str(error):
                what = "opens a quote that is never closed"
            elif "field limit" in str(error):
                most = csv.field_size_limit()
                what = f"has a value of more than {most:,} letters; is a quote left open?"
            else:
                what = f"is not written as it must be: {error}"
            raise InvalidInput(f"{file}: (sensitive) line {first} {what}") from error


def _text(file: parts.TableFile) -> AbstractContextManager[IO[bytes]]:
    path = Path(file.path)
    is_gzip = path.suffix.lower() == ".gz"
    return parts.CsvRows(str(path), lambda: path.open("rb"), is_gzip).text()
