"""Columns of a frame by their names, where a frame and what is asked of it have names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from mipselect.errors import InvalidInput
from mipselect.tables.sources import is_frame
from mipselect.validation import listed

COUNTED = re.compile(r"x?\d+")
"""Names that columns get where they have none."""


def columns_by_name(X: Any, names: Sequence[str]) -> Any:
    """Return the named columns of a frame in their order; whatever has no names stays as it is.

    Parameters
    ----------
    X : array_like, or a frame of pandas or Polars, or pyarrow.Table
    names : sequence of str
        Names that say no more than a place take columns by their place.

    Raises
    ------
    InvalidInput
        If a frame of so many columns has others.
    """
    kinds = [("pandas", "DataFrame"), ("polars", "DataFrame")]
    if not (isinstance(X, pa.Table) or any(is_frame(X, *kind) for kind in kinds)):
        return X
    known = X.column_names if isinstance(X, pa.Table) else list(X.columns)
    if set(names) <= set(known):
        return X[list(names)] if is_frame(X, "pandas", "DataFrame") else X.select(list(names))
    if all(map(COUNTED.fullmatch, names)) or len(known) != len(names):
        return X
    raise InvalidInput(
        f"X must have the columns {listed(names)}, got {listed([str(name) for name in known])}; "
        "give X.to_numpy() if they are these by their place"
    )
