"""The rows of a ledger on disk: each holds the SHA-256 of the one before it.

A row is a number, an event, a time, a content of canonical JSON, the hash of its predecessor and
its own: the SHA-256 of these five, one a line, in UTF-8. Numbers in a content are decimal text,
exactly as they were charged. Row 0 is the creation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from mipselect.errors import LedgerBroken, MipselectError
from mipselect.privacy.account import Account
from mipselect.privacy.entries import (
    CHARGED,
    DRAWN,
    FAILED,
    LedgerEntry,
    Part,
    Terms,
    checked_entry,
    checked_note,
    counted_part,
)
from mipselect.privacy.guarantee import Guarantee
from mipselect.validation import checked_name

CREATED = "created"
FORMAT = 1
NOTHING = "0" * 64
"""What row 0 has in place of the hash of its predecessor."""


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


def digest(number: int, event: str, time: str, content: str, previous: str) -> str:
    """SHA-256 of a row, in hexadecimal."""
    text = "\n".join((str(number), event, time, content, previous))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def created(terms: Terms, identity: str, time: str) -> Row:
    """Row 0."""
    content = {
        "format": FORMAT,
        "identity": identity,
        "epsilon": _text(terms.epsilon),
        "delta": _text(terms.delta),
        "rho": _text(terms.rho),
        "relation": terms.relation,
        "unit": terms.unit,
    }
    return _row(0, CREATED, time, content, NOTHING)


class Chain:
    """The rows of a ledger, checked one after another, and the account that they make.

    Attributes
    ----------
    identity : str
        What row 0 names the ledger.
    head : Row
        The last row.
    account : Account
        Of the parts as they are counted now. What was paid was admitted for the parts as they are
        stored, so that of an older ledger more may be spent than there was.
    """

    def __init__(self, first: Row) -> None:
        self._check_link(first, 0, NOTHING)
        if first.event != CREATED:
            raise _misfit(first, "it is not the creation of a ledger")
        with _about(first):
            content = _content(first)
            if content["format"] != FORMAT:
                raise LedgerBroken(
                    f"it has format {content['format']!r}, and this version knows {FORMAT}"
                )
            self.identity = str(content["identity"])
            terms = Terms(
                _number_or_none(content["epsilon"]),
                _number(content["delta"]),
                content["relation"],
                content["unit"],
                _number_or_none(content["rho"]),
            )
        self.created_at = first.time
        self.account, self._as_stored = Account(terms), Account(terms)
        self.head = first
        self._charges: dict[int, int] = {}

    def take(self, row: Row) -> None:
        """Add the next row; raise `LedgerBroken`, naming it, if it does not fit."""
        self._check_link(row, self.head.number + 1, self.head.hash)
        entries = self.account.entries
        with _about(row):
            content = _content(row)
            if row.event == CHARGED:
                entry = _entry(content, row.time)
                self._as_stored.admit(entry)
                self._as_stored.add(entry)
                self.account.add(_counted(entry))
                self._charges[row.number] = len(entries) - 1
            elif row.event in (DRAWN, FAILED):
                place = self._charges[content["of"]]
                if entries[place].status != CHARGED:
                    raise LedgerBroken(f"row {content['of']} already has an outcome")
                entries[place] = replace(entries[place], status=row.event)
            else:
                raise LedgerBroken(f"its event {row.event!r} is not known")
        self.head = row

    def charged(self, entry: LedgerEntry, time: str) -> Row:
        """The row of a charge, which is not taken yet."""
        guarantee = entry.guarantee
        content = {
            "what": entry.what,
            "epsilon": _text(guarantee.epsilon),
            "delta": _text(guarantee.delta),
            "rho": _text(guarantee.rho),
            "relation": guarantee.relation,
            "conditions": list(guarantee.conditions),
            "private": guarantee.private,
            "part": entry.part,
            "asked": entry.asked,
        }
        return _row(self.head.number + 1, CHARGED, time, content, self.head.hash)

    def outcome(self, number: int, status: str) -> Row:
        """The row that says what came of a charge, which is not taken yet.

        It has no time: how long a draw takes depends on the data.
        """
        return _row(self.head.number + 1, status, "", {"of": number}, self.head.hash)

    def _check_link(self, row: Row, number: int, previous: str) -> None:
        if row.number != number:
            raise LedgerBroken(
                f"row {number} is not there: what follows in its place has the number {row.number}"
            )
        if row.previous != previous:
            raise _misfit(row, "it does not hold the hash of the row before it")
        if row.hash != digest(row.number, row.event, row.time, row.content, row.previous):
            raise _misfit(row, "its hash is not that of its content")


def _entry(content: Mapping[str, Any], time: str) -> LedgerEntry:
    guarantee = Guarantee(
        _number(content["epsilon"]),
        _number(content["delta"]),
        content["relation"],
        tuple(content["conditions"]),
        content["private"],
        _number_or_none(content["rho"]),
    )
    part: Part | None = None if content["part"] is None else _names(*content["part"])
    asked = None if content["asked"] is None else checked_note(content["asked"])
    return replace(checked_entry(guarantee, content["what"], part, asked), time=time)


def _names(column: str, value: str) -> Part:
    return checked_name(column, "the column of a part"), checked_name(value, "its value")


def _counted(entry: LedgerEntry) -> LedgerEntry:
    return entry if entry.part is None else replace(entry, part=counted_part(entry.part))


def _row(number: int, event: str, time: str, content: Mapping[str, Any], previous: str) -> Row:
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return Row(number, event, time, text, previous, digest(number, event, time, text, previous))


def _content(row: Row) -> dict[str, Any]:
    content = json.loads(row.content)
    if not isinstance(content, dict):
        raise LedgerBroken("its content is not an object")
    return content


def _text(value: float | None) -> str | None:
    """A float as the decimal number that it stands for."""
    return None if value is None else repr(value)


def _number(text: str) -> float:
    """The float that a decimal number stands for; no other text stands for it."""
    value = float(text)
    if _text(value) != text:
        raise ValueError(f"{text!r} is not how a number is written here")
    return value


def _number_or_none(text: str | None) -> float | None:
    return None if text is None else _number(text)


@contextmanager
def _about(row: Row) -> Iterator[None]:
    """Turn whatever is wrong with the content of a row into `LedgerBroken`, naming the row."""
    try:
        yield
    except KeyError as error:
        raise _misfit(row, f"{error} is missing or not known") from error
    except (MipselectError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _misfit(row, str(error)) from error


def rows_of(fields: Iterator[tuple[Any, ...]]) -> Iterator[Row]:
    """Rows as a table gives them; raise `LedgerBroken` for a column of another type."""
    for values in fields:
        row = Row(*values)
        if not isinstance(row.number, int) or not all(isinstance(v, str) for v in values[1:]):
            raise LedgerBroken(f"row {row.number}: it does not fit: a column has the wrong type")
        yield row


def _misfit(row: Row, why: str) -> LedgerBroken:
    return LedgerBroken(f"row {row.number} does not fit: {why}")
