"""The text of a CSV file: is it UTF-8, are its quotes closed, and which line is wrong.

Whatever tells something of the rows says that it is sensitive, and quotes no value.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn, TextIO

from mipselect.errors import InvalidInput
from mipselect.frames import ADVICE
from mipselect.tables.csv_rows import BYTE_FOR_BYTE, INSTEAD_OF_NUL, not_in
from mipselect.tables.fields import BLANKS

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


def has_quotes(file: BinaryIO, path: Path, encoding: str = "utf-8") -> bool:
    """Return whether there is any quote; raise `InvalidInput` where the text is not UTF-8.

    `encoding` is that of the file, of which `file` is a translation.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, quotes, chunk = 1, False, file.read(CHUNK)
    if (
        chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        or INSTEAD_OF_NUL in chunk[:1000]
    ):
        raise InvalidInput(
            f"{path}: this is UTF-16 or no text; save the file as UTF-8, or say so (--encoding "
            "utf-16)"
        )
    while True:
        try:
            decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise InvalidInput(
                f"{path}: (sensitive) line {line} has a byte that is {not_in(encoding)}"
            ) from error
        if not chunk:
            return quotes
        line += chunk.count(b"\n")
        quotes = quotes or b'"' in chunk
        chunk = file.read(CHUNK)


def records(file: BinaryIO, path: Path, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not blank, each with the number of its last line, counted from 1.

    Raises
    ------
    InvalidInput
        Where quotes are not as they must be.
    """
    with io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        rows = csv.reader(text, strict=True, delimiter=delimiter)
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
                    f"has a value of more than {csv.field_size_limit():,} letters; is a quote left "
                    "open?"
                )
            else:
                what = f"is not written as it must be: {error}"
            raise InvalidInput(f"{path}: (sensitive) line {first} {what}") from error


def first_record(file: BinaryIO, path: Path, encoding: str, delimiter: str) -> list[str]:
    """Read the names in the first line that is not blank; a quoted one may have line breaks.

    A line of more than `LONGEST` bytes is no header. What else the arguments are `has_quotes` says.

    Raises
    ------
    InvalidInput
        For what is wrong with the header; rows behind it say nothing of it.
    """
    # Byte for byte, and lines by any line end.
    text = io.TextIOWrapper(file, BYTE_FOR_BYTE, newline="")
    try:
        rows = csv.reader(_lines_of_header(text), strict=True, delimiter=delimiter)
        found = next(filter(None, rows), None)
        row = found and [name.encode(BYTE_FOR_BYTE).decode("utf-8") for name in found]
        if row and any("\0" in name for name in row):
            raise UnicodeError
    except UnicodeError:
        raise InvalidInput(f"{path}: the header is {not_in(encoding)}") from None
    except csv.Error as error:
        raise InvalidInput(f"{path}: the header is not written as it must be: {error}") from error
    finally:
        text.detach()
    if row is None:
        raise InvalidInput(f"{path}: the file is empty")
    return row


def _lines_of_header(text: TextIO) -> Iterator[str]:
    """Yield lines until they have more letters together than a header may have."""
    read = 0
    while read < LONGEST and (line := text.readline(LONGEST)):
        read += len(line)
        yield line


def complain(
    rows: Iterator[tuple[int, list[str]]], path: Path, columns: Sequence[str], otherwise: str
) -> NoReturn:
    """Raise `InvalidInput` for the first line that is wrong in one of the columns."""
    _, header = next(rows)
    positions = {name.strip(BLANKS): k for k, name in enumerate(header)}
    chosen = sorted(positions[name] for name in columns)
    for line, row in rows:
        if len(row) != len(header):
            raise InvalidInput(
                f"{path}: (sensitive) line {line} has {len(row):,} values, the header has "
                f"{len(header):,}"
            )
        for k in chosen:
            if fault := _fault(row[k]):
                name = header[k].strip(BLANKS)
                raise InvalidInput(
                    f"{path}: (sensitive) line {line}, column {name!r} holds {fault}"
                )
    raise InvalidInput(f"{path}: (sensitive) {otherwise}; {ADVICE}, and a column must not mix them")


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
