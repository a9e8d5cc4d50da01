"""A new ledger on disk: whole or not at all, never in place of something else."""

from __future__ import annotations

import os
import secrets
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from mipselect.errors import InvalidInput, LedgerNotWritten
from mipselect.privacy.ledger.chain import created
from mipselect.privacy.ledger.entries import Terms
from mipselect.privacy.ledger.file import GATE, FileBook, now
from mipselect.privacy.ledger.key import read_or_make_key
from mipselect.privacy.ledger.layout import lay_out
from mipselect.privacy.ledger.mounts import refuse_network
from mipselect.privacy.ledger.rows import Row


def create_file(path: Path, terms: Terms, key_file: Path | None = None) -> FileBook:
    """Make a new ledger on disk, whole or not at all, readable by its owner only.

    Parameters
    ----------
    path : Path
    terms : Terms
    key_file : Path, optional
        File of its key, which is made if there is none.

    Raises
    ------
    InvalidInput
        If there is a file of this name already, the folder does not exist, or the key is none.
    LedgerNotWritten
        If it cannot be written.
    """
    path = path.absolute()
    if os.path.lexists(path):
        raise InvalidInput(f"{path}: exists already; a ledger is never replaced")
    if not path.parent.is_dir():
        raise InvalidInput(f"{path}: the folder {path.parent} does not exist")
    refuse_network(path.parent)
    if key_file is not None and os.path.realpath(key_file) == os.path.realpath(path):
        raise InvalidInput(f"{path}: cannot be both the ledger and its key; keep the key elsewhere")
    key = None if key_file is None else read_or_make_key(key_file)
    try:
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".mipselect-")
        os.close(descriptor)
        try:
            _write_first(Path(draft), created(terms, secrets.token_hex(8), now(), key))
            # Whoever claims the name first has it; replacing a file is one step for the system.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.replace(draft, path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
        _make_durable(path.parent)
    except FileExistsError:
        raise InvalidInput(f"{path}: exists already; a ledger is never replaced") from None
    except (OSError, sqlite3.Error) as error:
        raise LedgerNotWritten(f"{path}: could not be created: {error}") from error
    return FileBook(path, key=key)


def _write_first(draft: Path, row: Row) -> None:
    with GATE, closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = EXTRA")
        lay_out(connection, row)


def _make_durable(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
