"""Text of any encoding as UTF-8; what cannot be decoded becomes bytes that are no UTF-8.

No encoding that is taken has letters in which a line end is a part, and none remembers
anything beyond a line end; of a letter that is cut off one byte is lost, and not the line end or
the quote behind it. So a byte in one row changes no other row.
"""

from __future__ import annotations

import codecs
import io
from typing import IO

from mipselect.errors import InvalidInput
from mipselect.validation import shown

UTF8 = "utf-8"
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
"""Encodings of two or four bytes a letter, in which the byte of a line end may be a part of one."""

STATEFUL = ("utf-7", "hz", "iso2022")
"""Encodings in which a byte can change what all bytes behind it stand for."""

NO_TEXT = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "mbcs", "oem")
LOST = "mipselect.lost"
"""Error handler that puts a surrogate in the place of what cannot be decoded."""

CHUNK = 1 << 20


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
