"""Tables of numbers from CSV and Parquet files; what is not a finite number is named and refused.

Nothing is ever unpickled. PyArrow reads the file; where it cannot, or finds something that is not
a finite number, a slow second pass finds the line to complain about.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.frames import ADVICE, arrow_matrix, refuse_stored_index
from mipselect.validation import checked_name, listed


def read_table(
    path: str | Path, target: str, features: Sequence[str] | None = None
) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Read a numeric table with named columns.

    Parameters
    ----------
    path : str or Path
        A comma-separated file in UTF-8 with one header line (.csv, .csv.gz), or a Parquet file
        (.parquet).
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
        counted from 0), the column and the value.
    """
    path = Path(path)
    if path.name.endswith((".csv", ".csv.gz")):
        reader: _CsvReader | _ParquetReader = _CsvReader(path)
    elif path.suffix == ".parquet":
        reader = _ParquetReader(path)
    else:
        raise InvalidInput(f"{path}: a table must end in .csv, .csv.gz or .parquet")
    try:
        columns = reader.column_names()
        chosen = _choose_columns(path, columns, target, features)
        table = reader.read([target, *chosen])
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: cannot be read: {error}") from error
    if len(table) == 0:
        raise InvalidInput(f"{path}: the table has no rows")
    return table[:, 1:], table[:, 0], chosen


def _choose_columns(
    path: Path, columns: Sequence[str], target: str, features: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the names of the features; raise `InvalidInput` for what the file does not have."""
    counts = Counter(columns)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if repeated:
        raise InvalidInput(f"{path}: column names must differ; repeated: {listed(repeated)}")
    chosen = tuple(name for name in columns if name != target) if features is None else features
    for name in (target, *chosen):
        if name not in counts:
            close = difflib.get_close_matches(name, columns, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            if len(columns) == 1:
                hint += " (values must be separated by commas)"
            raise InvalidInput(
                f"{path}: there is no column {name!r}; columns: {listed(columns)}{hint}"
            )
    if not chosen:
        raise InvalidInput(f"{path}: there is no feature besides the target {target!r}")
    if target in chosen:
        raise InvalidInput(f"{path}: the target {target!r} cannot be a feature as well")
    if len(set(chosen)) < len(chosen):
        raise InvalidInput(f"{path}: a feature is listed twice: {listed(chosen)}")
    if features is None:
        refuse_stored_index(chosen, str(path))
    return tuple(checked_name(name, f"{path}: the name of a column") for name in chosen)


class _CsvReader:
    """A comma-separated file, plain or compressed by gzip."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def column_names(self) -> list[str]:
        for _, row in self._rows():
            return row
        raise InvalidInput(f"{self.path}: the file is empty")

    def read(self, columns: Sequence[str]) -> FloatArray:
        """Return the columns as an array of shape (n, len(columns)).

        They are parsed as text first: PyArrow would guess types from the first megabyte only.
        """
        import pyarrow as pa
        from pyarrow import compute
        from pyarrow import csv as arrow_csv

        options = arrow_csv.ConvertOptions(
            include_columns=columns, column_types=dict.fromkeys(columns, pa.string())
        )
        parsing = arrow_csv.ParseOptions(newlines_in_values=True)
        try:
            with self._open() as file:
                table = arrow_csv.read_csv(file, parse_options=parsing, convert_options=options)
            result = np.empty((table.num_rows, len(columns)), order="F")
            for k, name in enumerate(columns):
                text = compute.utf8_trim_whitespace(table[name])
                try:
                    result[:, k] = text.cast(pa.float64()).to_numpy()
                except pa.ArrowInvalid:
                    result[:, k] = text.cast(pa.bool_()).to_numpy()
        except pa.ArrowInvalid as error:
            self._complain(columns, str(error))
        if not np.isfinite(result).all():
            self._complain(columns, "not all values are finite")
        return result

    def _open(self) -> BinaryIO:
        if self.path.suffix == ".gz":
            # GzipFile is a BinaryIO in all but its declared type.
            return gzip.open(self.path, "rb")  # type: ignore[return-value]
        return self.path.open("rb")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not blank, each with the number of its last line, counted from 1."""
        with self._open() as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
            rows = csv.reader(text, strict=True)
            for row in rows:
                if row:
                    yield rows.line_num, row

    def _complain(self, columns: Sequence[str], otherwise: str) -> NoReturn:
        """Raise `InvalidInput` for the first line that is wrong."""
        rows = self._rows()
        _, header = next(rows)
        positions = [header.index(name) for name in columns]
        for line, row in rows:
            if len(row) != len(header):
                raise InvalidInput(
                    f"{self.path}: line {line} has {len(row)} values, the header has {len(header)}"
                )
            for k in sorted(positions):
                if not _is_finite_number(row[k]):
                    held = repr(row[k]) if row[k].strip() else "nothing"
                    raise InvalidInput(
                        f"{self.path}: line {line}, column {header[k]!r} holds {held}; {ADVICE}"
                    )
        raise InvalidInput(f"{self.path}: {otherwise}; {ADVICE}, and a column must not mix them")


class _ParquetReader:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def column_names(self) -> list[str]:
        """Names in the order of the file, without the index that pandas may have stored."""
        import pyarrow as pa
        from pyarrow import parquet

        try:
            schema = parquet.read_schema(self.path)
        except pa.ArrowInvalid as error:
            raise InvalidInput(f"{self.path}: not a Parquet file: {error}") from error
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        return [str(name) for name in schema.names if name not in index]

    def read(self, columns: Sequence[str]) -> FloatArray:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with self.path.open("rb") as file:
                table = parquet.ParquetFile(file).read(columns=list(columns))
        except pa.ArrowInvalid as error:
            raise InvalidInput(f"{self.path}: the Parquet file is damaged: {error}") from error
        return arrow_matrix(table.select(list(columns)), f"{self.path}: ").astype(float, copy=False)


def _is_finite_number(text: str) -> bool:
    stripped = text.strip()
    if stripped.lower() in {"true", "false"}:
        return True
    try:
        # Python reads 1_000 as a number, PyArrow does not.
        return math.isfinite(float(stripped)) and "_" not in stripped
    except ValueError:
        return False
