"""Stores of the entries of a ledger: the interface of every store, and the one in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Protocol, TypeVar

from mipselect.errors import LedgerForked
from mipselect.privacy.ledger.accountant import Account
from mipselect.privacy.ledger.entries import LedgerEntry, Terms
from mipselect.privacy.ledger.rows import Row

Result = TypeVar("Result")


class Book(Protocol):
    """Store of the entries of a ledger."""

    @property
    def terms(self) -> Terms:
        """The budget and what it is counted in."""

    @property
    def path(self) -> Path | None:
        """The file; None in memory, where there is no identity either."""

    @property
    def identity(self) -> str | None:
        """Identifier, wherever the file is."""

    @property
    def key_identity(self) -> str | None:
        """Identifier of the key; None without one."""

    @property
    def locked(self) -> bool:
        """True if there is a key and it was not given."""

    @property
    def place(self) -> str:
        """Words for where it is, after a comma; empty if there is nothing to say."""

    def require_key(self) -> None:
        """Raise `InvalidInput` where there is a key and it was not given."""

    def head(self) -> Row | None:
        """Return the last row of a file."""

    def rows(self) -> list[Row]:
        """Return all rows of a file, checked."""

    def look(self, at: Callable[[Account], Result]) -> Result:
        """Return what `at` makes of the account, which nobody changes meanwhile."""

    def charge(self, entry: LedgerEntry) -> int:
        """Add an entry for good, or raise; return its number."""

    def settle(self, number: int, status: str) -> None:
        """Note what came of an entry."""


NO_PROCESS = -1
"""Process that a copy of a ledger in memory belongs to."""


class MemoryBook:
    """The entries of a ledger that lives in one process: without a file, rows and a key."""

    path: Path | None = None
    identity: str | None = None
    key_identity: str | None = None
    locked = False

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._account = Account(terms)
        self._lock = Lock()
        self._process = os.getpid()

    @property
    def place(self) -> str:
        """Note that a copy is as it was when it was made; empty for the ledger itself."""
        return "" if self._process == os.getpid() else ", as it was at the fork or when pickled"

    def __getstate__(self) -> tuple[Terms, list[LedgerEntry]]:
        """Pickle what was charged, and not the right to charge."""
        return self.terms, self.look(lambda account: list(account.entries))

    def __setstate__(self, state: tuple[Terms, list[LedgerEntry]]) -> None:
        """Make a copy of what a ledger was, which belongs to no process."""
        terms, entries = state
        self.__init__(terms)  # type: ignore[misc]
        for entry in entries:
            self._account.add(entry)
        self._process = NO_PROCESS

    def require_key(self) -> None:
        """See `Book`; there is none."""

    def head(self) -> None:
        """Return None."""

    def rows(self) -> list[Row]:
        """Return none."""
        return []

    def look(self, at: Callable[[Account], Result]) -> Result:
        """Return what `at` makes of the account, or of what it was at the fork."""
        # A child has no threads that could change it, and the lock may have been held at the fork.
        if self._process != os.getpid():
            return at(self._account)
        with self._lock:
            return at(self._account)

    def charge(self, entry: LedgerEntry) -> int:
        """Add an entry, or raise; return its number."""
        # Before the lock, which a thread of the parent may have held at the fork.
        if self._process != os.getpid():
            raise LedgerForked(
                "a ledger in memory cannot be charged in a forked process, nor as a copy that was "
                "sent or stored: the same budget would be spent again. Keep it in a file "
                "(Ledger.create), or draw in the process that made it (n_jobs=1, or threads). "
                "Nothing was drawn"
            )
        with self._lock:
            self._account.admit(entry)
            self._account.add(entry)
            return len(self._account.entries) - 1

    def settle(self, number: int, status: str) -> None:
        """Note what came of an entry."""
        with self._lock:
            entries = self._account.entries
            entries[number] = replace(entries[number], status=status)
