"""The key of a ledger: who lacks it may read the ledger, and cannot write a row that fits."""

from __future__ import annotations

import hmac
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from mipselect.disk import FOR_ITS_OWNER, first_bytes
from mipselect.errors import InvalidInput

LEAST_BYTES, MOST_BYTES = 32, 4096


@dataclass(frozen=True)
class LedgerKey:
    """The bytes of a file, all of them, as a key of HMAC-SHA256.

    Attributes
    ----------
    path : Path
        Path of the file; absolute.
    secret : bytes
    """

    path: Path
    secret: bytes = field(repr=False)

    @property
    def identity(self) -> str:
        """A short name that stands in the ledgers of the key and tells nothing of it."""
        return self.code("mipselect ledger key")[:16]

    def code(self, text: str) -> str:
        """Compute HMAC-SHA256 of a text, in hexadecimal."""
        return hmac.new(self.secret, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def read_key(path: Path) -> LedgerKey:
    """Return the key in a file.

    Raises
    ------
    InvalidInput
        If there is no such file, or too little or too much is in it.
    """
    secret = first_bytes(path, MOST_BYTES + 1)
    if not LEAST_BYTES <= len(secret) <= MOST_BYTES:
        raise InvalidInput(
            f"{path}: is no key of a ledger, which has {LEAST_BYTES} to {MOST_BYTES:,} random "
            "bytes; 'mipselect ledger create --key-file' makes one"
        )
    return LedgerKey(path.absolute(), secret)


def read_or_make_key(path: Path) -> LedgerKey:
    """Return the key in a file, which is made, for its owner only, if it is not there.

    Raises
    ------
    InvalidInput
        If it holds no key or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FOR_ITS_OWNER)
    except FileExistsError:
        return read_key(path)
    except OSError as error:
        raise _not_made(path, error) from error
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_hex(LEAST_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _not_made(path, error) from error
        raise
    return read_key(path)


def _not_made(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(f"{path}: the key could not be made: {error.strerror or error}")
