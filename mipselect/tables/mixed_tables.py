"""Text in a table for an estimator, which takes numbers: where it is, and what reads it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix

SCHEMA_READS_IT = (
    "an estimator takes columns of numbers. A schema says which categories and ranges a table has "
    "(TableSchema.skeleton begins one): SelectThenRegress.fit_table and Instance.from_table read "
    "the table by it as it is"
)


def refuse_text(X: ArrayLike) -> None:
    """Raise `InvalidInput`, naming row and column, if X is a table that holds text."""
    try:
        array = np.asarray(X)
    except ValueError:
        return
    if array.ndim != 2 or array.dtype.kind not in "OSTU":
        return
    try:
        numeric_matrix(X)
    except InvalidInput as error:
        raise InvalidInput(f"{error}; {SCHEMA_READS_IT}") from None
