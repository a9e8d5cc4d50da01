"""Interface that a loss must offer. Losses know arrays, not instances.

One normalisation for every loss ℓ, on a support S:

    R(S) = min over ‖β‖₂ ≤ r of  (1/n) Σ_i ℓ(y_i, x_iS·β) + (λ/2n) ‖β‖₂²
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class RestrictedFit:
    """The solution of the problem restricted to one support.

    Attributes
    ----------
    value : float
        R(S), in units of the loss.
    coef : ndarray of shape (c,)
        The coefficients of the columns of the support's features, in the order of the support
        that was asked for; c = s where every feature is one column.
    multiplier : float
        ν ≥ 0, the multiplier of (ν/2n)(‖β‖² - r²); zero where the norm constraint is inactive.
    always : ndarray of shape (a,)
        The coefficients of the columns that are always in, the intercept last. Together with
        `coef` their length is at most r.

    Examples
    --------
    >>> from mipselect import load_instance
    >>> fit = load_instance("tiny-plain").fit([1, 4, 6])
    >>> round(fit.value, 4), fit.coef.shape, fit.multiplier
    (0.018, (3,), 0.0)
    """

    value: float
    coef: FloatArray
    multiplier: float
    always: FloatArray = field(default_factory=lambda: np.empty(0))


class PreparedLoss(Protocol):
    """A loss together with one data set: restricted problems, single and in batches.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect import load_instance
    >>> prepared = load_instance("tiny-plain").prepared
    >>> prepared.values(np.array([[1, 4, 6], [1, 2, 6]])).round(4).tolist()
    [0.018, 0.0242]
    """

    def fit(self, support: IntArray) -> RestrictedFit:
        """Solve the problem restricted to `support`, shape (s,)."""

    def values(self, supports: IntArray) -> FloatArray:
        """R of every row of `supports`, shape (m, s); returns shape (m,)."""


@runtime_checkable
class CertifiedLoss(PreparedLoss, Protocol):
    """A prepared loss whose values are solved to a proven error, in units of the sensitivity.

    Examples
    --------
    >>> from mipselect import load_instance
    >>> from mipselect.losses import CertifiedLoss
    >>> isinstance(load_instance("breast-cancer").prepared, CertifiedLoss)
    True
    """

    def certified_for(self, sensitivity: float) -> PreparedLoss:
        """The same, with every value proven to a public share of Δ, or `SolverFailure` raised."""


class Loss(Protocol):
    """A convex loss ℓ(y, u) of a response y and a prediction u.

    Examples
    --------
    >>> from mipselect.losses import loss_by_name
    >>> loss_by_name("huber(0.5)").spread(1.0, 1.0)
    0.875
    """

    @property
    def name(self) -> str:
        """The name by which instances ask for the loss."""

    def spread(self, y_bound: float, u_bound: float) -> float:
        """ℓ_max - ℓ_min over |y| ≤ y_bound, |u| ≤ u_bound: n times the sensitivity of R."""

    def value_error(self, n: int, y_bound: float, u_bound: float) -> float:
        """The most by which a value that is returned differs from R there; public."""

    def encode(self, y: ArrayLike) -> tuple[ArrayLike, tuple[str, str] | None]:
        """The responses as real numbers, and the two class names for -1 and +1 or None."""

    def prepare(self, X: FloatArray, y: FloatArray, *, ridge: float, radius: float) -> PreparedLoss:
        """Tie the loss to clipped data, a ridge λ ≥ 0 and a coefficient radius r > 0."""


def wants_classes(loss: Loss) -> bool:
    """Return whether the loss is one of two classes: -1 and 1 are names to it."""
    return loss.encode(np.array([-1.0, 1.0]))[1] is not None
