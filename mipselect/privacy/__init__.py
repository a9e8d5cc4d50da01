"""Guarantees, ledgers, releases and exact draws; knows no data."""

from typing import TYPE_CHECKING

from mipselect.lookup import looked_up

if TYPE_CHECKING:
    from mipselect.privacy.composition import Statement, statements
    from mipselect.privacy.guarantee import Guarantee
    from mipselect.privacy.ledger import Ledger, LedgerEntry
    from mipselect.privacy.release import Release

_HOMES = {
    "Guarantee": "guarantee",
    "Ledger": "ledger",
    "LedgerEntry": "ledger",
    "Release": "release",
    "Statement": "composition",
    "statements": "composition",
}

__all__ = [
    "Guarantee",
    "Ledger",
    "LedgerEntry",
    "Release",
    "Statement",
    "statements",
]

__getattr__ = looked_up(__name__, _HOMES)
