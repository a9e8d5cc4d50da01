"""Ledger on disk: the rows of an SQLite file, appended to and never changed, by any process.

A row is a number, an event, a time, a content of canonical JSON, the hash of its predecessor and
its own: the SHA-256 of these five, one a line, in UTF-8. Row 0 is the creation.

Every operation opens the file and closes it again, so that a process may fork and a ledger may be
sent anywhere that sees the same file. A charge is one transaction: it takes SQLite's lock for
writing, reads what others have appended, and is refused or written to the disk.

What is refused of a copy: an object that has seen or written a row refuses a file in which this row
is missing or another one (`FileBook.seen`, which pickles take along), and a charge is refused if
another file takes the place of the ledger meanwhile.
"""

from __future__ import annotations

import json
import os
import random
import re
import secrets
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, TypeVar

from mipselect.errors import InvalidInput, LedgerBroken, LedgerNotWritten, MipselectError
from mipselect.privacy.accountant import (
    Account,
    LedgerEntry,
    Terms,
    checked_entry,
    checked_note,
)
from mipselect.privacy.guarantee import Guarantee
from mipselect.validation import printable

Result = TypeVar("Result")

CREATED, CHARGED = "created", "charged"

NOTHING = "0" * 64
"""Stands in row 0 for the hash of its predecessor."""

APPLICATION = 0x6D697073  # "mips"
VERSION = 3
TABLE = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL, "
    "time TEXT NOT NULL, content TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)"
)
REFUSED = "ON entries BEGIN SELECT RAISE(ABORT, 'a ledger is only appended to'); END"
TRIGGERS = (
    f"CREATE TRIGGER no_update BEFORE UPDATE {REFUSED}",
    f"CREATE TRIGGER no_delete BEFORE DELETE {REFUSED}",
)
"""Triggers that stop a slip of the hand. An edit past them is found by the chain, unless the hashes
are computed again from there on; such an edit is found by a hash that was kept elsewhere."""

SCHEMA = {TABLE, *TRIGGERS, "CREATE TABLE sqlite_sequence(name,seq)"}
APPEND = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)"

# After a commit, what was written survives a loss of power.
DURABLE = ("PRAGMA trusted_schema = OFF", "PRAGMA synchronous = EXTRA", "PRAGMA fullfsync = ON")
READ = ("BEGIN",)
# Another program may have asked for a write-ahead log: a second file, which keeps charges after a
# kill, and stays behind where the ledger is moved.
WRITE = ("PRAGMA journal_mode = DELETE", "BEGIN IMMEDIATE")

PATIENCE = 120.0
"""Seconds to wait for others who are using the file."""

ANYBODY_WRITES = 0o222

GATE = RLock()
"""Held while the file is open: a fork waits for it.

SQLite believes in locks that a child does not have, if it was forked while the file was open.
"""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=GATE.acquire, after_in_parent=GATE.release, after_in_child=GATE.release
    )

NETWORK = re.compile(
    r"afs|beegfs|cifs|lustre|ncpfs|nfs4?|orangefs|smb3|smbfs"
    r"|fuse\.(davfs2|gcsfuse|glusterfs|gvfsd-fuse|rclone|s3fs|sshfs)"
)
MOUNTS = Path("/proc/self/mountinfo")


class Row(NamedTuple):
    """One row, as it is stored."""

    number: int
    event: str
    time: str
    content: str
    previous: str
    hash: str


