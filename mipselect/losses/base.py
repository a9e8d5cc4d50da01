"""Interface that a loss must offer. Losses know arrays, not instances."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.losses.classes import Classes
from mipselect.restricted.prepared import PreparedLoss
from mipselect.validation import plain_digits


class Loss(ABC):
    """A convex loss ℓ(y, u) of a response y and a prediction u.

    Examples
    --------
    >>> from mipselect.losses import loss_by_name
    >>> loss_by_name("huber(0.5)").spread(1.0, 1.0)
    0.875
    """

    classes: Classes | None = None
    """Public names of two classes, of a loss that knows them without looking at y."""

    enough: ClassVar[str | None] = None
    """The y_bound in words beyond which no oscillation grows, U = |u| at most; None if all do."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the loss for instances, with its parameter if it has one."""

    @abstractmethod
    def spread(self, y_bound: float, u_bound: float) -> float:
        """Return ℓ_max - ℓ_min over |y| ≤ y_bound, |u| ≤ u_bound: n times the sensitivity of R."""

    def oscillation(self, y_bound: float, u_bound: float) -> float:
        """Return the most by which ℓ(y, ·) varies over |u| ≤ u_bound for one |y| ≤ y_bound.

        At most `spread`, which is what it is unless a loss knows better.
        """
        return self.spread(y_bound, u_bound)

    @property
    def degree(self) -> int | None:
        """The k with ℓ(cy, cu) = c^k ℓ(y, u) for all c ≥ 0, or None.

        With it a loss counts a row w times where the row is multiplied by the c of c^k = w.
        """
        return None

    @abstractmethod
    def value_error(self, n: int, y_bound: float, u_bound: float) -> float:
        """Return the most by which a value that is returned differs from R there; public."""

    def encode(self, y: ArrayLike) -> tuple[ArrayLike, tuple[str, str] | None]:
        """Return the responses as real numbers, and the two class names for -1 and +1 or None."""
        return y, None

    @abstractmethod
    def prepare(self, X: FloatArray, y: FloatArray, *, ridge: float, radius: float) -> PreparedLoss:
        """Tie the loss to clipped data, a ridge λ ≥ 0 and a coefficient radius r > 0."""


def wants_classes(loss: Loss) -> bool:
    """Return whether the loss is one of two classes: -1 and 1 are names to it."""
    return loss.encode(np.array([-1.0, 1.0]))[1] is not None


def degree_of(loss: Loss) -> int:
    """Return the degree of a loss by which rows may count differently, or raise `InvalidInput`."""
    if loss.degree is None:
        raise InvalidInput(
            "survey weights go with the squared and the quantile loss, and with blocks of rows; "
            f"the {loss.name} loss takes none"
        )
    return loss.degree


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
    They are rows within the bounds, so whatever is proven of rows holds of these
    (docs/mathematics/weights.md, (1)). No entry becomes larger: a product with a c of at most 1 is
    not rounded beyond the entry.
    """
    # Of the type of X, so that both are multiplied by the same number.
    factors = (np.sqrt(weights) if degree == 2 else weights).astype(X.dtype)
    return X * factors[:, None], y * factors


def leave_out(rows: FloatArray, y: FloatArray) -> None:
    """Let the loss of rows without a class, y = 0, be the same whatever is chosen, in place."""
    without_class = y == 0.0
    y[without_class], rows[without_class] = -1.0, 0.0


def word_and_number(name: str) -> tuple[str, float | None]:
    """Take a name such as "hinge" or "huber(1.35)" apart.

    Raises
    ------
    InvalidInput
        If what stands between brackets is no number.
    """
    parts = re.fullmatch(r"([a-z-]+)(?:\(([^()]*)\))?", name)
    if parts is None or parts[2] is None:
        return name, None
    try:
        return parts[1], float(plain_digits(parts[2]))
    except ValueError:
        raise InvalidInput(f"loss {name!r}: the parameter must be a number") from None
