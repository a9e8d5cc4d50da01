"""A ledger's rows in an SQLite file: appended to, never changed, by any number of processes.

Every operation opens the file and closes it again, so that a process may fork and a ledger may be
sent anywhere that sees the same file. A charge is one transaction: it takes SQLite's lock for
writing, reads what others have appended, and is refused or written to the disk.
"""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import TypeVar

from mipselect.errors import InvalidInput, LedgerBroken, LedgerNotWritten
from mipselect.privacy.ledger.accountant import Account
from mipselect.privacy.ledger.chain import Chain
from mipselect.privacy.ledger.entries import LedgerEntry
from mipselect.privacy.ledger.errors import code_of, one_line, told
from mipselect.privacy.ledger.key import LedgerKey
from mipselect.privacy.ledger.layout import APPEND, check_layout
from mipselect.privacy.ledger.mounts import refuse_network
from mipselect.privacy.ledger.rows import Row, rows_of

Result = TypeVar("Result")

PATIENCE = 120.0
"""Seconds to wait for others who are using the file."""

ANYBODY_WRITES = 0o222

Seen = tuple[int, str]
"""The number of a row and its hash."""

NOTHING_SEEN: Seen = (-1, "")

GATE = RLock()
"""Held while the file is open: a fork waits for it.

SQLite believes in locks that a child does not have, if it was forked while the file was open.
"""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=GATE.acquire, after_in_parent=GATE.release, after_in_child=GATE.release
    )


