"""Guarantees, ledgers, releases and exact draws; knows no data."""

from mipselect.privacy.composition import Statement, statements
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.ledger import Ledger, LedgerEntry
from mipselect.privacy.release import Release

__all__ = ["Guarantee", "Ledger", "LedgerEntry", "Release", "Statement", "statements"]
