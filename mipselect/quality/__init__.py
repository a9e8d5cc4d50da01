"""Private measures: how good are the predictions of a model, and does a table fit its schema?

What reads a table is looked up when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mipselect.quality.measures import Measure, Quality, ShareInBin

if TYPE_CHECKING:  # Reading tables takes long to import.
    from mipselect.quality.table_shares import FieldShares, TableShares, release_shares

__all__ = ["FieldShares", "Measure", "Quality", "ShareInBin", "TableShares", "release_shares"]


def __getattr__(name: str) -> Any:
    if name not in ("FieldShares", "TableShares", "release_shares"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mipselect.quality import table_shares

    return getattr(table_shares, name)
