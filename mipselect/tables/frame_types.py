"""Categories that the type of a column of pandas or Polars declares, as properties of a field."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from mipselect.tables.fields import BLANKS
from mipselect.validation import LAST_INTEGER


def pandas_categories(dtype: Any) -> dict[str, Any]:
    """Read the categories of a `CategoricalDtype`; other types have none.

    A type cannot tell categories that somebody declared from those that pandas found in the rows.
    """
    pandas = sys.modules["pandas"]
    if not isinstance(dtype, pandas.CategoricalDtype) or dtype.categories is None:
        return {}
    return _declared(dtype.categories.tolist(), ordered=bool(dtype.ordered))


def polars_categories(kind: Any) -> dict[str, Any]:
    """Read the categories of an `Enum`; a `Categorical` of Polars has those of its rows."""
    import polars

    if not isinstance(kind, polars.Enum):
        return {}
    return _declared(kind.categories.to_list(), ordered=False)


def _declared(values: Sequence[Any], *, ordered: bool) -> dict[str, Any]:
    """Return the properties of a field; none where a schema could not have such categories."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if all(isinstance(value, str) for value in plain):
        kind, plain = "string", [value.strip(BLANKS) for value in plain]
        fit = all(plain)
    else:
        fit = all(
            isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < LAST_INTEGER
            for v in plain
        )
        kind = "integer" if all(isinstance(value, int) for value in plain) else "number"
    if not plain or not fit or len(set(plain)) < len(plain):
        return {}
    order = {"categoriesOrdered": True} if ordered else {}
    return {"type": kind, "categories": plain, **order}
