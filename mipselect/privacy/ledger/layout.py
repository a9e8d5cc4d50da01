"""The one table of a ledger's SQLite file, and how to know it again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from mipselect.errors import InvalidInput, LedgerBroken
from mipselect.privacy.ledger.rows import Row

APPLICATION = 0x6D697073  # "mips"
VERSION = 1
TABLE = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL, "
    "time TEXT NOT NULL, content TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)"
)
TRIGGERS = tuple(
    f"CREATE TRIGGER no_{event.lower()} BEFORE {event} ON entries "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only appended to'); END"
    for event in ("UPDATE", "DELETE")
)
"""Triggers that stop a slip of the hand.

An edit past them is found by the chain, unless the hashes are computed again from there on; such an
edit is found by the key of a ledger that has one, or by a hash that was kept elsewhere.
"""

SCHEMA = {TABLE, *TRIGGERS, "CREATE TABLE sqlite_sequence(name,seq)"}
APPEND = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)"


def lay_out(connection: sqlite3.Connection, row: Row) -> None:
    """Make an empty file the file of a ledger, with its first row, in one transaction."""
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("BEGIN IMMEDIATE")
    for statement in (TABLE, *TRIGGERS):
        connection.execute(statement)
    connection.execute(APPEND, row.fields)
    connection.execute("COMMIT")


def check_layout(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `InvalidInput` for another file of SQLite, `LedgerBroken` for a changed ledger."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise InvalidInput(f"{path}: is no ledger but another SQLite file")
    if version != VERSION:
        raise InvalidInput(
            f"{path}: is a ledger of version {version}; this mipselect knows {VERSION}"
        )
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master") if sql}
    if found != SCHEMA:
        raise LedgerBroken("its tables are not those of a ledger")
