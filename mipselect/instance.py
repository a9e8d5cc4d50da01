"""`Instance`: data together with everything that is public about the problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_vector, plain_array
from mipselect.losses import CertifiedLoss, Loss, PreparedLoss, RestrictedFit, checked_loss
from mipselect.validation import (
    checked_feature_names,
    checked_indices,
    checked_integer,
    checked_nonnegative,
    checked_scale,
)

SMALLEST_RIDGE = 1e-50
LARGEST_RIDGE = 1e50
"""λ > 0 lies between these; it is in the units of squared entries of X."""


class Instance:
    """A sparse regression problem with public bounds; validated, clipped and immutable.

    The value of a support S with |S| = s is

        R(S) = min over β ∈ R^S, ‖β‖₂ ≤ r of (1/n) Σ_i ℓ(y_i, x_iS·β) + (λ/2n) ‖β‖₂².

    Parameters
    ----------
    X : array_like of shape (n, p)
        One row per person. Clipped entrywise to [-x_bound, x_bound]. A data frame (pandas, or
        what offers an Arrow table, as Polars) keeps its column names. float32 stays float32;
        everything else becomes float64. Text, dates, masked and missing values are refused.
    y : array_like of shape (n,)
        Clipped entrywise to [-y_bound, y_bound]. For the hinge loss two classes (numbers or
        names); the first in sorted order becomes -1, the second +1, and `classes` says which.
    support_size : int
        s, between 1 and p: the `n_features_to_select` of a selector.
    x_bound, y_bound : float
        b_x and b_y, in the units of the columns of X and of y. Classes are -1 and +1 whatever
        `y_bound` was given: it is 1 then. All bounds lie between 1e-25 and 1e25.
    coef_bound : float
        r, the largest ‖β‖₂.
    ridge : float
        λ, zero or between 1e-50 and 1e50. Certified search needs λ > 0.
    loss : str or Loss
        "squared", ½(y-u)²; "hinge"; "huber(κ)" with κ in the units of y; "quantile(q)"; or a
        loss of your own.
    feature_names : sequence of str, optional
        p different names, each one printable line of at most 200 characters; default x0, x1, ...

    Raises
    ------
    InvalidInput
        With the row, the column and the value that is wrong, and what would be right.

    Notes
    -----
    `classes` is None, or the names of the classes that became -1 and +1.

    The support size, the bounds, λ, the loss, its classes, n and p must be chosen without
    looking at the data: the privacy guarantee treats them as public.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    sections 2 and 4, appendix A.1.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        support_size: int,
        x_bound: float,
        y_bound: float,
        coef_bound: float,
        ridge: float,
        loss: str | Loss = "squared",
        feature_names: Sequence[str] | None = None,
    ) -> None:
        matrix, names = numeric_matrix(X, feature_names)
        n, p = matrix.shape
        self.feature_names: tuple[str, ...] = (
            tuple(f"x{j}" for j in range(p)) if names is None else checked_feature_names(names, p)
        )
        self._loss = checked_loss(loss)
        encoded, self.classes = self._loss.encode(plain_array(y, "y"))
        target = numeric_vector(encoded, "y")
        if target.shape != (n,):
            raise InvalidInput(f"y must have one value per row of X, ({n},); got {target.shape}")
        self.support_size = checked_integer(support_size, "support_size", 1, p)
        self.x_bound = checked_scale(x_bound, "x_bound")
        self.y_bound = checked_scale(y_bound, "y_bound")
        self.coef_bound = checked_scale(coef_bound, "coef_bound")
        self.ridge = checked_nonnegative(ridge, "ridge")
        if self.ridge > 0.0:
            checked_scale(self.ridge, "ridge", SMALLEST_RIDGE, LARGEST_RIDGE)
        if self.classes is not None:
            self.y_bound = 1.0
        bound = _rounded_down(self.x_bound, matrix.dtype)
        self.X: FloatArray = np.clip(matrix, -bound, bound)
        self.y: FloatArray = np.clip(target.astype(np.float64), -self.y_bound, self.y_bound)
        self.X.flags.writeable = False
        self.y.flags.writeable = False
        self._frozen = True

    def __setattr__(self, name: str, value: object) -> None:
        if getattr(self, "_frozen", False):
            raise AttributeError(f"Instance is immutable; make a new one to change {name}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        classes = f", classes={self.classes!r}" if self.classes is not None else ""
        return (
            f"Instance(n={self.n}, p={self.p}, support_size={self.support_size}, "
            f"x_bound={self.x_bound:g}, y_bound={self.y_bound:g}, "
            f"coef_bound={self.coef_bound:g}, ridge={self.ridge:g}, loss={self.loss!r}{classes})"
        )

    @property
    def n(self) -> int:
        """Number of rows; public under the replace-one relation."""
        return int(self.X.shape[0])

    @property
    def p(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return self._loss.name

    @property
    def prediction_bound(self) -> float:
        """U = b_x r √s, the largest |x_iS·β|."""
        return self.x_bound * self.coef_bound * math.sqrt(self.support_size)

    @property
    def sensitivity(self) -> float:
        """Δ: the most that R(S) moves, for any S, when one row is replaced."""
        return self._loss.spread(self.y_bound, self.prediction_bound) / self.n

    @property
    def value_error(self) -> float:
        """The most by which a value that is returned differs from R(S), for any S; public."""
        return self._loss.value_error(self.n, self.y_bound, self.prediction_bound)

    @property
    def number_of_supports(self) -> int:
        """C(p, s)."""
        return math.comb(self.p, self.support_size)

    @cached_property
    def prepared(self) -> PreparedLoss:
        """The loss tied to the clipped data; what the search works on."""
        if isinstance(self._tied, CertifiedLoss):
            return self._tied.certified_for(self.sensitivity)
        return self._tied

    @cached_property
    def _tied(self) -> PreparedLoss:
        """The same for any support size."""
        return self._loss.prepare(self.X, self.y, ridge=self.ridge, radius=self.coef_bound)

    def with_support_size(self, support_size: int) -> Instance:
        """The same data and bounds with another s; nothing is copied."""
        size = checked_integer(support_size, "support_size", 1, self.p)
        if size == self.support_size:
            return self
        # Made here if it is not there yet, so that both share it.
        _ = self._tied
        other = copy(self)
        other.__dict__.pop("prepared", None)
        object.__setattr__(other, "support_size", size)
        return other

    def objective(self, support: ArrayLike) -> float:
        """R(support); sensitive.

        Parameters
        ----------
        support : array_like of int, shape (s,)
            Distinct 0-based column indices, in any order.
        """
        return self.fit(support).value

    def objectives(self, supports: ArrayLike) -> FloatArray:
        """R of every row of `supports`, shape (m, s), in one batch: shape (m,); sensitive."""
        rows = np.asarray(supports)
        if rows.ndim != 2:
            raise InvalidInput(
                f"supports must have shape (m, {self.support_size}), got {rows.shape}"
            )
        for row in rows[:1]:
            self.check_support(row)
        ordered = np.sort(rows, axis=1)
        wrong = (ordered[:, 0] < 0) | (ordered[:, -1] >= self.p)
        wrong |= (np.diff(ordered, axis=1) == 0).any(axis=1)
        if wrong.any():
            self.check_support(rows[np.flatnonzero(wrong)[0]])
        return self.prepared.values(ordered.astype(np.intp))

    def fit(self, support: ArrayLike) -> RestrictedFit:
        """Solve the restricted problem exactly; value, coef and multiplier are sensitive.

        `coef` follows the order of `support`.
        """
        indices = self.check_support(support)
        order = np.argsort(indices)
        # In one order, so that rounding does not depend on how a support is written.
        fit = self.prepared.fit(indices[order])
        coef = np.empty_like(fit.coef)
        coef[order] = fit.coef
        return replace(fit, coef=coef)

    def check_support(self, support: ArrayLike) -> IntArray:
        """Return `support` as an index array, or raise `InvalidInput`."""
        return checked_indices(support, self.support_size, self.p, "a support", "column indices")


def _rounded_down(bound: float, dtype: np.dtype[Any]) -> np.floating[Any]:
    """The largest number of this type that is not above `bound`."""
    with np.errstate(over="ignore"):
        rounded: np.floating[Any] = dtype.type(bound)
    return np.nextafter(rounded, dtype.type(0.0)) if float(rounded) > bound else rounded
