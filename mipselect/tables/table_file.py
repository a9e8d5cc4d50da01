"""`TableFile`: a file of a table, with what one has to know to read it, and its text as UTF-8.

A byte that cannot be decoded becomes bytes that are no UTF-8. CSV is read in encodings where each
byte is a letter, so that a byte in one row changes no other row.
"""

from __future__ import annotations

import codecs
import importlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mipselect.errors import InvalidInput
from mipselect.validation import set_fields, shown

COMMA = ","
UTF8 = "utf-8"
LOST = "mipselect.lost"
CHUNK = 1 << 20


@dataclass(frozen=True)
class TableFile:
    """A table in files, with the way they are written; a source wherever a path is one.

    Parameters
    ----------
    path : str or Path
        A file, a URL, a folder or a pattern.
    delimiter : str
        What stands between two values of a CSV file: one ASCII character.
    encoding : str
        Encoding of CSV, SPSS, Stata and SAS files, by its name in Python; of CSV one in which
        each byte is a letter. Files of the last three usually say theirs, which holds unless
        another one than UTF-8 is given.
    sheet : str, optional
        Sheet of an Excel file; default: the first one.

    Raises
    ------
    InvalidInput
        Naming what is wrong with one of them.

    Notes
    -----
    What is given must apply: a delimiter for a Parquet file is refused when it is opened.

    A value that cannot be decoded is in no list of categories and is no number; nothing is
    refused for it, and no other value changes.

    Examples
    --------
    >>> from mipselect.tables import TableFile
    >>> TableFile("visits.csv", delimiter=";", encoding="cp1252").delimiter
    ';'
    """

    path: str | Path
    delimiter: str = COMMA
    encoding: str = UTF8
    sheet: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path):
            raise InvalidInput(f"path must be a str or a Path, got {shown(self.path)}")
        mark = self.delimiter
        plain = isinstance(mark, str) and len(mark) == 1 and (mark.isprintable() or mark == "\t")
        if not plain or not mark.isascii() or mark == '"' or mark.isalnum():
            raise InvalidInput(
                "delimiter must be one character of ASCII between two values, such as ';' or a "
                f"tab, and no letter, digit or quote; got {shown(mark)}"
            )
        if self.sheet is not None and not isinstance(self.sheet, str):
            raise InvalidInput(f"sheet must be the name of a sheet, got {shown(self.sheet)}")
        set_fields(self, encoding=checked_encoding(self.encoding))

    def __str__(self) -> str:
        return str(self.path)

    @property
    def is_utf8(self) -> bool:
        """True unless another encoding was given."""
        return self.encoding == UTF8


def checked_encoding(name: str, what: str = "encoding") -> str:
    """Return the name of an encoding as Python knows it, "utf-8" for its variants with a mark.

    Raises
    ------
    InvalidInput
        If there is no such encoding.
    """
    try:
        found = codecs.lookup(name)
        "\n".encode(found.name)
    except (LookupError, UnicodeError, ValueError, AttributeError, TypeError):
        raise InvalidInput(
            f"{what}: no encoding of texts is called {shown(name)}; known are utf-8, latin-1, "
            "cp1252 and all others of Python"
        ) from None
    known = found.name.replace("_", "-")
    return UTF8 if known == "utf-8-sig" else known


def is_one_byte(encoding: str) -> bool:
    """Return whether each byte is a letter, whatever stands before it."""
    module = f"encodings.{encoding.replace('-', '_')}"
    return encoding == "ascii" or hasattr(importlib.import_module(module), "decoding_table")


def in_utf8(content: bytes, encoding: str) -> bytes:
    """Convert bytes to UTF-8, but for what cannot be decoded."""
    return content.decode(encoding, LOST).encode(UTF8, "surrogatepass")


# A surrogate in the place of each byte that cannot be decoded.
codecs.register_error(LOST, lambda error: ("\udcff", error.start + 1))  # type: ignore[attr-defined]


class Transcoded(io.RawIOBase):
    """A stream in UTF-8 of a stream in another encoding, whose bytes are letters."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._file, self._encoding, self._ready = file, encoding, b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """See `io.RawIOBase`."""
        if not self._ready:
            self._ready = in_utf8(self._file.read(CHUNK), self._encoding)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count
