"""Shapes and names of stored data, from what stands before the first row."""

from __future__ import annotations

import csv
import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from mipselect.disk import regular_file, unreadable
from mipselect.errors import InvalidInput
from mipselect.tables.numbers import choose_columns, parquet_columns

DAMAGE = (
    *(OSError, EOFError, ValueError, KeyError, RuntimeError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, struct.error, OverflowError, SyntaxError, TypeError),
    MemoryError,
)
"""Exceptions that NumPy and its unpacker raise for files that are not what they seem."""


def header(
    path: Path, target: str, features: Sequence[str] | None, *, longest: int = 1 << 24
) -> tuple[str, ...]:
    """The names of the features; see `read_table`. Of a CSV file the first record is read.

    A line of more than `longest` bytes is no header.

    Raises
    ------
    InvalidInput
        For what is wrong with the name of the file or its header.
    """
    try:
        if path.suffix == ".parquet":
            columns = parquet_columns(regular_file(path))
        elif path.name.endswith(".csv.gz"):
            with gzip.open(regular_file(path), "rb") as file:
                columns = _first_record(file, path, longest)  # type: ignore[arg-type]
        elif path.suffix == ".csv":
            with regular_file(path).open("rb") as file:
                columns = _first_record(file, path, longest)
        else:
            raise InvalidInput(f"{path}: a table must end in .csv, .csv.gz or .parquet")
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error
    return choose_columns(path, columns, target, features)


def _first_record(file: BinaryIO, path: Path, longest: int) -> list[str]:
    """The names in the first line that is not blank; a quoted one may have line breaks."""
    written = b""
    while len(written) < longest:
        line = file.readline(longest)
        written += line
        if not line or (written.strip() and written.count(b'"') % 2 == 0):
            break
    try:
        text = written.decode("utf-8-sig")
        if "\0" in text:
            raise UnicodeError
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except UnicodeError:
        raise InvalidInput(f"{path}: the header is not UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise InvalidInput(f"{path}: the header is not written as it must be: {error}") from error
    if not rows:
        raise InvalidInput(f"{path}: the file is empty")
    return rows[0]


def npz_shape(path: Path) -> tuple[int, int]:
    """(n, p) of X, from the head of the array."""
    regular_file(path)
    try:
        with zipfile.ZipFile(path) as archive, archive.open("X.npy") as file:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            n, p = read(file)[0]
    except DAMAGE as error:
        raise InvalidInput(f"{path}: cannot be read as .npz with a table X: {error}") from error
    return int(n), int(p)
