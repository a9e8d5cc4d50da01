"""Files of strangers, TOML and JSON, and files that are written whole or not at all.

Every reader begins with a check for a regular file of sensible size; JSON is read strictly, checked
against a schema, and refused in one line.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from mipselect.errors import InvalidInput, MipselectError
from mipselect.validation import printable, shown

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


def read_json(path: Path, most: int) -> Any:
    """Read the content of a JSON file of at most so many bytes.

    Raises
    ------
    InvalidInput
        Naming the file, the place in it, and what is wrong: also for NaN and infinities, which are
        no JSON, and for a key that stands twice in one object.
    """
    return parsed(small_text(path, most), str(path))


def parsed(text: str, what: str) -> Any:
    """Parse a JSON text; raise as `read_json` does, with `what` for the file."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_without_repetition)
    except RecursionError:
        raise InvalidInput(f"{what}: not valid JSON: it is nested too deeply") from None
    except ValueError as error:
        raise InvalidInput(f"{what}: not valid JSON: {error}") from error


def faults(content: Any, package: str, schema: str) -> Iterator[str]:
    """Yield what is wrong with the shape of a JSON value, a line each, in the order of its paths.

    Parameters
    ----------
    content : object
    package, schema : str
        Where the JSON Schema is: the name of a package, and of a file in it.
    """
    errors = _checker(package, schema).iter_errors(content)
    for error in sorted(errors, key=lambda e: [str(k) for k in e.path]):
        path = ""
        for step in error.absolute_path:
            path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
        yield f"{path or 'the file'} {_wanted(error)}"


@cache
def _checker(package: str, schema: str) -> Any:
    from importlib import resources

    from jsonschema import Draft202012Validator

    text = resources.files(package).joinpath(schema).read_text("utf-8")
    return Draft202012Validator(json.loads(text))


def _wanted(error: Any) -> str:
    """Say what would be right, from an error of `jsonschema`, in our words, without long values."""
    match error.validator:
        case "required":
            present = error.instance
            return f"lacks {', '.join(key for key in error.validator_value if key not in present)}"
        case "additionalProperties":
            known = error.schema["properties"]
            return f"has {', '.join(shown(key) for key in error.instance if key not in known)}"
        case "type":
            wanted = error.validator_value
            kinds = [wanted] if isinstance(wanted, str) else wanted
            return f"must be of type {' or '.join(kinds)}, got {shown(error.instance)}"
        case "enum":
            wanted = ", ".join(map(str, error.validator_value))
            return f"must be one of {wanted}, got {shown(error.instance)}"
        case "const":
            return f"must be {shown(error.validator_value)}, got {shown(error.instance)}"
        case "minimum" | "maximum":
            sign = "≥" if error.validator == "minimum" else "≤"
            return f"must be {sign} {error.validator_value:g}, got {shown(error.instance)}"
        case "minItems" | "minLength":
            return "must not be empty"
        case "maxItems":
            return f"must have at most {error.validator_value} entries, got {shown(error.instance)}"
        case "maxLength":
            return f"must have at most {error.validator_value} letters, got {shown(error.instance)}"
        case _:
            said = f"must be a value, or {{value, label}}, got {shown(error.instance)}"
            number = isinstance(error.instance, int | float) and "missingValues" in error.path
            return f'{said}; in quotes, as texts are: "{error.instance}"' if number else said


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"{shown(key)} stands twice in one object")
            seen.add(key)
    return content


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
