"""`TableFile`: a file of a table, with what one has to know to read it, and its text as UTF-8.

What cannot be decoded becomes bytes that are no UTF-8. No encoding that is taken has letters in
which a line end is a part, and none remembers anything beyond a line end; of a letter that is cut
off one byte is lost, and not the line end or the quote behind it. So a byte in one row changes no
other row.
"""

from __future__ import annotations

import codecs
import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mipselect.errors import InvalidInput
from mipselect.validation import set_fields, shown

COMMA = ","
UTF8 = "utf-8"
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
"""Encodings of two or four bytes a letter, in which the byte of a line end may be a part of one."""

STATEFUL = ("utf-7", "hz", "iso2022")
"""Encodings in which a byte can change what all bytes behind it stand for."""

NO_TEXT = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "mbcs", "oem")
LOST = "mipselect.lost"
"""Error handler that puts a surrogate in the place of what cannot be decoded."""

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
        Encoding of CSV, SPSS, Stata and SAS files, by its name in Python. Files of the
        last three usually say theirs, which holds unless another one than UTF-8 is given.
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


def _lost(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udcff", error.end if error.encoding in WIDE else error.start + 1


codecs.register_error(LOST, _lost)


def checked_encoding(name: str, what: str = "encoding") -> str:
    """Return the name of an encoding as Python knows it, "utf-8" for its variants with a mark.

    Raises
    ------
    InvalidInput
        If there is no such encoding, or rows are not apart in it.
    """
    if not isinstance(name, str):
        raise InvalidInput(f"{what} must be the name of an encoding, got {shown(name)}")
    try:
        found = codecs.lookup(name)
        "\n".encode(found.name)
    except (LookupError, UnicodeError, ValueError, AttributeError, TypeError):
        raise InvalidInput(
            f"{what}: no encoding of texts is called {shown(name)}; known are utf-8, latin-1, "
            "cp1252, utf-16 and all others of Python"
        ) from None
    known = found.name.replace("_", "-")
    if known in NO_TEXT or known.startswith(STATEFUL):
        raise InvalidInput(
            f"{what}: in {shown(name)} no row can be read by itself; save the file as UTF-8"
        )
    return UTF8 if known == "utf-8-sig" else known


def in_utf8(content: bytes, encoding: str) -> bytes:
    """Convert bytes to UTF-8, but for what cannot be decoded."""
    return content.decode(encoding, LOST).encode(UTF8, "surrogatepass")


class Transcoded(io.RawIOBase):
    """A stream in UTF-8 of a stream in another encoding.

    Parameters
    ----------
    file : binary stream
    encoding : str
        As `checked_encoding` returns it.
    """

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._file, self._encoding = file, encoding
        self._ready, self._line = b"", b""
        self._wide = None
        if encoding in WIDE:
            self._wide = codecs.getincrementaldecoder(encoding)(LOST)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """See `io.RawIOBase`."""
        while not self._ready:
            content = self._file.read(CHUNK)
            self._ready = self._decoded(content)
            if not content:
                break
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decoded(self, content: bytes) -> bytes:
        """Decode the next piece; no content is the end."""
        if self._wide is not None:
            return self._wide.decode(content, not content).encode(UTF8, "surrogatepass")
        whole = self._line + content
        end = max(whole.rfind(b"\n"), whole.rfind(b"\r")) + 1 if content else len(whole)
        lines, self._line = whole[:end], whole[end:]
        return in_utf8(lines, self._encoding)
