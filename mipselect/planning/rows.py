"""Numbers of rows that tables are made up with."""

from __future__ import annotations

from mipselect.errors import InvalidInput
from mipselect.tables import PublicMap
from mipselect.validation import checked_integer

DOUBLINGS = 5
"""Up to 32 times the number in question is tried."""

MOST_ENTRIES = 20_000_000
"""No table with more rows times columns is made up."""


def require_rows(rows: int, public: PublicMap) -> None:
    """Raise `InvalidInput` for fewer than 2 rows, and for more than can be made up."""
    checked_integer(rows, "rows", 2)
    if rows * len(public.columns) > MOST_ENTRIES:
        raise InvalidInput(
            f"rows must be at most {MOST_ENTRIES // len(public.columns):,} for "
            f"{len(public.columns)} columns, got {rows:,}; plan with fewer: what is found depends "
            "on epsilon times rows"
        )


def doublings(rows: int, public: PublicMap) -> tuple[int, ...]:
    """Double the rows, up to `DOUBLINGS` times and as long as so many can be made up."""
    more = (rows * 2**k for k in range(1, DOUBLINGS + 1))
    return tuple(count for count in more if count * len(public.columns) <= MOST_ENTRIES)
