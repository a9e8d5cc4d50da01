"""Restricted problems of one data set, as the search needs them.

One normalisation for every loss ℓ, on a support S:

    R(S) = min over ‖β‖₂ ≤ r of  (1/n) Σ_i ℓ(y_i, x_iS·β) + (λ/2n) ‖β‖₂²
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

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
        that was given; c = s where every feature is one column.
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
        """Return R of every row of `supports`, shape (m, s); returns shape (m,)."""


@runtime_checkable
class CertifiedLoss(PreparedLoss, Protocol):
    """A prepared loss whose values are solved to a proven error, in units of the sensitivity.

    Examples
    --------
    >>> from mipselect import load_instance
    >>> from mipselect.losses import CertifiedLoss
    >>> isinstance(load_instance("diabetes-huber").prepared, CertifiedLoss)
    True
    """

    def certified_for(self, sensitivity: float) -> PreparedLoss:
        """Return the same, with values proven to a public share of Δ, or `SolverFailure` raised."""