def digest(number: int, event: str, time: str, content: str, previous: str) -> str:
    """Compute SHA-256 of a row, in hexadecimal."""
    text = "\n".join((str(number), event, time, content, previous))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def written(number: int, event: str, time: str, content: Mapping[str, Any], previous: str) -> Row:
    """Make a row with its hash."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return Row(number, event, time, text, previous, digest(number, event, time, text, previous))


def now() -> str:
    """Return the time, to the second: what came before a charge took its time on the data."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Chain:
    """The rows of a ledger, checked one after another, and the account that they make.

    Attributes
    ----------
    identity : str
        What row 0 names the ledger.
    rows : list of Row
        All of them so far.
    account : Account
    """

    def __init__(self, first: Row) -> None:
        _check_link(first, 0, NOTHING)
        if first.event != CREATED:
            raise _misfit(first, "it is not the creation of a ledger")
        with _about(first):
            content = json.loads(first.content)
            self.identity = str(content["identity"])
            self.account = Account(Terms(**content["terms"]))
        self.rows = [first]

    @property
    def head(self) -> Row:
        """The last row."""
        return self.rows[-1]

    def take(self, row: Row) -> None:
        """Add the next row; raise `LedgerBroken`, naming it, if it does not fit."""
        _check_link(row, self.head.number + 1, self.head.hash)
        with _about(row):
            if row.event != CHARGED:
                raise LedgerBroken(f"its event {row.event!r} is not known")
            entry = _entry(json.loads(row.content))
            self.account.admit(entry)
            self.account.add(replace(entry, time=row.time, row=row.number))
        self.rows.append(row)

    def next(self, content: Mapping[str, Any]) -> Row:
        """Make the row of a charge, which is not taken yet."""
        return written(self.head.number + 1, CHARGED, now(), content, self.head.hash)


def _entry(content: Mapping[str, Any]) -> LedgerEntry:
    """Return the entry in the content of a row."""
    asked = content["asked"]
    return checked_entry(
        Guarantee.from_dict(content["guarantee"]),
        content["what"],
        None if asked is None else checked_note(asked),
    )


def _check_link(row: Row, number: int, previous: str) -> None:
    """Raise `LedgerBroken` unless the row follows the one before it."""
    if row.number != number:
        raise LedgerBroken(
            f"row {number} is not there: what follows in its place has the number {row.number}"
        )
    if not all(isinstance(value, str) for value in row[1:]):
        raise _misfit(row, "a column has the wrong type")
    if row.previous != previous:
        raise _misfit(row, "it does not hold the hash of the row before it")
    if row.hash != digest(*row[:5]):
        raise _misfit(row, "its hash is not that of its content")


