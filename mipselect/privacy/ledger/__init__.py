"""Ledgers: what has been spent of a budget, in memory or in a file that any process may charge."""

from mipselect.privacy.ledger.entries import LedgerEntry
from mipselect.privacy.ledger.ledger import Ledger, checked_ledger, paid

__all__ = ["Ledger", "LedgerEntry", "checked_ledger", "paid"]
