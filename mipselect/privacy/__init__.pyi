"""Names of the package and their modules: for types, and for `mipselect.lookup`."""

from mipselect.privacy.accountant import Statement as Statement
from mipselect.privacy.accountant import statements as statements
from mipselect.privacy.guarantee import Guarantee as Guarantee
from mipselect.privacy.ledger import Ledger as Ledger
from mipselect.privacy.ledger import LedgerEntry as LedgerEntry
from mipselect.privacy.release import Release as Release