@contextmanager
def _about(row: Row) -> Iterator[None]:
    """Turn whatever is wrong with the content of a row into `LedgerBroken`, naming the row."""
    try:
        yield
    except KeyError as error:
        raise _misfit(row, f"{error} is missing or not known") from error
    except (MipselectError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _misfit(row, str(error)) from error


def _misfit(row: Row, why: str) -> LedgerBroken:
    return LedgerBroken(f"row {row.number} does not fit: {why}")


def create_file(path: Path, terms: Terms) -> FileBook:
    """Make a new ledger on disk, readable by its owner only.

    Raises
    ------
    InvalidInput
        If there is a file of this name already, or the folder does not exist.
    LedgerNotWritten
        If it cannot be written; then there is no file.
    """
    path = path.absolute()
    if not path.parent.is_dir():
        raise InvalidInput(f"{path}: the folder {path.parent} does not exist")
    refuse_network(path.parent)
    first = {"identity": secrets.token_hex(8), "terms": asdict(terms)}
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            with GATE, closing(_connected(path)) as connection:
                for statement in (*DURABLE, *WRITE, TABLE, *TRIGGERS):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute(APPEND, written(0, CREATED, now(), first, NOTHING))
                connection.execute("COMMIT")
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise InvalidInput(f"{path}: exists already; a ledger is never replaced") from None
    except (OSError, sqlite3.Error) as error:
        raise LedgerNotWritten(f"{path}: could not be created: {error}") from error
    return FileBook(path)


class FileBook:
    """The entries of a ledger on disk.

    Parameters
    ----------
    path : Path
    seen : Row, optional
        A row that it must still have.

    Raises
    ------
    InvalidInput
        If there is no such file, or it is something else than a ledger.
    LedgerBroken
        If it is damaged, or a row does not fit.
    """

    def __init__(self, path: Path, seen: Row | None = None) -> None:
        self.path = Path(os.path.realpath(path))
        self.place = f", in {self.path}"
        self.seen = seen
        self._checked: Chain | None = None
        chain = self._run(self._chain_of)
        self.identity, self.terms = chain.identity, chain.account.terms

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the path, and the row that was seen last."""
        return FileBook, (self.path, self.seen)

    def look(self, at: Callable[[Account], Result]) -> Result:
        """Return what `at` makes of the account as it is on the disk now."""
        return self._run(lambda connection: at(self._chain_of(connection).account))

    def rows(self) -> list[Row]:
        """Return all rows, as they are stored; raise `LedgerBroken` for the first that is wrong.

        Everything is read anew, and SQLite looks at every page.
        """

        def checked(connection: sqlite3.Connection) -> list[Row]:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise LedgerBroken(f"is damaged: {found}")
            self._checked = None
            return list(self._chain_of(connection).rows)

        return self._run(checked)

    def charge(self, entry: LedgerEntry) -> None:
        """Append a charge to the disk, or refuse it.

        Raises
        ------
        BudgetExceeded, RelationMismatch, InvalidInput
            Nothing is charged.
        LedgerBroken, LedgerNotWritten
            Nothing may be drawn.
        """
        # To the owner of the machine everything is writable, so the mode counts too.
        before = self._check_file()
        if not (os.access(self.path, os.W_OK) and before.st_mode & ANYBODY_WRITES):
            raise LedgerNotWritten(
                f"{self.path}: is read-only, so nothing can be charged; nothing was drawn"
            )
        refuse_network(self.path)

        content = {
            "what": entry.what,
            "guarantee": entry.guarantee.to_dict(),  # JSON keeps every number as it was charged.
            "asked": entry.asked,
        }

        def appended(connection: sqlite3.Connection) -> None:
            chain = self._chain_of(connection)
            chain.account.admit(entry)
            row = chain.next(content)
            chain.take(row)  # One that does not fit would end the ledger.
            connection.execute(APPEND, row)
            connection.execute("COMMIT")
            # SQLite writes on in a file that has lost its name, which nobody will read again.
            if not os.path.samestat(before, self._check_file()):
                raise LedgerBroken("another file took its place during a charge; nothing was drawn")
            self.seen = row

        self._run(appended, WRITE)

    def _run(
        self, work: Callable[[sqlite3.Connection], Result], begin: tuple[str, ...] = READ
    ) -> Result:
        """Do `work` in a transaction; wait for others, and say in one line what is wrong."""
        patience = time.monotonic() + PATIENCE
        while True:
            self._check_file()
            try:
                with GATE, closing(_connected(self.path)) as connection:
                    for statement in (*DURABLE, *begin):
                        connection.execute(statement)
                    return work(connection)
            except sqlite3.Error as error:
                if _code_of(error) != sqlite3.SQLITE_BUSY:
                    raise _meaning(self.path, error) from error
                if time.monotonic() > patience:
                    raise LedgerNotWritten(
                        f"{self.path}: others have been using it for {PATIENCE:g} seconds; nothing "
                        "was drawn"
                    ) from error
            except LedgerBroken as error:
                # It may quote what somebody wrote into the file.
                raise LedgerBroken(f"{self.path}: {_one_line(error)}") from error
            # Outside of the gate; at random, or all would come back at once.
            time.sleep(random.uniform(0.0, 0.05))

    def _chain_of(self, connection: sqlite3.Connection) -> Chain:
        """Check all rows, in the transaction of the caller.

        Rows that were checked before, and are letter for letter what they were, count as checked.
        One that could not be written is not there, so that all are checked anew.
        """
        _check_layout(connection, self.path)
        rows = [Row(*v) for v in connection.execute("SELECT * FROM entries ORDER BY number")]
        if not rows:
            raise LedgerBroken("row 0 is not there: the file has no rows")
        # What fails in between may leave an entry in the account, and no row.
        chain, self._checked = self._checked, None
        if chain is None or rows[: len(chain.rows)] != chain.rows:
            chain = Chain(rows[0])
        for row in rows[len(chain.rows) :]:
            chain.take(row)
        head, seen = chain.head, self.seen
        (last,) = connection.execute("SELECT seq FROM sqlite_sequence").fetchone() or (None,)
        # Whoever cuts the end off may forget to say so to SQLite, or to this process.
        if last != head.number or (seen is not None and seen.number > head.number):
            raise LedgerBroken(
                f"row {head.number + 1} is not there, and was before: the end was cut off, or an "
                "older copy was put back"
            )
        if seen is not None and chain.rows[seen.number] != seen:
            raise LedgerBroken(
                f"row {seen.number} is not what it was: the file was changed, or another or an "
                "older copy was put in its place"
            )
        self._checked, self.seen = chain, head
        return chain

    def _check_file(self) -> os.stat_result:
        """Return the status of the file; raise `InvalidInput` unless it is regular, of one name."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise InvalidInput(
                f"{self.path}: no such file; 'mipselect ledger create' makes a ledger"
            ) from None
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{self.path}: cannot be read: {error}") from error
        if not stat.S_ISREG(status.st_mode):
            raise InvalidInput(f"{self.path}: is no ledger: it is not a regular file")
        if status.st_nlink > 1:
            raise InvalidInput(
                f"{self.path}: has {status.st_nlink} names (hard links), under which SQLite could "
                "not undo what was interrupted; leave it one"
            )
        return status


