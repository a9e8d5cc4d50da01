"""Shapes and names of stored data, from what stands before the first row."""

from __future__ import annotations

import csv
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from mipselect.disk import regular_file, unreadable
from mipselect.errors import InvalidInput
from mipselect.tables.csv_rows import BYTE_FOR_BYTE, not_in, opened_text, require_delimiter
from mipselect.tables.fields import BLANKS
from mipselect.tables.numbers import choose_columns, parquet_columns
from mipselect.tables.stored_files import (
    CSV,
    PARQUET,
    kind_of_file,
    require_way,
    stored_parts,
)
from mipselect.tables.table_file import TableFile

DAMAGE = (
    *(OSError, EOFError, ValueError, KeyError, RuntimeError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, struct.error, OverflowError, SyntaxError, TypeError),
    MemoryError,
)
"""Exceptions that NumPy and its unpacker raise for files that are not what they seem."""


def header(
    source: str | Path | TableFile,
    target: str,
    features: Sequence[str] | None,
    *,
    longest: int = 1 << 24,
) -> tuple[str, ...]:
    """Read the names of the features; see `read_table`. Only the header of a CSV file is read.

    A line of more than `longest` bytes is no header.

    Raises
    ------
    InvalidInput
        For what is wrong with the name of the file or its header.
    """
    file = source if isinstance(source, TableFile) else TableFile(source)
    path = Path(file.path)
    kind = kind_of_file(str(path), of_numbers=True)
    require_way(file, kind)
    regular_file(path)
    try:
        if kind == PARQUET:
            columns = parquet_columns(path)
        elif kind == CSV:
            columns = _first_record(file, longest)
        else:
            columns = [name for part in stored_parts(file) for name in part.names]
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error
    return choose_columns(path, columns, target, features)


def _first_record(file: TableFile, longest: int) -> list[str]:
    """Read the names in the first line that is not blank; a quoted one may have line breaks."""
    path = Path(file.path)
    packed = path.suffix.lower() == ".gz"
    with opened_text(
        str(path), lambda: path.open("rb"), compressed=packed, encoding=file.encoding
    ) as stream:
        # Byte for byte, and lines by any line end, for rows behind the header say nothing of it.
        text = io.TextIOWrapper(stream, BYTE_FOR_BYTE, newline="")
        lines = _up_to(text, longest)
        try:
            rows = csv.reader(lines, strict=True, delimiter=file.delimiter)
            found = next(filter(None, rows), None)
            row = found and [name.encode(BYTE_FOR_BYTE).decode("utf-8") for name in found]
            if row and any("\0" in name for name in row):
                raise UnicodeError
        except UnicodeError:
            raise InvalidInput(f"{path}: the header is {not_in(file.encoding)}") from None
        except csv.Error as error:
            raise InvalidInput(
                f"{path}: the header is not written as it must be: {error}"
            ) from error
        finally:
            text.detach()
    if row is None:
        raise InvalidInput(f"{path}: the file is empty")
    require_delimiter(str(path), row, file.delimiter)
    return [name.strip(BLANKS) for name in row]


def _up_to(text: TextIO, longest: int) -> Iterator[str]:
    """Yield lines until they have more than so many letters together."""
    read = 0
    while read < longest and (line := text.readline(longest)):
        read += len(line)
        yield line


def npz_shape(path: Path) -> tuple[int, int]:
    """Read (n, p) of X from the head of the array."""
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