class FileBook:
    """The entries of a ledger on disk.

    Parameters
    ----------
    path : Path
        Path of a file that `creation` made.
    identity : str, optional
        The identity that the ledger must have.
    seen : Seen
        A row that it must still have.
    key : LedgerKey, optional
        With which every row must have been written.

    Raises
    ------
    InvalidInput
        If there is no such file, or it is something else than a ledger.
    LedgerBroken
        If it is damaged, or a row does not fit.
    """

    def __init__(
        self,
        path: Path,
        identity: str | None = None,
        seen: Seen = NOTHING_SEEN,
        key: LedgerKey | None = None,
    ) -> None:
        self.path = Path(os.path.realpath(path))
        self._check_file()
        self.seen, self.key = seen, key
        self._checked: Chain | None = None
        chain = self._run(self._chain_of)
        self.identity, self.terms = chain.identity, chain.account.terms
        self.key_identity = chain.key_identity
        if identity not in (None, self.identity):
            raise LedgerBroken(f"{self.path}: is another ledger than the one that was here before")

    def look(self, at: Callable[[Account], Result]) -> Result:
        """Return what `at` makes of the account as it is on the disk now."""
        return self._run(lambda connection: at(self._chain_of(connection).account))

    def head(self) -> Row:
        """Return the last row."""
        return self._run(lambda connection: self._chain_of(connection).head)

    def charge(self, entry: LedgerEntry) -> int:
        """Append a charge, or refuse it; return the number of its row.

        Raises
        ------
        BudgetExceeded, RelationMismatch, InvalidInput
            Nothing is charged.
        LedgerBroken, LedgerNotWritten
            Nothing may be drawn.
        """
        self.require_key()
        self._check_writable()

        def charged(connection: sqlite3.Connection) -> Row:
            chain = self._chain_of(connection)
            chain.account.admit(entry)
            return _appended(connection, chain, chain.charged(entry, now()))

        return self._write(charged).number

    def settle(self, number: int, status: str) -> None:
        """Append what came of a charge."""

        def settled(connection: sqlite3.Connection) -> Row:
            chain = self._chain_of(connection)
            return _appended(connection, chain, chain.outcome(number, status))

        self._write(settled)

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

    @property
    def locked(self) -> bool:
        """True if there is a key and it was not given."""
        return self.key_identity is not None and self.key is None

    @property
    def place(self) -> str:
        """Path of the file, and whether its rows were checked with its key."""
        unchecked = ", not checked with its key" if self.locked else ""
        return f", in {self.path}{unchecked}"

    def require_key(self) -> None:
        """Raise `InvalidInput` where there is a key and it was not given."""
        if self.locked:
            raise InvalidInput(
                f"{self.path}: is kept with the key {self.key_identity}; without it nothing can be "
                "charged or verified: give it, by Ledger.open(path, key_file=...), or on the "
                "command line by --ledger-key, 'mipselect ledger' --key-file, or the variable "
                "MIPSELECT_LEDGER_KEY"
            )

    def _write(self, work: Callable[[sqlite3.Connection], Row]) -> Row:
        """Run `work` in a transaction that may write; what it wrote is on the disk afterwards."""

        def committed(connection: sqlite3.Connection) -> Row:
            before = self._check_file()
            # Another program may have asked for a write-ahead log: a second file, which keeps
            # charges after a kill, and stays behind where the ledger is moved.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN IMMEDIATE")
            row = work(connection)
            connection.execute("COMMIT")
            # SQLite writes on in a file that has lost its name, which nobody will read again.
            if not os.path.samestat(before, self._check_file()):
                raise LedgerBroken("another file took its place during a charge; nothing was drawn")
            self.seen = (row.number, row.hash)
            return row

        return self._run(committed)

    def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do `work` on an open file; wait for others, and say in one line what is wrong."""
        patience = time.monotonic() + PATIENCE
        while True:
            try:
                with GATE, closing(self._connected()) as connection:
                    return work(connection)
            except sqlite3.Error as error:
                if code_of(error) != sqlite3.SQLITE_BUSY:
                    raise told(self.path, error) from error
                if time.monotonic() > patience:
                    raise LedgerNotWritten(
                        f"{self.path}: others have been using it for {PATIENCE:g} seconds; nothing "
                        "was drawn"
                    ) from error
            except LedgerBroken as error:
                # It may quote what somebody wrote into the file.
                raise LedgerBroken(f"{self.path}: {one_line(error)}") from error
            # Outside of the gate; at random, or all would come back at once.
            time.sleep(random.uniform(0.0, 0.05))

    def _connected(self) -> sqlite3.Connection:
        self._check_file()
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=0.2
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            # After a commit, what was written survives a loss of power.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _chain_of(self, connection: sqlite3.Connection) -> Chain:
        """Check all rows in one transaction: that of the caller, if there is one.

        Rows that were checked before, and are letter for letter what they were, count as checked.
        One that could not be written is not there, so that all are checked anew.
        """
        nested = connection.in_transaction
        if not nested:
            connection.execute("BEGIN")
        check_layout(connection, self.path)
        rows = list(rows_of(connection.execute("SELECT * FROM entries ORDER BY number")))
        # What fails in between may leave an entry in the account, and no row.
        chain, self._checked = self._checked, None
        if chain is None or rows[: len(chain.rows)] != chain.rows:
            chain = self._begun(rows)
        for row in rows[len(chain.rows) :]:
            self._require_seen(row)
            chain.take(row)
        self._checked = chain
        seen, _ = self.seen
        (written,) = connection.execute("SELECT seq FROM sqlite_sequence").fetchone() or (None,)
        # Whoever cuts the end off may forget to say so to SQLite, or to this process.
        if written != chain.head.number or seen > chain.head.number:
            raise LedgerBroken(
                f"row {chain.head.number + 1} is not there, and was before: the end was cut off, "
                "or an older copy was put back"
            )
        self.seen = (chain.head.number, chain.head.hash)
        if not nested:
            connection.execute("COMMIT")
        return chain

    def _begun(self, rows: list[Row]) -> Chain:
        """Check the first row."""
        if not rows:
            raise LedgerBroken("row 0 is not there: the file has no rows")
        self._require_seen(rows[0])
        return Chain(rows[0], self.key)

    def _require_seen(self, row: Row) -> None:
        """Raise `LedgerBroken` if it stands in the place of the row that was seen last."""
        seen, known = self.seen
        if row.number == seen and row.hash != known:
            raise LedgerBroken(
                f"row {seen} is not what it was: the file was changed, or another or an older "
                "copy was put in its place"
            )

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
        if status.st_size == 0:
            raise InvalidInput(
                f"{self.path}: is empty, for its creation was interrupted; delete it and create "
                "the ledger again"
            )
        if status.st_nlink > 1:
            raise InvalidInput(
                f"{self.path}: has {status.st_nlink} names (hard links), under which SQLite could "
                "not undo what was interrupted; leave it one"
            )
        return status

    def _check_writable(self) -> None:
        mode = self._check_file().st_mode
        # To the owner of the machine everything is writable, so the mode counts too.
        if not (os.access(self.path, os.W_OK) and mode & ANYBODY_WRITES):
            raise LedgerNotWritten(
                f"{self.path}: is read-only, so nothing can be charged; nothing was drawn"
            )
        refuse_network(self.path)


def _appended(connection: sqlite3.Connection, chain: Chain, row: Row) -> Row:
    """Append a row that fits: one that does not would end the ledger."""
    chain.take(row)
    connection.execute(APPEND, row.fields)
    return row


def now() -> str:
    """Return the time, to the second: what came before a charge took its time on the data."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