def _connected(path: Path) -> sqlite3.Connection:
    """Open a file that is there."""
    return sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=0.2)


def _check_layout(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `InvalidInput` for another file of SQLite, `LedgerBroken` for a changed ledger."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master") if sql}
    if not (application or found):
        raise InvalidInput(
            f"{path}: is empty, for its creation was interrupted or goes on; if it was, delete it "
            "and create the ledger again"
        )
    if application != APPLICATION:
        raise InvalidInput(f"{path}: is no ledger but another SQLite file")
    if version != VERSION:
        raise InvalidInput(
            f"{path}: is a ledger of version {version}; this mipselect knows {VERSION}"
        )
    if found != SCHEMA:
        raise LedgerBroken("its tables are not those of a ledger")


def refuse_network(path: Path) -> None:
    """Raise `LedgerNotWritten` on a network file system, where the system tells."""
    try:
        lines = MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return
    kind, deepest, where = "", -1, os.path.realpath(path)
    for line in lines:
        mounted, _, source = line.partition(" - ")
        point = mounted.split(" ")[4]
        for letter in (" ", "\t", "\n", "\\"):
            point = point.replace(f"\\{ord(letter):03o}", letter)
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        # Of two mounts at one place the later hides the earlier.
        if inside and len(point) >= deepest:
            kind, deepest = source.split(" ")[0], len(point)
    if NETWORK.fullmatch(kind):
        raise LedgerNotWritten(
            f"{path}: is on a network file system ({kind}), where two machines could spend the "
            "same budget; keep the ledger on a disk of one machine. Nothing was drawn"
        )


def _meaning(path: Path, error: sqlite3.Error) -> InvalidInput | LedgerBroken | LedgerNotWritten:
    """Return the exception that an error of SQLite means for the ledger at `path`."""
    code = _code_of(error)
    if code == sqlite3.SQLITE_NOTADB:
        return InvalidInput(f"{path}: is no ledger: it is not an SQLite file")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_ERROR, None):
        return LedgerBroken(f"{path}: is damaged ({_one_line(error)}); nothing was drawn")
    return LedgerNotWritten(
        f"{path}: cannot be read or written ({_one_line(error)}), as where its disk is full or its "
        "folder is read-only; nothing was drawn"
    )


def _code_of(error: sqlite3.Error) -> int | None:
    """Return the primary code of an error of SQLite; None if it came from the module."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _one_line(error: Exception) -> str:
    """Return the message of an error, which may quote a file, in one printable line."""
    return printable(" ".join(str(error).split()))
