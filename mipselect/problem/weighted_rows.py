"""Rows that count by their weights: multiplied by a factor each, they are rows within the bounds.

So whatever is proven of rows holds of these (docs/mathematics/weights.md, (1)).
"""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.losses import Loss


def degree_of(loss: Loss) -> int:
    """Return the degree of a loss by which rows may count differently, or raise `InvalidInput`."""
    degree: int | None = getattr(loss, "degree", None)
    if degree is None:
        raise InvalidInput(
            "survey weights go with the squared and the quantile loss, and with blocks of rows; "
            f"the {loss.name} loss takes none"
        )
    return degree


def scaled_rows(
    X: FloatArray, y: FloatArray, weights: FloatArray, degree: int
) -> tuple[FloatArray, FloatArray]:
    """Multiply rows by the c of c^k = w: a loss with ℓ(cy, cu) = c^k ℓ(y, u) counts w times then.

    Parameters
    ----------
    X : ndarray of shape (n, C)
        With the column of ones of an intercept, if there is one.
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        w, in [0, 1].
    degree : int
        k, 1 or 2.

    Notes
    -----
    No entry becomes larger: a product with a c of at most 1 is not rounded beyond the entry.
    """
    # Of the type of X, so that both are multiplied by the same number.
    factors = (np.sqrt(weights) if degree == 2 else weights).astype(X.dtype)
    return X * factors[:, None], y * factors
