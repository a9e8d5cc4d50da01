"""Survey weights: a field says how much a row counts, with a public maximum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables import values
from mipselect.tables.fields import NUMBERS, ROLE, Field
from mipselect.validation import checked_scale, shown

WEIGHT = "weight"


def weight_shares(column: pa.Array, weight: Field) -> NDArray[np.float64]:
    """Compute clip(v, 0, W)/W, in [0, 1], NaN for a missing weight; shape (rows,).

    W is the public maximum of a field that `checked_weight` lets through: a row counts at most as
    much as a row without weights.
    """
    assert weight.maximum is not None
    found = np.clip(values.numbers(column, weight), 0.0, weight.maximum)
    found /= weight.maximum
    return found


def counted_shares(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Let a row without a weight count 0, in place."""
    shares[np.isnan(shares)] = 0.0
    return shares


def checked_weight(fields: Sequence[Field], unit: str | None) -> None:
    """Raise `InvalidInput` unless there is no weight, or one that can be used."""
    found = [(j, field) for j, field in enumerate(fields) if field.role == WEIGHT]
    if len(found) > 1:
        (first, one), (second, other) = found[:2]
        raise InvalidInput(
            f"fields[{second}].{ROLE}: one field may be the weight, and fields[{first}] "
            f"({shown(one.name)}) is it too, besides {shown(other.name)}"
        )
    for j, field in found:
        where = f"fields[{j}] (field {field.name})"
        if field.type not in NUMBERS or field.categories is not None:
            raise InvalidInput(
                f"{where}: a weight is of type number or integer, without categories; got type "
                f"{field.type}{' with categories' if field.categories is not None else ''}"
            )
        if field.name == unit:
            raise InvalidInput(f"{where}: says whose row it is and cannot be the weight")
        if field.maximum is None or field.maximum <= 0.0:
            raise InvalidInput(
                f"{where}: a weight needs a public constraints.maximum above 0: the most that one "
                f"row may count; got {'none' if field.maximum is None else shown(field.maximum)}"
            )
        checked_scale(field.maximum, f"{where}: constraints.maximum of the weight")
        if field.minimum is not None and field.minimum < 0.0:
            raise InvalidInput(
                f"{where}: constraints.minimum of a weight must be 0 or more, got "
                f"{shown(field.minimum)}"
            )
