"""Order of rows: X and y of pandas whose labels say that their rows came apart."""

from __future__ import annotations

import sys
from typing import Any

from mipselect.errors import InvalidInput


def refuse_another_order(X: Any, y: Any) -> None:
    """Raise `InvalidInput` for two frames of pandas whose labels say that rows came apart.

    Rows are taken by their place, as scikit-learn takes them. Labels 0, 1, 2, ... may come from
    an array, as after a scaler, and say nothing beside others; but not the same labels in another
    order. Other labels must be the same on both sides.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return
    if not isinstance(y, pandas.Series | pandas.DataFrame) or len(X) != len(y):
        return
    if X.index.equals(y.index):
        return
    shared, counted = X.index.isin(y.index), pandas.RangeIndex(len(X))
    named = not (X.index.equals(counted) or y.index.equals(counted))
    if shared.all() or (named and shared.any()):
        raise InvalidInput(
            "X and y have index labels in common, at other places: rows are taken by their place, "
            "and y would be of other rows. y.loc[X.index] has the order of X; where the places are "
            "right, give y.to_numpy()"
        )
    if named:
        raise InvalidInput(
            "X and y have no index label in common: rows are taken by their place, and y may be of "
            "other rows. Where the places are right, give y.to_numpy()"
        )
