"""Ledgers: what has been spent of a budget, in memory or in a file that any process may charge."""

from mipselect.privacy.ledger.entries import LedgerEntry

# Earlier pickles name _reopened here.
from mipselect.privacy.ledger.ledger import Ledger, _reopened, checked_ledger, paid

__all__ = ["Ledger", "LedgerEntry", "_reopened", "checked_ledger", "paid"]
