"""A row of a ledger on disk: it holds the SHA-256 of the one before it.

A row is a number, an event, a time, a content of canonical JSON, the hash of its predecessor and
its own: the SHA-256 of these five, one a line, in UTF-8.

Anybody can compute these hashes again after an edit. In a ledger with a key a content also has a
code, the HMAC-SHA256 of the same five lines without it, which only the key computes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mipselect.errors import LedgerBroken
from mipselect.privacy.ledger.key import LedgerKey

CODE = "hmac"
NOTHING = "0" * 64
"""Stands in row 0 for the hash of its predecessor."""


@dataclass(frozen=True)
class Row:
    """One row, as it is stored."""

    number: int
    event: str
    time: str
    content: str
    previous: str
    hash: str

    @property
    def fields(self) -> tuple[int, str, str, str, str, str]:
        """The columns of the table, in order."""
        return (self.number, self.event, self.time, self.content, self.previous, self.hash)


def _lines(number: int, event: str, time: str, content: str, previous: str) -> str:
    """Return the text that is hashed of a row, one field a line."""
    return "\n".join((str(number), event, time, content, previous))


def digest(number: int, event: str, time: str, content: str, previous: str) -> str:
    """Compute SHA-256 of a row, in hexadecimal."""
    text = _lines(number, event, time, content, previous)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def written(
    number: int,
    event: str,
    time: str,
    content: Mapping[str, Any],
    previous: str,
    key: LedgerKey | None,
) -> Row:
    """Make a row with its hash and, if there is a key, its code."""
    text = _json(content)
    if key is not None:
        code = key.code(_lines(number, event, time, text, previous))
        text = _json({**content, CODE: code})
    return Row(number, event, time, text, previous, digest(number, event, time, text, previous))


def content_of(row: Row, key: LedgerKey | None) -> dict[str, Any]:
    """Return the content of a row, without its code; a key must have made this code.

    Raises
    ------
    LedgerBroken, ValueError, TypeError, RecursionError
        For something else than such a content.
    """
    content = json.loads(row.content)
    if not isinstance(content, dict):
        raise LedgerBroken("its content is not an object")
    code = str(content.pop(CODE, ""))
    if key is not None:
        text = _lines(row.number, row.event, row.time, _json(content), row.previous)
        if not hmac.compare_digest(code, key.code(text)):
            raise LedgerBroken("it was not written with the key")
    return content


def rows_of(fields: Iterator[tuple[Any, ...]]) -> Iterator[Row]:
    """Yield rows as a table gives them; raise `LedgerBroken` for a column of another type."""
    for values in fields:
        row = Row(*values)
        if not isinstance(row.number, int) or not all(isinstance(v, str) for v in values[1:]):
            raise LedgerBroken(f"row {row.number}: it does not fit: a column has the wrong type")
        yield row


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, allow_nan=False)
