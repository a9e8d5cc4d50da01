"""Meaning of an error of SQLite for a ledger, in one line."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from mipselect.errors import InvalidInput, LedgerBroken, LedgerNotWritten
from mipselect.validation import printable


def told(path: Path, error: sqlite3.Error) -> InvalidInput | LedgerBroken | LedgerNotWritten:
    """Return the exception that an error of SQLite means for the ledger at `path`."""
    code = code_of(error)
    if code == sqlite3.SQLITE_NOTADB:
        return InvalidInput(f"{path}: is no ledger: it is not an SQLite file")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_SCHEMA) or code is None:
        return LedgerBroken(f"{path}: is damaged ({one_line(error)}); nothing was drawn")
    if code == sqlite3.SQLITE_ERROR:
        return LedgerBroken(f"{path}: is not what a ledger is ({one_line(error)})")
    reasons = {
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_IOERR: "the system could not read or write it, as when a disk is full",
        sqlite3.SQLITE_READONLY: "it is read-only",
        sqlite3.SQLITE_CANTOPEN: "its folder cannot be written to, or it cannot be opened",
        sqlite3.SQLITE_PERM: "it may not be opened",
    }
    reason = reasons.get(code, one_line(error))
    return LedgerNotWritten(f"{path}: {reason}; nothing was drawn")


def one_line(error: Exception) -> str:
    """Return the message of an error, which may quote a file, in one printable line."""
    return printable(" ".join(str(error).split()))


def code_of(error: sqlite3.Error) -> int | None:
    """Return the primary code of an error of SQLite; None if it came from the module."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
