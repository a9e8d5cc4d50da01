"""Common steps of file access: every reader begins with a check for a regular file of sensible
size, and every writer ends with a file that is written whole or not at all.
"""

from __future__ import annotations

import os
import stat
import struct
import tempfile
import tomllib
import zipfile
import zlib
from pathlib import Path
from typing import Any

from mipselect.errors import InvalidInput, MipselectError
from mipselect.validation import printable

FOR_ITS_OWNER = 0o600

DAMAGE = (
    *(OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError),
    *(RuntimeError, SyntaxError, zipfile.BadZipFile, zlib.error, struct.error),
)
"""Exceptions that NumPy, openpyxl and unpackers raise for files that are not what they seem."""


def regular_file(path: Path) -> Path:
    """Return `path`; raise `InvalidInput` unless it names a regular file.

    A pipe would be waited for, and a device may have no end.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        advice = (
            "" if str(path) != "-" else "; standard input is not read: write it to a file first"
        )
        raise InvalidInput(f"{path}: no such file{advice}") from None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"{path}: cannot be read: it is a folder")
    if not stat.S_ISREG(mode):
        raise InvalidInput(
            f"{path}: cannot be read: it is a pipe or a device; write its content to a file first"
        )
    return path


def small_text(path: Path, most: int, advice: str = "save the file as UTF-8") -> str:
    """Return the content of a text file in UTF-8, with or without a byte order mark.

    `advice` ends the message on a file that is no UTF-8.

    Raises
    ------
    InvalidInput
        If it cannot be read, is no UTF-8 or has more than `most` bytes.
    """
    return text_of(small_content(path, most), path, advice)


def text_of(content: bytes, path: Path, advice: str = "save the file as UTF-8") -> str:
    """Return the text that a file holds; see `small_text`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{path}: line {line} is not UTF-8; {advice}") from error


def small_content(path: Path, most: int) -> bytes:
    """Return the content of a regular file; `InvalidInput` if it has more than `most` bytes."""
    try:
        with regular_file(path).open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(content) > most:
        raise InvalidInput(f"{path}: cannot be read: it has more than {most:,} bytes")
    return content


def unreadable(path: Path, error: Exception) -> InvalidInput:
    """Return an error with what the system said, without the name of the file a second time."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return InvalidInput(f"{path}: cannot be read: {reason}")


def read_toml(path: Path, most: int) -> dict[str, Any]:
    """Read the content of a TOML file of at most so many bytes.

    Raises
    ------
    InvalidInput
        If it cannot be read, is too large or no TOML.
    """
    text = small_text(path, most)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidInput(f"{path}: not valid TOML: it is nested too deeply") from None
    except ValueError as error:
        # An integer with thousands of digits is a plain ValueError.
        raise InvalidInput(f"{path}: not valid TOML: {printable(str(error))}") from error


def write_whole(path: Path, content: bytes, *, sensitive: bool = False) -> None:
    """Write a file whole, or not at all if that fails.

    A file that is replaced hands its mode on; a sensitive one is for its owner only.

    Raises
    ------
    OSError
        If it cannot be written; then nothing was.
    """
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".mipselect-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mode = _mode(path)
        os.chmod(draft, mode & FOR_ITS_OWNER if sensitive else mode)
        os.replace(draft, path)
    except BaseException:
        # An interrupt may come when it has its name already.
        Path(draft).unlink(missing_ok=True)
        raise


def save(path: Path, content: bytes, *, sensitive: bool = False) -> None:
    """Write a file whole; raise `MipselectError`, naming the file, if it cannot be written."""
    try:
        write_whole(path, content, sensitive=sensitive)
    except OSError as error:
        raise MipselectError(f"{path} could not be written: {error.strerror or error}") from error


def _mode(path: Path) -> int:
    """Return the mode of a file, or the mode that a new one would get."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        # Asking for the mask sets it, for other threads too: to one that hides what they write.
        mask = os.umask(0o777 ^ FOR_ITS_OWNER)
        os.umask(mask)
        return 0o666 & ~mask
