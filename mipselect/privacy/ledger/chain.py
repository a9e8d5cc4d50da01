"""The rows of a ledger on disk as one chain, and the account that they make.

Numbers in a content are decimal text, exactly as they were charged. Row 0 is the creation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mipselect.errors import LedgerBroken, MipselectError
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.ledger.accountant import Account
from mipselect.privacy.ledger.entries import (
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
from mipselect.privacy.ledger.key import LedgerKey
from mipselect.privacy.ledger.rows import NOTHING, Row, content_of, digest, written
from mipselect.validation import checked_name

CREATED = "created"
FORMAT, FORMAT_WITH_KEY = 1, 2


def created(terms: Terms, identity: str, time: str, key: LedgerKey | None = None) -> Row:
    """Make row 0."""
    kind = {"format": FORMAT} if key is None else {"format": FORMAT_WITH_KEY, "key": key.identity}
    content = {
        **kind,
        "identity": identity,
        "epsilon": _text(terms.epsilon),
        "delta": _text(terms.delta),
        "rho": _text(terms.rho),
        "relation": terms.relation,
        "unit": terms.unit,
    }
    return written(0, CREATED, time, content, NOTHING, key)


class Chain:
    """The rows of a ledger, checked one after another, and the account that they make.

    Parameters
    ----------
    first : Row
    key : LedgerKey, optional
        Without it the rows of a ledger with a key are checked as those of any other.

    Attributes
    ----------
    identity : str
        What row 0 names the ledger.
    key_identity : str or None
        What row 0 names its key; None if it has none.
    rows : list of Row
        All of them so far.
    account : Account
        Account of the parts as they are counted now. What was paid was admitted for the parts as
        they are stored, so an older ledger may have spent more than there was.
    """

    def __init__(self, first: Row, key: LedgerKey | None = None) -> None:
        self._check_link(first, 0, NOTHING)
        if first.event != CREATED:
            raise _misfit(first, "it is not the creation of a ledger")
        self._key = key
        with _about(first):
            self.key_identity = _key_identity(content_of(first, None), key)
            content = content_of(first, key)
            self.identity = str(content["identity"])
            terms = Terms(
                _number_or_none(content["epsilon"]),
                _number(content["delta"]),
                content["relation"],
                content["unit"],
                _number_or_none(content["rho"]),
            )
        self.account, self._as_stored = Account(terms), Account(terms)
        self.rows = [first]
        self._charges: dict[int, int] = {}

    @property
    def head(self) -> Row:
        """The last row."""
        return self.rows[-1]

    def take(self, row: Row) -> None:
        """Add the next row; raise `LedgerBroken`, naming it, if it does not fit."""
        self._check_link(row, self.head.number + 1, self.head.hash)
        entries = self.account.entries
        with _about(row):
            content = content_of(row, self._key)
            if row.event == CHARGED:
                entry = _entry(content, row, self.account.terms.unit)
                self._as_stored.admit(entry)
                self._as_stored.add(entry)
                self.account.add(_counted(entry))
                self._charges[row.number] = len(entries) - 1
            elif row.event in (DRAWN, FAILED):
                place = self._charges[content["of"]]
                paid = entries[place]
                if paid.status != CHARGED:
                    raise LedgerBroken(f"row {content['of']} already has an outcome")
                entries[place] = replace(paid, status=row.event, rows=(*paid.rows, row.number))
            else:
                raise LedgerBroken(f"its event {row.event!r} is not known")
        self.rows.append(row)

    def charged(self, entry: LedgerEntry, time: str) -> Row:
        """Make the row of a charge, which is not taken yet."""
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
        return self._next(CHARGED, time, content)

    def outcome(self, number: int, status: str) -> Row:
        """Make the row that says what came of a charge, which is not taken yet.

        It has no time: how long a draw takes depends on the data.
        """
        return self._next(status, "", {"of": number})

    def _next(self, event: str, time: str, content: Mapping[str, Any]) -> Row:
        return written(self.head.number + 1, event, time, content, self.head.hash, self._key)

    def _check_link(self, row: Row, number: int, previous: str) -> None:
        if row.number != number:
            raise LedgerBroken(
                f"row {number} is not there: what follows in its place has the number {row.number}"
            )
        if row.previous != previous:
            raise _misfit(row, "it does not hold the hash of the row before it")
        if row.hash != digest(row.number, row.event, row.time, row.content, row.previous):
            raise _misfit(row, "its hash is not that of its content")


def _entry(content: Mapping[str, Any], row: Row, unit: str) -> LedgerEntry:
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
    entry = checked_entry(guarantee, content["what"], part, asked, unit)
    return replace(entry, time=row.time, rows=(row.number,))


def _names(column: str, value: str) -> Part:
    return checked_name(column, "the column of a part"), checked_name(value, "its value")


def _counted(entry: LedgerEntry) -> LedgerEntry:
    return entry if entry.part is None else replace(entry, part=counted_part(entry.part))


def _key_identity(content: Mapping[str, Any], key: LedgerKey | None) -> str | None:
    """Return the key's identity in row 0, or None; raise `LedgerBroken` if `key` is another."""
    if content["format"] not in (FORMAT, FORMAT_WITH_KEY):
        raise LedgerBroken(
            f"it has format {content['format']!r}, and this version knows {FORMAT} and "
            f"{FORMAT_WITH_KEY}"
        )
    stored = None if content["format"] == FORMAT else checked_name(content["key"], "its key")
    if key is None or key.identity == stored:
        return stored
    if stored is None:
        raise LedgerBroken(
            f"the ledger has no key, and {key.path} was given: leave it out, also as "
            "MIPSELECT_LEDGER_KEY, if the ledger was made without one; else somebody has written "
            "it anew"
        )
    raise LedgerBroken(
        f"the ledger is kept with the key {stored}, and {key.path} is the key {key.identity}: give "
        "the right one; if it is, somebody has written the ledger anew"
    )


def _text(value: float | None) -> str | None:
    """Write a float as the decimal number that it stands for."""
    return None if value is None else repr(value)


def _number(text: str) -> float:
    """Read the float that a decimal number stands for; no other text stands for it."""
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


def _misfit(row: Row, why: str) -> LedgerBroken:
    return LedgerBroken(f"row {row.number} does not fit: {why}")
